//! Names in the text of statements: quoted where they must be, with and without a schema.

pub(crate) use sql::quote_ident;
use types::{SqlError, SqlResult, SqlState};

/// Names one after the other, each as a statement must spell it.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(quote_ident).collect::<Vec<_>>().join(", ")
}

/// The parts of a possibly qualified name: `public."T"` is `public`, `T`. Errors: 42602.
pub(crate) fn parse(text: &str) -> SqlResult<Vec<String>> {
    let invalid = || SqlError::new(SqlState("42602"), format!("invalid name syntax: \"{text}\""));
    let (mut parts, mut rest) = (vec![], text.trim());
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted).ok_or_else(invalid)?,
            None => {
                let end = rest.find(['.', '"']).unwrap_or(rest.len());
                let name = rest[..end].trim();
                if name.contains(char::is_whitespace) {
                    return Err(invalid());
                }
                (name.to_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(part);
        match after.trim_start().strip_prefix('.') {
            Some(next) => rest = next,
            None if after.trim().is_empty() => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

/// What stands before the closing quote, and what is behind it.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let (mut part, mut rest) = (String::new(), text);
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        match after.strip_prefix('"') {
            Some(doubled) => {
                part.push('"');
                rest = doubled;
            }
            None => return Some((part, after)),
        }
    }
}
