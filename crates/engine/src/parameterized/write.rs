//! The values of an `INSERT`, an `UPDATE` or a `DELETE`, taken out of its text.
//!
//! More is taken out than of a look-up: whatever stands as an operand. Where that is not the same as the
//! literal, the statement is not compiled.

use sql::Parameter;

use super::literals::{follows_equals, literal, plain, quoted, word};

/// Values of a statement; one with more is bound as it is.
const VALUES_MAX: usize = 128;

/// A statement's text with a placeholder for each literal that is an operand, and these literals.
pub(super) fn parameterize(text: &str) -> Option<(String, Vec<Parameter>)> {
    let text = plain(text, &["insert ", "update ", "delete "])?;
    let bytes = text.as_bytes();
    let (mut without, mut values) = (String::with_capacity(bytes.len()), vec![]);
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let len = match rest[0] {
            b'\'' | b'"' => quoted(rest)?,
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => word(rest),
            _ => 1,
        };
        let piece = &text[at..at + len];
        // What follows has no parameters where it is compiled.
        let is_end = ["conflict", "returning"].iter().any(|w| piece.eq_ignore_ascii_case(w));
        if is_end {
            without.push_str(&text[at..]);
            break;
        }
        match taken_out(piece, &without, &bytes[at + len..]) {
            Some((value, signed)) => {
                if signed {
                    without.pop();
                }
                values.push(value);
                without.push('$');
                without.push_str(&values.len().to_string());
            }
            None => without.push_str(piece),
        }
        at += len;
    }
    (1..=VALUES_MAX).contains(&values.len()).then_some((without, values))
}

/// A piece as a value, if it is one between these texts, and whether the sign before it is its own.
fn taken_out(piece: &str, before: &str, behind: &[u8]) -> Option<(Parameter, bool)> {
    let is_text = piece.starts_with('\'');
    let value = literal(piece)?;
    if !ends(behind, is_text) {
        return None;
    }
    if is_text {
        return begins(before, false).then_some((value, false));
    }
    // A number with zeros before it is another text than the number.
    if piece.len() > 1 && piece.starts_with('0') {
        return None;
    }
    match before.strip_suffix('-') {
        Some(before) if begins(before, true) => literal(&format!("-{piece}")).map(|v| (v, true)),
        _ => begins(before, true).then_some((value, false)),
    }
}

/// Whether an operand may begin behind this text. Numbers may be those of a sum.
fn begins(before: &str, is_number: bool) -> bool {
    let before = before.trim_ascii_end();
    let sum = before.ends_with(['+', '-', '*']) && is_operator(before);
    before.ends_with(['(', ',']) || follows_equals(before) || is_number && sum
}

/// Whether the sign at the end of a text is an operator of its own.
fn is_operator(before: &str) -> bool {
    let rest = &before[..before.len() - 1];
    !rest.ends_with(['<', '>', '!', '=', '~', '+', '-', '*', '/', '%', '^', '|', '&', '#', '@'])
}

/// Whether the operand ends before these bytes.
fn ends(rest: &[u8], is_text: bool) -> bool {
    let next = rest.trim_ascii_start();
    let apart = next.len() < rest.len();
    match next.first() {
        None | Some(b')' | b',') => true,
        Some(b'+' | b'-' | b'*') => !is_text,
        Some(b) => apart && b.is_ascii_alphabetic(),
    }
}

#[cfg(test)]
mod tests;
