//! Statements that come as text with other values each time: the values are taken out of the text, and what is
//! left has been planned or compiled before.
//!
//! Of a query those literals are taken out that stand alone behind an equals sign. A look-up by key is planned for
//! the statement with parameters in their places; any other query has a generic plan only if the plan of its own
//! text does the same (`plans.rs`), since it is the text that says what a literal is.

pub(crate) mod known;
pub(crate) mod literals;
pub(crate) mod write;

use std::sync::Arc;

use sql::{Parameter, Shape, Statement, Template};
use types::oid;

use crate::prepared::Prepared;
use crate::session::state::Session;
use crate::statements::Executed;
use known::Known;
use literals::{ends, follows_equals, literal, plain, quoted, word};

/// Texts that a session remembers.
const TEXT_COUNT_MAX: usize = 64;

impl Session {
    /// The statement that `text` is, when the like has come before; `None` says nothing about the text.
    pub fn known(&mut self, text: &str) -> Option<(Executed, Arc<Shape>)> {
        self.known_query(text).or_else(|| {
            let (statement, shape) = self.known_write(text)?;
            Some((Executed::Statement(Box::new(statement)), shape))
        })
    }

    /// A look-up by key, when that can be told without parsing it anew, or another query that comes again.
    fn known_query(&mut self, text: &str) -> Option<(Executed, Arc<Shape>)> {
        let (without, keys) = parameterize(text)?;
        let came_before = self.parameterized.0.contains_key(&without);
        let known = self.known_text(without, text)?;
        // Errors are reported of the text as it was written.
        if let Some(point) = self.point(&known.prepared, &keys).ok().flatten() {
            return Some((Executed::Point(Box::new(point)), known.shape));
        }
        let statement = if came_before { self.planned_for_all(&known, &keys, text) } else { None };
        Some((Executed::Statement(Box::new(statement?)), known.shape))
    }

    /// A query that has a generic plan, or may have one.
    fn planned_for_all(&self, known: &Known, keys: &[Parameter], text: &str) -> Option<Statement> {
        let template = known.prepared.template();
        let types = known.types.get_or_init(|| self.types_of(template, keys)).as_ref()?;
        let typed = |(key, oid): (&Parameter, &u32)| match key.ty {
            Some(_) => key.clone(),
            None => read(*oid, key),
        };
        let values: Vec<Parameter> = keys.iter().zip(types).map(typed).collect();
        self.bound_from(template, &values, text)
    }

    /// The types that keys have in their places; `None` where these do not tell them. How many digits a numeric
    /// in quotes has is told by its text.
    fn types_of(&self, template: &Template, keys: &[Parameter]) -> Option<Vec<u32>> {
        let _entered = types::zone::enter(self.context());
        let given = |key: &Parameter| key.ty.map_or(0, |ty| oid::of_logical(ty).oid);
        let given: Vec<u32> = keys.iter().map(given).collect();
        let views = &self.database().snapshot().views;
        // A long plan is made where nobody waits, not here.
        if let Statement::Query(query) = template.bind(keys).ok()?
            && query.is_large(&|name| views.get(name).cloned())
        {
            return None;
        }
        let types = sql::parameter_types(template, &given, &self.system_catalog()).ok()?;
        (!types.contains(&oid::NUMERIC)).then_some(types)
    }

    /// The statement that changes rows which `text` is, when it is compiled for all values; `None` says
    /// nothing about the text.
    pub fn known_write(&mut self, text: &str) -> Option<(Statement, Arc<Shape>)> {
        let (without, values) = write::parameterize(text)?;
        let known = self.known_text(without, text)?;
        Some((self.compiled(&known.prepared, &values, Some(text))?, known.shape))
    }

    /// What is known of a text without its values; `whole` is one that has some.
    fn known_text(&mut self, without: String, whole: &str) -> Option<Known> {
        if !self.parameterized.0.contains_key(&without) {
            let known = only(&without).zip(only(whole)).map(|(without, whole)| Known {
                prepared: Arc::new(Prepared::new(without)),
                shape: Arc::new(whole.shape()),
                types: Arc::default(),
            });
            if self.parameterized.0.len() >= TEXT_COUNT_MAX {
                self.parameterized.0.clear();
            }
            self.parameterized.0.insert(without.clone(), known);
        }
        self.parameterized.0.get(&without)?.clone()
    }
}

/// An unknown literal as a value of the type of its place; what is none is told when it is planned.
fn read(oid: u32, key: &Parameter) -> Parameter {
    let read = key.text().and_then(|text| Parameter::read(oid, &text).ok());
    read.unwrap_or_else(|| Parameter::of_type(oid, key.value.clone()))
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
