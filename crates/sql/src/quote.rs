//! Names in the text of statements: quoted where they must be, with and without a schema.

use types::{SqlError, SqlResult, SqlState};

#[cfg(test)]
mod tests;
pub(crate) mod unspelled;

/// PostgreSQL's reserved words, which need quotes as names.
const RESERVED: &str = " all analyse analyze and any array as asc asymmetric authorization binary \
    both case cast check collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp \
    current_user default deferrable desc distinct do else end except false fetch for foreign freeze \
    from full grant group having ilike in initially inner intersect into is isnull join lateral \
    leading left like limit localtime localtimestamp natural not notnull null offset on only or \
    order outer overlaps placing primary references returning right select session_user similar \
    some symmetric table tablesample then to trailing true union unique user using variadic verbose \
    when where window with between bigint bit boolean char character coalesce dec decimal exists \
    extract float greatest grouping inout int integer interval least national nchar none normalize \
    nullif numeric out overlay position precision real row setof smallint substring time timestamp \
    treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest \
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

/// A name as a statement must spell it.
pub fn quote_ident(name: &str) -> String {
    let mut letters = name.bytes();
    let plain = letters.next().is_some_and(|c| c.is_ascii_lowercase() || c == b'_')
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_');
    if plain && !RESERVED.contains(&format!(" {name} ")) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Names one after the other, each as a statement must spell it.
pub fn quote_idents<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(quote_ident).collect::<Vec<_>>().join(", ")
}

/// The parts of a possibly qualified name: `public."T"` is `public`, `T`.
///
/// # Errors
/// 42602 for what is no name.
pub fn parse_name(text: &str) -> SqlResult<Vec<String>> {
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
