//! Statements by their texts, for the whole database: a text that comes again is not read again.
//!
//! A statement that a client prepares is kept as it is. Of one that comes as a text with its values
//! the literals are taken out that might be parameters as well, and the rest is kept as if a client
//! had prepared it: from then on both go the same way. The literals that may be taken out are found
//! once for all texts that differ in them alone (a [`Form`]).
//!
//! A text is kept when it comes for the second time, as many come only once. The meaning of its
//! names is checked before each use ([`Described`]). A session that has temporary tables uses texts
//! of others that mean the same to it, and keeps none; one with rows of the program reads anew.

pub(crate) mod lexed;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sql::Shape;

use crate::prepared::Prepared;
use crate::recent::{Recent, long_texts_max};
use crate::statements::Described;

/// Statements that are kept, at most: with its syntax tree one takes some 10 KiB.
const STATEMENTS_MAX: usize = 512;

/// Bytes of a database's memory for each of them: a text that is just no long one has 600 tokens,
/// and takes a fifth of it.
const MEMORY_PER_STATEMENT: usize = 512 << 10;

/// Forms of texts that are kept.
const FORMS_MAX: usize = 1_024;

/// A statement that is known by its text.
#[derive(Clone)]
pub(crate) struct Known {
    /// Its meaning.
    pub(crate) described: Arc<Described>,
    /// `None` where the text is an error, or a statement that is read each time.
    pub(crate) statement: Option<KnownStatement>,
}

/// A statement that was read.
#[derive(Clone)]
pub(crate) struct KnownStatement {
    pub(crate) prepared: Arc<Prepared>,
    /// The types of its parameters.
    pub(crate) oids: Arc<[u32]>,
    /// The part that it has in common with statements of other constants.
    pub(crate) shape: Arc<Shape>,
}

/// The form of texts that differ in literals alone.
#[derive(Clone)]
pub(crate) enum Form {
    /// Their statements are read each time.
    Fixed,
    /// Some of their literals may be parameters: true for each of these.
    Free(Arc<[bool]>, Arc<Shape>),
}

/// The statements of a database, by their texts.
pub(crate) struct Texts {
    statements: Mutex<Recent<String, Known>>,
    forms: Mutex<Recent<String, Form>>,
    long_bytes_max: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key of a statement: its text, and the types that are given for parameters.
pub(crate) fn key<'a>(text: &'a str, oids: &[u32]) -> Cow<'a, str> {
    if oids.is_empty() {
        return text.into();
    }
    let mut key = String::with_capacity(text.len() + 1 + 2 * oids.len());
    key.push_str(text);
    // No text has such a character.
    key.push('\0');
    oids.iter().for_each(|oid| push_number(&mut key, *oid));
    key.into()
}

/// Writes a number in one character, or in two that stand in no other.
fn push_number(text: &mut String, number: u32) {
    const FAR: u32 = 0x1_0000;
    let character = |number| char::from_u32(number).expect("no surrogate is in these ranges");
    match number {
        0..0xd800 => text.push(character(number)),
        _ => text.extend([number >> 16, number & 0xffff].map(|half| character(FAR + half))),
    }
}

impl Texts {
    /// None yet, of a database with so many bytes of memory.
    pub(crate) fn new(memory: usize) -> Texts {
        let long_bytes_max = long_texts_max(memory);
        let count_max = (memory / MEMORY_PER_STATEMENT).clamp(1, STATEMENTS_MAX);
        let statements = Mutex::new(Recent::new(count_max, long_bytes_max));
        let forms = Mutex::new(Recent::new(FORMS_MAX.min(2 * count_max), long_bytes_max));
        Texts { statements, forms, long_bytes_max }
    }

    /// True if a text of so many bytes has no place here: it is read each time.
    pub(crate) fn is_too_long(&self, bytes: usize) -> bool {
        bytes > self.long_bytes_max
    }

    /// The text that is kept for a key.
    pub(crate) fn of(&self, key: &str) -> Option<Known> {
        lock(&self.statements).of(key)
    }

    /// Notes that a key comes; true if it has come before. A key that is too long to be kept never
    /// has.
    pub(crate) fn comes_again(&self, key: &str) -> bool {
        !self.is_too_long(key.len()) && lock(&self.statements).comes_again(key)
    }

    pub(crate) fn keep(&self, key: String, known: Known) {
        lock(&self.statements).keep(key, known);
    }

    /// The form of texts with this skeleton. An error is a form that is not known, true if such a
    /// text has come before; a skeleton that is too long to be kept never has.
    pub(crate) fn form(&self, skeleton: &str) -> Result<Form, bool> {
        let mut forms = lock(&self.forms);
        let is_kept = !self.is_too_long(skeleton.len());
        forms.of(skeleton).ok_or_else(|| is_kept && forms.comes_again(skeleton))
    }

    /// True if texts of this skeleton may be known.
    pub(crate) fn has_form(&self, skeleton: &str) -> bool {
        matches!(lock(&self.forms).of(skeleton), Some(Form::Free(..)))
    }

    pub(crate) fn keep_form(&self, skeleton: String, form: Form) {
        lock(&self.forms).keep(skeleton, form);
    }
}

#[cfg(test)]
mod tests;
