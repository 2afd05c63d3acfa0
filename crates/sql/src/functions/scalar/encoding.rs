//! Bytes as text: `encode` and `decode` in PostgreSQL's three forms.

use std::fmt::Write as _;

use base64::DecodeError;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use types::{SqlError, SqlResult};

use crate::functions::scalar::overload::invalid_parameter;

/// Bits behind the last byte are not looked at, as in PostgreSQL.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Characters of a line of base64 (RFC 2045, section 6.8).
const LINE_CHARACTERS: usize = 76;

pub(super) fn encode(bytes: &[u8], form: &str) -> SqlResult<String> {
    match form.to_ascii_lowercase().as_str() {
        "hex" => Ok(hex(bytes)),
        "base64" => Ok(base64(bytes)),
        "escape" => Ok(escaped(bytes)),
        _ => Err(unrecognized(form)),
    }
}

pub(super) fn decode(text: &str, form: &str) -> SqlResult<Vec<u8>> {
    match form.to_ascii_lowercase().as_str() {
        "hex" => types::parse_bytes(&format!("\\x{text}"))
            .map_err(|_| invalid_parameter(format!("invalid hexadecimal data: \"{text}\""))),
        "escape" => types::parse_bytes(text),
        "base64" => of_base64(text),
        _ => Err(unrecognized(form)),
    }
}

fn unrecognized(form: &str) -> SqlError {
    invalid_parameter(format!("unrecognized encoding: \"{form}\""))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        // Writing to a string cannot fail.
        write!(text, "{b:02x}").ok();
        text
    })
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, &b| {
        match b {
            b'\\' => text.push_str("\\\\"),
            0 | 128.. => text.push_str(&format!("\\{b:03o}")),
            _ => text.push(char::from(b)),
        }
        text
    })
}

/// A line that is full ends with a line feed, the last one as well.
fn base64(bytes: &[u8]) -> String {
    let letters = BASE64.encode(bytes);
    let mut lines = String::with_capacity(letters.len() + letters.len() / LINE_CHARACTERS);
    for (number, letter) in letters.chars().enumerate() {
        lines.push(letter);
        // A full line of padded letters is the end, which has no line feed.
        if (number + 1) % LINE_CHARACTERS == 0 && letter != '=' {
            lines.push('\n');
        }
    }
    lines
}

/// Four letters after the other, so that text may go on behind padding.
fn of_base64(text: &str) -> SqlResult<Vec<u8>> {
    let is_space = |c: &char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let is_letter = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let letters: String = text.chars().filter(|c| !is_space(c)).collect();
    if let Some(symbol) = letters.chars().find(|c| !is_letter(c)) {
        let message = format!("invalid symbol \"{symbol}\" found while decoding base64 sequence");
        return Err(invalid_parameter(message));
    }
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    for four in letters.as_bytes().chunks(4) {
        BASE64.decode_vec(four, &mut bytes).map_err(|error| match error {
            DecodeError::InvalidByte(..) => {
                invalid_parameter("unexpected \"=\" while decoding base64 sequence".to_owned())
            }
            _ => invalid_parameter("invalid base64 end sequence".to_owned()).with_hint(
                "Input data is missing padding, is truncated, or is otherwise corrupted.",
            ),
        })?;
    }
    Ok(bytes)
}
