//! Look-ups and changes of single rows that come as text with other values each time: the values are
//! lifted out of the text, and what is left has been planned or compiled before.

pub(crate) mod write;

use std::collections::HashMap;
use std::sync::Arc;

use sql::{Parameter, Shape, Statement, Template};
use types::LogicalType;

use crate::prepared::{PointExecution, Prepared};
use crate::session::Session;

/// Longer texts are looked at no further.
const TEXT_BYTES_MAX: usize = 1024;

/// Texts that a session remembers.
const TEXT_COUNT_MAX: usize = 64;

/// Statements by their text without keys.
#[derive(Default)]
pub(crate) struct Lifted(HashMap<String, Option<Known>>);

/// A statement without its keys, and what it has in common with others.
type Known = (Arc<Prepared>, Arc<Shape>);

impl Session {
    /// The look-up by key that `text` is, when that can be told without parsing it anew; `None` says
    /// nothing about the text.
    pub fn known_look_up(&mut self, text: &str) -> Option<(PointExecution, Arc<Shape>)> {
        let (without, keys) = lift(text)?;
        let (prepared, shape) = self.known(without, text)?;
        // Errors are reported of the text as it was written.
        let point = self.point(&prepared, &keys).ok().flatten()?;
        Some((point, shape))
    }

    /// The statement that changes rows which `text` is, when it is compiled for all values; `None` says
    /// nothing about the text.
    pub fn known_write(&mut self, text: &str) -> Option<(Statement, Arc<Shape>)> {
        let (without, values) = write::lift(text)?;
        let (prepared, shape) = self.known(without, text)?;
        Some((self.compiled(&prepared, &values, Some(text))?, shape))
    }

    /// What is known of a text without its values; `whole` is one that has some.
    fn known(&mut self, without: String, whole: &str) -> Option<Known> {
        if !self.lifted.0.contains_key(&without) {
            let known = only(&without).zip(only(whole)).map(|(without, whole)| {
                (Arc::new(Prepared::new(without)), Arc::new(whole.shape()))
            });
            if self.lifted.0.len() >= TEXT_COUNT_MAX {
                self.lifted.0.clear();
            }
            self.lifted.0.insert(without.clone(), known);
        }
        self.lifted.0.get(&without)?.clone()
    }
}

/// The one statement of a text.
fn only(text: &str) -> Option<Template> {
    let mut templates = Template::all(text).ok()?;
    if templates.len() == 1 { templates.pop() } else { None }
}

/// A query's text with a placeholder for each literal that stands alone behind an equals sign, and
/// these literals.
fn lift(text: &str) -> Option<(String, Vec<Parameter>)> {
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

/// The one statement that a text seems to be, which begins with one of these words. What has comments,
/// placeholders, escapes or several statements is not looked at further.
fn plain<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    let text = text.trim().trim_end_matches(';');
    let bytes = text.as_bytes();
    let begins = |word: &&str| {
        let start = bytes.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    let odd = |b: &u8| matches!(b, b'$' | b';' | b'\\' | 0) || !b.is_ascii();
    let is_plain = words.iter().any(begins)
        && bytes.len() <= TEXT_BYTES_MAX
        && !bytes.iter().any(odd)
        && !text.contains("--")
        && !text.contains("/*");
    is_plain.then_some(text)
}

/// Length of what stands in quotes; a quote in it is doubled.
fn quoted(bytes: &[u8]) -> Option<usize> {
    let quote = bytes[0];
    let mut at = 1;
    loop {
        at += bytes.get(at..)?.iter().position(|b| *b == quote)? + 1;
        match bytes.get(at) {
            Some(b) if *b == quote => at += 1,
            _ => return Some(at),
        }
    }
}

/// Length of a number or a name; points and all belong to it, so that what is no whole number is
/// no literal here.
fn word(bytes: &[u8]) -> usize {
    let inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    bytes.iter().position(|b| !inside(b)).unwrap_or(bytes.len())
}

/// A whole number or a text as a parameter.
fn literal(piece: &str) -> Option<Parameter> {
    if let Some(inner) = piece.strip_prefix('\'') {
        let value = inner.strip_suffix('\'')?.replace("''", "'");
        return Some(Parameter { value: Some(value), ..Parameter::default() });
    }
    let number: i64 = piece.parse().ok()?;
    let ty = match i32::try_from(number) {
        Ok(_) => LogicalType::Int32,
        Err(_) => LogicalType::Int64,
    };
    Some(Parameter { value: Some(piece.to_owned()), ty: Some(ty), told: None })
}

/// Whether the text so far ends with an equals sign that is an operator of its own.
fn follows_equals(before: &str) -> bool {
    let Some(rest) = before.trim_ascii_end().strip_suffix('=') else { return false };
    !rest.ends_with(['<', '>', '!', '=', '~', '+', '-', '*', '/', '%', '^', '|', '&', '#', '@'])
}

/// Whether a literal that these bytes follow is an operand of its own.
fn ends(rest: &[u8]) -> bool {
    let next = rest.trim_ascii_start();
    let apart = next.len() < rest.len();
    match next.first() {
        None | Some(b')') => true,
        Some(b'\'' | b'"') => false,
        Some(b) => apart && b.is_ascii_alphabetic(),
    }
}

#[cfg(test)]
mod tests;
