//! What a call says of how its files are to be read.

use sql::FileCall;
use types::{SqlError, SqlResult, SqlState};

/// The value of an option; the last one counts.
pub(super) fn text<'a>(call: &'a FileCall, name: &str) -> Option<&'a str> {
    let given = call.options.iter().rev().find(|(known, _)| known == name);
    given.map(|(_, value)| value.as_str())
}

/// The value of an option that is on or off.
///
/// # Errors
/// 22023 for another one.
pub(super) fn flag(call: &FileCall, name: &str) -> SqlResult<Option<bool>> {
    let Some(value) = text(call, name) else { return Ok(None) };
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(Some(true)),
        "false" | "off" | "0" => Ok(Some(false)),
        _ => Err(invalid(format!("option \"{name}\" requires a Boolean value"))),
    }
}

/// The value of an option that is one character of ASCII.
///
/// # Errors
/// 22023 for another one.
pub(super) fn byte(call: &FileCall, name: &str) -> SqlResult<Option<u8>> {
    let Some(value) = text(call, name) else { return Ok(None) };
    match (value, value.as_bytes()) {
        ("\\t", _) => Ok(Some(b'\t')),
        (_, [byte]) if !matches!(byte, b'\n' | b'\r') => Ok(Some(*byte)),
        _ => Err(invalid(format!("option \"{name}\" must be a single one-byte character"))),
    }
}

/// The value of an option that is a count above 0.
///
/// # Errors
/// 22023 for another one.
pub(super) fn count(call: &FileCall, name: &str) -> SqlResult<Option<usize>> {
    let Some(value) = text(call, name) else { return Ok(None) };
    match value.parse() {
        Ok(count) if count > 0 => Ok(Some(count)),
        _ => Err(invalid(format!("option \"{name}\" requires a count above 0"))),
    }
}

/// 22023 for an option that is not among these.
pub(super) fn check_known(call: &FileCall, known: &[&str]) -> SqlResult<()> {
    let unknown = call.options.iter().find(|(name, _)| !known.contains(&name.as_str()));
    let Some((name, _)) = unknown else { return Ok(()) };
    let function = call.format.function();
    Err(invalid(format!("option \"{name}\" of {function} not recognized"))
        .with_hint(format!("There are: {}.", known.join(", "))))
}

pub(super) fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
