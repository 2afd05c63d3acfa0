//! Arrays and byte strings in PostgreSQL's text form.

use arrow_array::Array;
use arrow_schema::DataType;

use crate::blanks::{is_blank, trimmed};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::text::format_value;

/// `{1,NULL,"a b"}`.
pub(crate) fn format_array(elements: &dyn Array) -> String {
    let element = |row: usize| match format_value(elements, row) {
        // An array of arrays has another dimension, not elements that are texts.
        Some(text) if matches!(elements.data_type(), DataType::List(_)) => text,
        text => element_text(text),
    };
    let all: Vec<String> = (0..elements.len()).map(element).collect();
    format!("{{{}}}", all.join(","))
}

fn element_text(text: Option<String>) -> String {
    match text {
        None => "NULL".to_owned(),
        Some(text) if needs_quotes(&text) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
        Some(text) => text,
    }
}

/// The array that a text is, without the blanks at the ends of its elements; `None` of a text that
/// is none.
pub fn without_blanks(text: &str) -> Option<String> {
    let trimmed = |text: String| text.trim_end_matches(' ').to_owned();
    let elements = parse_array(text).ok()?.into_iter();
    let elements: Vec<String> = elements.map(|e| element_text(e.map(trimmed))).collect();
    Some(format!("{{{}}}", elements.join(",")))
}

/// The text of an array with these texts as elements.
pub fn array_of_texts<'a>(elements: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("{");
    for element in elements {
        text.push_str(if text.len() > 1 { ",\"" } else { "\"" });
        for character in element.chars() {
            if matches!(character, '"' | '\\') {
                text.push('\\');
            }
            text.push(character);
        }
        text.push('"');
    }
    text.push('}');
    text
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case("null")
        || text.contains(|c: char| is_blank(c) || "{},\"\\".contains(c))
}

/// The elements of `{..}`; `None` is null. Errors: 22P02; 0A000 for more than one dimension.
pub(crate) fn parse_array(text: &str) -> SqlResult<Vec<Option<String>>> {
    let malformed = || {
        let message = format!("malformed array literal: \"{text}\"");
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    };
    let inner = trimmed(text).strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    let inner = inner.ok_or_else(malformed)?;
    if trimmed(inner).is_empty() {
        return Ok(Vec::new());
    }
    let mut elements = Vec::new();
    let mut letters = inner.chars().peekable();
    loop {
        while letters.next_if(|c| is_blank(*c)).is_some() {}
        let (element, more) = match letters.next_if_eq(&'"') {
            Some(_) => take_quoted(&mut letters, &malformed)?,
            None => take_plain(&mut letters, &malformed)?,
        };
        elements.push(element);
        if !more {
            return Ok(elements);
        }
    }
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// An element behind its quote, and whether a comma follows it.
fn take_quoted(
    letters: &mut Letters<'_>,
    malformed: &dyn Fn() -> SqlError,
) -> SqlResult<(Option<String>, bool)> {
    let mut text = String::new();
    loop {
        match letters.next().ok_or_else(malformed)? {
            '"' => break,
            '\\' => text.push(letters.next().ok_or_else(malformed)?),
            c => text.push(c),
        }
    }
    match letters.find(|c| !is_blank(*c)) {
        Some(',') => Ok((Some(text), true)),
        Some(_) => Err(malformed()),
        None => Ok((Some(text), false)),
    }
}

/// An element without quotes, and whether a comma follows it.
fn take_plain(
    letters: &mut Letters<'_>,
    malformed: &dyn Fn() -> SqlError,
) -> SqlResult<(Option<String>, bool)> {
    // White space at the end is no part of it, unless it stands behind a backslash.
    let (mut text, mut length, mut escaped) = (String::new(), 0, false);
    let more = loop {
        match letters.next() {
            Some(',') => break true,
            Some('"') => return Err(malformed()),
            Some('{' | '}') => {
                return Err(SqlError::unsupported("an array of more than one dimension"));
            }
            Some('\\') => {
                text.push(letters.next().ok_or_else(malformed)?);
                (length, escaped) = (text.len(), true);
            }
            Some(c) => {
                text.push(c);
                length = if is_blank(c) { length } else { text.len() };
            }
            None => break false,
        }
    };
    text.truncate(length);
    if text.is_empty() {
        return Err(malformed());
    }
    let null = !escaped && text.eq_ignore_ascii_case("null");
    Ok(((!null).then_some(text), more))
}

/// `\xdeadbeef`.
pub(crate) fn format_bytes(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|b| format!("{b:02x}"));
    format!("\\x{}", digits.collect::<String>())
}

/// Hex (`\x..`) or escape form (`a\\b\000`). Errors: 22P02.
pub fn parse_bytes(text: &str) -> SqlResult<Vec<u8>> {
    let invalid = || {
        let message = format!("invalid input syntax for type bytea: \"{text}\"");
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    };
    if let Some(digits) = text.strip_prefix("\\x") {
        return parse_hex(digits).ok_or_else(|| bad_digits(digits));
    }
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'\\', [b'\\', ..]) => {
                out.push(b'\\');
                rest = &after[1..];
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = &after[3..];
            }
            (b'\\', _) => return Err(invalid()),
            _ => out.push(first),
        }
    }
    Ok(out)
}

fn bad_digits(digits: &str) -> SqlError {
    let is_good = |c: &char| c.is_ascii_hexdigit() || c.is_ascii() && is_between(*c as u8);
    let bad = digits.chars().find(|c| !is_good(c));
    let message = match bad {
        Some(c) => format!("invalid hexadecimal digit: \"{c}\""),
        None => "invalid hexadecimal data: odd number of digits".to_owned(),
    };
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// White space between hexadecimal digits.
fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits.bytes().filter(|b| !is_between(*b)).collect();
    let nibble = |b: u8| char::from(b).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some((nibble(*high)? * 16 + nibble(*low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

/// `a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11`.
pub(crate) fn format_uuid(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    match hex.len() {
        32 => [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"),
        _ => hex,
    }
}

/// 32 hexadecimal digits; hyphens after any four of them and braces around are allowed.
pub fn parse_uuid(text: &str) -> SqlResult<[u8; 16]> {
    let bare = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}'),
        None => Some(text),
    };
    let bytes = bare.and_then(uuid_digits).and_then(|digits| parse_hex(&digits));
    bytes.and_then(|b| <[u8; 16]>::try_from(b).ok()).ok_or_else(|| {
        let message = format!("invalid input syntax for type uuid: \"{text}\"");
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    })
}

/// The digits without the hyphens; `None` where a hyphen stands elsewhere than behind four digits.
fn uuid_digits(text: &str) -> Option<String> {
    let mut digits = String::with_capacity(32);
    let mut may_part = false;
    for letter in text.chars() {
        match letter {
            '-' if may_part => may_part = false,
            digit if digit.is_ascii_hexdigit() => {
                digits.push(digit);
                may_part = digits.len().is_multiple_of(4) && digits.len() < 32;
            }
            _ => return None,
        }
    }
    Some(digits)
}
