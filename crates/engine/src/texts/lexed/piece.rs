//! The pieces that a text consists of: tokens, comments, blanks.

use sql::parse::SUMMED_MAX;

use super::kind::{Kind, TYPES};
use super::list::ARRAY_BYTES_MAX;

/// Digits of a number with a point that may be a parameter: a `numeric` has 38.
const DIGITS_MAX: usize = 38;

/// A token, a comment, a blank or a sign of a text.
pub(super) struct Piece {
    pub(super) end: usize,
    pub(super) role: Role,
}

/// The part that a piece has in a statement.
pub(super) enum Role {
    /// It belongs to the statement as it stands.
    Code,
    /// It means nothing.
    Comment,
    /// The statement ends.
    End,
    /// A literal, and where its digits or its quote begin, behind a sign or a word for its type.
    Literal(Kind, usize),
}

impl Piece {
    /// The piece that begins at `at`, behind `before`, the last byte that is no blank. `None` of
    /// placeholders, of texts between dollars or with escapes, and where no token begins.
    pub(super) fn of(bytes: &[u8], at: usize, before: u8) -> Option<Piece> {
        let piece = |end, role| Some(Piece { end, role });
        let rest = &bytes[at..];
        let is_behind_word = at > 0 && is_word(bytes[at - 1]);
        match *rest {
            [b'\'', ..] if is_behind_word || at > 0 && bytes[at - 1] == b'&' => None,
            [b'\'', ..] => {
                let end = at + quoted(rest)?;
                let is_one = end - at <= ARRAY_BYTES_MAX || !is_cast_to_array(&bytes[end..]);
                piece(end, if is_one { Role::Literal(Kind::Text, at) } else { Role::Code })
            }
            [b'"', ..] => piece(at + quoted(rest)?, Role::Code),
            [b'-', b'-', ..] => {
                let line = rest.iter().position(|byte| *byte == b'\n');
                piece(line.map_or(bytes.len(), |line| at + line + 1), Role::Comment)
            }
            [b'/', b'*', ..] => piece(at + comment(rest)?, Role::Comment),
            [b';', ..] => piece(at + 1, Role::End),
            [b'-', b'0'..=b'9', ..] if matches!(before, b'(' | b',' | b'=' | b'<' | b'>') => {
                Some(number(bytes, at, at + 1, false))
            }
            [b'0'..=b'9', ..] if at > 0 && bytes[at - 1] == b'.' => {
                piece(at + word(rest), Role::Code)
            }
            [b'0'..=b'9', ..] => Some(number(bytes, at, at, matches!(before, b'/' | b'%'))),
            [b'$' | 0..=8, ..] => None,
            [byte, ..] if is_word(byte) => {
                let end = at + word(rest);
                typed(bytes, at, end).or_else(|| piece(end, Role::Code))
            }
            _ => piece(at + 1, Role::Code),
        }
    }
}

/// True if a text begins with a cast to an array: a long one stays part of its statement, which has
/// its elements as constants.
fn is_cast_to_array(behind: &[u8]) -> bool {
    let cast = behind.strip_prefix(b"::");
    cast.is_some_and(|ty| ty[word(ty)..].starts_with(b"[]"))
}

/// A literal that begins with a word for its type, which ends at `end`.
fn typed(bytes: &[u8], at: usize, end: usize) -> Option<Piece> {
    let ty = TYPES.iter().find(|ty| bytes[at..end].eq_ignore_ascii_case(ty.name.as_bytes()))?;
    let blanks = bytes[end..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    let unsigned = end + blanks;
    if bytes[unsigned] != b'\'' {
        return None;
    }
    let end = unsigned + quoted(&bytes[unsigned..])?;
    let is_usual = (ty.is_usual)(&bytes[unsigned + 1..end - 1]);
    is_usual.then_some(Piece { end, role: Role::Literal(Kind::Typed(ty), unsigned) })
}

/// True if nothing but blanks and comments stand from `at` on.
pub(super) fn is_end(bytes: &[u8], mut at: usize) -> bool {
    while let Some(byte) = bytes.get(at) {
        match Piece::of(bytes, at, b' ') {
            Some(Piece { end, role: Role::Comment }) => at = end,
            Some(Piece { end, .. }) if byte.is_ascii_whitespace() => at = end,
            _ => return false,
        }
    }
    true
}

/// A number from `start` on, with a sign if its digits begin behind it.
///
/// A division by zero is an error of the statement, and that of another number is none.
fn number(bytes: &[u8], start: usize, digits: usize, is_divisor: bool) -> Piece {
    let end = digits + word(&bytes[digits..]);
    let text = &bytes[digits..end];
    let is_whole = text.iter().all(u8::is_ascii_digit);
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    let are_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    // One with zeros before it is another text than the number.
    let is_usual = whole.len() == 1 || whole.first() != Some(&b'0');
    let kind = match std::str::from_utf8(&bytes[start..end]) {
        Ok(text) if is_whole && is_usual => match text.parse::<i64>() {
            Ok(0) if is_divisor => None,
            Ok(number) => Some(match i32::try_from(number) {
                Ok(number) if number.saturating_abs() < SUMMED_MAX => Kind::Summand,
                Ok(_) => Kind::Int32,
                Err(_) => Kind::Int64,
            }),
            Err(_) => None,
        },
        Ok(_) if is_usual && are_digits(whole) && are_digits(fraction) => {
            Some(Kind::Decimal).filter(|_| whole.len() + fraction.len() <= DIGITS_MAX)
        }
        _ => None,
    };
    Piece { end, role: kind.map_or(Role::Code, |kind| Role::Literal(kind, digits)) }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Length of a number or a name. Points belong to it, so that parts of a number are none.
fn word(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !is_word(*byte) && *byte != b'.').unwrap_or(bytes.len())
}

/// Length of what stands in quotes; a quote in it is doubled.
fn quoted(bytes: &[u8]) -> Option<usize> {
    let quote = bytes[0];
    let mut at = 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == quote)? + 1;
        match bytes.get(at) {
            Some(byte) if *byte == quote => at += 1,
            _ => return Some(at),
        }
    }
}

/// Length of a comment, which may have others in it.
fn comment(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut open) = (2, 1);
    while open > 0 {
        match bytes.get(at..at + 2)? {
            b"/*" => (at, open) = (at + 2, open + 1),
            b"*/" => (at, open) = (at + 2, open - 1),
            _ => at += 1,
        }
    }
    Some(at)
}
