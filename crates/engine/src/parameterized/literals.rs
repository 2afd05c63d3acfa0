//! Literals of a text.

use sql::Parameter;
use types::{Datum, LogicalType};

/// The one statement that a text seems to be, which begins with one of these words. What has comments,
/// placeholders, escapes or several statements is not looked at further.
pub(crate) fn plain<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
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
pub(crate) fn quoted(bytes: &[u8]) -> Option<usize> {
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
pub(crate) fn word(bytes: &[u8]) -> usize {
    let inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
    bytes.iter().position(|b| !inside(b)).unwrap_or(bytes.len())
}

/// A whole number or a text as a parameter.
pub(crate) fn literal(piece: &str) -> Option<Parameter> {
    if let Some(inner) = piece.strip_prefix('\'') {
        let value = inner.strip_suffix('\'')?.replace("''", "'");
        return Some(Parameter::unknown(value));
    }
    let number: i64 = piece.parse().ok()?;
    let ty = match i32::try_from(number) {
        Ok(_) => LogicalType::Int32,
        Err(_) => LogicalType::Int64,
    };
    Some(Parameter { value: Datum::Int(number), ty: Some(ty), told: None })
}

/// Whether the text so far ends with an equals sign that is an operator of its own.
pub(crate) fn follows_equals(before: &str) -> bool {
    let Some(rest) = before.trim_ascii_end().strip_suffix('=') else { return false };
    !rest.ends_with(['<', '>', '!', '=', '~', '+', '-', '*', '/', '%', '^', '|', '&', '#', '@'])
}

/// Whether a literal that these bytes follow is an operand of its own.
pub(crate) fn ends(rest: &[u8]) -> bool {
    let next = rest.trim_ascii_start();
    let apart = next.len() < rest.len();
    match next.first() {
        None | Some(b')') => true,
        Some(b'\'' | b'"') => false,
        Some(b) => apart && b.is_ascii_alphabetic(),
    }
}

/// Longer texts are looked at no further.
pub(crate) const TEXT_BYTES_MAX: usize = 1024;
