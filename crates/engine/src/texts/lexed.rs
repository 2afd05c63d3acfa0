//! A text with its literals apart.

use sql::Parameter;
use sql::parse::SUMMED_MAX;
use types::{Datum, LogicalType, oid};

/// Words that statements begin with which have plans for all values.
const FIRST_WORDS: [&str; 6] = ["select", "insert", "update", "delete", "with", "values"];

/// Digits of a number with a point that may be a parameter: a `numeric` has 38.
const DIGITS_MAX: usize = 38;

/// A literal of a text.
pub(crate) struct Literal {
    /// Its first byte, which is a sign where one belongs to it.
    start: usize,
    /// Its first byte behind a sign.
    pub(crate) unsigned: usize,
    end: usize,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// One below [`SUMMED_MAX`].
    Summand,
    Int32,
    Int64,
    Decimal,
    Text,
}

impl Kind {
    /// The character that stands for literals of the kind.
    fn mark(self) -> char {
        match self {
            Kind::Int32 => '\u{1}',
            Kind::Summand => '\u{5}',
            Kind::Int64 => '\u{2}',
            Kind::Decimal => '\u{3}',
            Kind::Text => '\u{4}',
        }
    }

    /// The type of a parameter in its place; 0 is not known.
    fn oid(self) -> u32 {
        match self {
            Kind::Int32 | Kind::Summand => oid::INT4,
            Kind::Int64 => oid::INT8,
            Kind::Decimal => oid::NUMERIC,
            Kind::Text => 0,
        }
    }
}

/// A text whose literals have been found.
pub(crate) struct Lexed<'a> {
    pub(crate) text: &'a str,
    pub(crate) literals: Vec<Literal>,
}

impl<'a> Lexed<'a> {
    /// Finds the literals of the one statement that `text` seems to be. `None` of a text that has
    /// placeholders, text between dollars or with escapes, or several statements, or that is no
    /// statement with a plan for all values.
    pub(crate) fn of(text: &'a str) -> Option<Lexed<'a>> {
        let text = text.trim().trim_end_matches(';').trim_end();
        let begins = |word: &str| {
            let start = text.as_bytes().get(..word.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
        };
        if !FIRST_WORDS.iter().any(|word| begins(word)) {
            return None;
        }
        let (bytes, mut literals) = (text.as_bytes(), vec![]);
        // The last byte that is no blank.
        let (mut at, mut before) = (0, b' ');
        while at < bytes.len() {
            let piece = Piece::of(bytes, at, before)?;
            if let Some((kind, unsigned)) = piece.literal {
                literals.push(Literal { start: at, unsigned, end: piece.end, kind });
            }
            let last = bytes[piece.end - 1];
            if !last.is_ascii_whitespace() {
                before = last;
            }
            at = piece.end;
        }
        Some(Lexed { text, literals })
    }

    /// The text with a mark in the place of each literal.
    pub(crate) fn skeleton(&self) -> String {
        self.with(|skeleton, _, literal| {
            skeleton.push(literal.kind.mark());
            true
        })
    }

    /// The text with parameters in the places of some literals, and the types of these.
    pub(crate) fn parameterized(&self, taken: &[bool]) -> (String, Vec<u32>) {
        let mut oids = vec![];
        let text = self.with(|text, number, literal| {
            if taken[number] {
                oids.push(literal.kind.oid());
                text.push('$');
                text.push_str(&oids.len().to_string());
            }
            taken[number]
        });
        (text, oids)
    }

    /// The text with what `put` puts in the place of a literal; it stays where that is nothing.
    fn with(&self, mut put: impl FnMut(&mut String, usize, &Literal) -> bool) -> String {
        let (mut text, mut done) = (String::with_capacity(self.text.len()), 0);
        for (number, literal) in self.literals.iter().enumerate() {
            text.push_str(&self.text[done..literal.start]);
            done = if put(&mut text, number, literal) { literal.end } else { literal.start };
        }
        text.push_str(&self.text[done..]);
        text
    }

    /// The values of those that are taken, without a type where the text has none.
    pub(crate) fn values(&self, taken: &[bool]) -> Option<Vec<Parameter>> {
        let taken = self.literals.iter().zip(taken).filter(|(_, taken)| **taken);
        taken
            .map(|(literal, _)| value(&self.text[literal.start..literal.end], literal.kind))
            .collect()
    }
}

/// A literal as a parameter.
fn value(text: &str, kind: Kind) -> Option<Parameter> {
    let whole = |ty| {
        let value = Datum::Int(text.parse().ok()?);
        Some(Parameter { value, ty: Some(ty), told: None })
    };
    match kind {
        Kind::Int32 | Kind::Summand => whole(LogicalType::Int32),
        Kind::Int64 => whole(LogicalType::Int64),
        Kind::Decimal => Parameter::read(oid::NUMERIC, text).ok(),
        Kind::Text => {
            let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
            Some(Parameter::unknown(match inner.contains('\'') {
                true => inner.replace("''", "'"),
                false => inner.to_owned(),
            }))
        }
    }
}

/// A token, a comment or a sign of a text.
struct Piece {
    end: usize,
    /// Its kind if it is a literal, and where that begins behind a sign.
    literal: Option<(Kind, usize)>,
}

impl Piece {
    /// The piece that begins at `at`, behind `before`, the last byte that is no blank.
    fn of(bytes: &[u8], at: usize, before: u8) -> Option<Piece> {
        let plain = |end| Some(Piece { end, literal: None });
        let rest = &bytes[at..];
        let is_behind_word = at > 0 && is_word(bytes[at - 1]);
        match *rest {
            [b'\'', ..] if is_behind_word || at > 0 && bytes[at - 1] == b'&' => None,
            [b'\'', ..] => {
                let end = at + quoted(rest)?;
                Some(Piece { end, literal: Some((Kind::Text, at)) })
            }
            [b'"', ..] => plain(at + quoted(rest)?),
            [b'-', b'-', ..] => {
                let line = rest.iter().position(|byte| *byte == b'\n');
                plain(line.map_or(bytes.len(), |line| at + line + 1))
            }
            [b'/', b'*', ..] => plain(at + comment(rest)?),
            [b'-', b'0'..=b'9', ..] if matches!(before, b'(' | b',' | b'=' | b'<' | b'>') => {
                Some(number(bytes, at, at + 1, false))
            }
            [b'0'..=b'9', ..] if at > 0 && bytes[at - 1] == b'.' => plain(at + word(rest)),
            [b'0'..=b'9', ..] => Some(number(bytes, at, at, matches!(before, b'/' | b'%'))),
            [b'$' | b';' | 0..=8, ..] => None,
            [byte, ..] if is_word(byte) => plain(at + word(rest)),
            _ => plain(at + 1),
        }
    }
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
    Piece { end, literal: kind.map(|kind| (kind, digits)) }
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

#[cfg(test)]
mod tests;
