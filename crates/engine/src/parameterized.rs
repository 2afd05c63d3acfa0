//! Look-ups and changes of single rows that come as text with other values each time: the values are
//! taken out of the text, and what is left has been planned or compiled before.

pub(crate) mod known;
pub(crate) mod literals;
pub(crate) mod write;

use std::sync::Arc;

use sql::{Parameter, Shape, Statement, Template};

use crate::prepared::{PointExecution, Prepared};
use crate::session::state::Session;
use known::Known;
use literals::{ends, follows_equals, literal, plain, quoted, word};

/// Texts that a session remembers.
const TEXT_COUNT_MAX: usize = 64;

impl Session {
    /// The look-up by key that `text` is, when that can be told without parsing it anew; `None` says
    /// nothing about the text.
    pub fn known_look_up(&mut self, text: &str) -> Option<(PointExecution, Arc<Shape>)> {
        let (without, keys) = parameterize(text)?;
        let (prepared, shape) = self.known(without, text)?;
        // Errors are reported of the text as it was written.
        let point = self.point(&prepared, &keys).ok().flatten()?;
        Some((point, shape))
    }

    /// The statement that changes rows which `text` is, when it is compiled for all values; `None` says
    /// nothing about the text.
    pub fn known_write(&mut self, text: &str) -> Option<(Statement, Arc<Shape>)> {
        let (without, values) = write::parameterize(text)?;
        let (prepared, shape) = self.known(without, text)?;
        Some((self.compiled(&prepared, &values, Some(text))?, shape))
    }

    /// What is known of a text without its values; `whole` is one that has some.
    fn known(&mut self, without: String, whole: &str) -> Option<Known> {
        if !self.parameterized.0.contains_key(&without) {
            let known = only(&without).zip(only(whole)).map(|(without, whole)| {
                (Arc::new(Prepared::new(without)), Arc::new(whole.shape()))
            });
            if self.parameterized.0.len() >= TEXT_COUNT_MAX {
                self.parameterized.0.clear();
            }
            self.parameterized.0.insert(without.clone(), known);
        }
        self.parameterized.0.get(&without)?.clone()
    }
}

/// The one statement of a text.
fn only(text: &str) -> Option<Template> {
    let mut templates = Template::all(text).ok()?;
    if templates.len() == 1 { templates.pop() } else { None }
}

/// A query's text with a placeholder for each literal that stands alone behind an equals sign, and
/// these literals.
fn parameterize(text: &str) -> Option<(String, Vec<Parameter>)> {
    let text = plain(text, &["select "])?;
    let bytes = text.as_bytes();
    let (mut without, mut keys) = (String::with_capacity(bytes.len()), vec![]);
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let len = match rest[0] {
            b'\'' | b'"' => quoted(rest)?,
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => word(rest),
            _ => 1,
        };
        let piece = &text[at..at + len];
        match literal(piece) {
            Some(key) if follows_equals(&without) && ends(&bytes[at + len..]) => {
                keys.push(key);
                without.push('$');
                without.push_str(&keys.len().to_string());
            }
            _ => without.push_str(piece),
        }
        at += len;
    }
    (!keys.is_empty()).then_some((without, keys))
}

#[cfg(test)]
mod tests;
