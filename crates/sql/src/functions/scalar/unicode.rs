//! Characters by their numbers, and the normal forms of texts.

use std::sync::Arc;

use arrow_array::BooleanArray;
use types::{SqlError, SqlResult, SqlState};
use unicode_normalization::UnicodeNormalization;

use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::{boolean, text};

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("unistr", &[Ty::Text], text, |args| {
        args.texts(|row| unescaped(args.text(0).value(row)).map(Some))
    });
    for params in [&[Ty::Text] as &'static [Ty], &[Ty::Text, Ty::Text]] {
        functions.strict("normalize", params, text, |args| {
            args.texts(|row| normalized(args, row).map(Some))
        });
        functions.strict("is_normalized", params, boolean, |args| {
            let same = |row| Ok(Some(normalized(args, row)? == args.text(0).value(row)));
            Ok(Arc::new(args.each::<_, BooleanArray>(same)?))
        });
    }
}

/// The text in the form that the second argument names; NFC where there is none.
fn normalized(args: &Args<'_>, row: usize) -> SqlResult<String> {
    let text = args.text(0).value(row);
    let form = if args.arrays.len() > 1 { args.text(1).value(row) } else { "NFC" };
    match form.to_ascii_uppercase().as_str() {
        "NFC" => Ok(text.nfc().collect()),
        "NFD" => Ok(text.nfd().collect()),
        "NFKC" => Ok(text.nfkc().collect()),
        "NFKD" => Ok(text.nfkd().collect()),
        _ => Err(invalid_parameter(format!("invalid normalization form: {form}"))),
    }
}

/// The text with its escapes as characters.
fn unescaped(text: &str) -> SqlResult<String> {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    // The first half of a pair that stands for one character.
    let mut first = None;
    while let Some(letter) = rest.chars().next() {
        let (code, length) = match rest.strip_prefix('\\') {
            None => (u32::from(letter), letter.len_utf8()),
            Some(after) if after.starts_with('\\') => (u32::from('\\'), 2),
            Some(after) => escape(after)?,
        };
        rest = &rest[length..];
        first = match (first, code) {
            (None, 0xd800..=0xdbff) => Some(code),
            (None, _) => {
                out.push(char::from_u32(code).ok_or_else(invalid_pair)?);
                None
            }
            (Some(first), 0xdc00..=0xdfff) => {
                let code = 0x1_0000 + ((first & 0x3ff) << 10) + (code & 0x3ff);
                out.push(char::from_u32(code).ok_or_else(invalid_pair)?);
                None
            }
            (Some(_), _) => return Err(invalid_pair()),
        };
    }
    if first.is_some() { Err(invalid_pair()) } else { Ok(out) }
}

fn invalid_pair() -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, "invalid Unicode surrogate pair")
}

/// The number behind a backslash, and how long the escape is with it.
fn escape(after: &str) -> SqlResult<(u32, usize)> {
    let (prefix, digits) = match after.as_bytes().first() {
        Some(b'+') => (1, 6),
        Some(b'u') => (1, 4),
        Some(b'U') => (1, 8),
        _ => (0, 4),
    };
    let number = after.get(prefix..prefix + digits);
    let number = number.filter(|number| number.bytes().all(|b| b.is_ascii_hexdigit()));
    let code = number.and_then(|number| u32::from_str_radix(number, 16).ok()).ok_or_else(|| {
        SqlError::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape")
            .with_hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
    })?;
    match (1..=0x0010_ffff).contains(&code) {
        true => Ok((code, 1 + prefix + digits)),
        false => Err(invalid_parameter(format!("invalid Unicode code point: {code:04X}"))),
    }
}
