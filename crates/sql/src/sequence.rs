//! Defaults that take the next number of a sequence.

use crate::quote::parse_name;

/// The sequence whose next number a default is.
pub fn numbered_by(text: &str) -> Option<String> {
    let call = text.trim().get(.."nextval(".len())?;
    let argument = text.trim()[call.len()..].strip_suffix(')')?.trim();
    let (literal, cast) = argument.strip_prefix('\'')?.rsplit_once('\'')?;
    if !["", "::regclass"].contains(&cast.to_ascii_lowercase().as_str()) {
        return None;
    }
    let parts = parse_name(&literal.replace("''", "'")).ok()?;
    match (&parts[..], call.eq_ignore_ascii_case("nextval(")) {
        ([name], true) => Some(name.clone()),
        ([schema, name], true) if schema == "public" => Some(name.clone()),
        _ => None,
    }
}

/// The default that takes the next number of a sequence, as PostgreSQL writes it. The sequence as a
/// statement spells it.
pub fn next_of(sequence: &str) -> String {
    format!("nextval('{}'::regclass)", sequence.replace('\'', "''"))
}
