//! `parse_ident`: a qualified name as the list of its parts.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use types::{SqlError, SqlResult};

use crate::functions::scalar::arrays::text_lists;
use crate::functions::scalar::overload::{Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::text_array;

pub(crate) fn register(functions: &mut Functions) {
    for params in [&[Ty::Text] as &'static [Ty], &[Ty::Text, Ty::Bool]] {
        functions.strict("parse_ident", params, text_array, |args| {
            let strict = args.arrays.get(1).map(|flags| flags.as_boolean());
            let rows = (0..args.rows).map(|row| match args.is_null(row) {
                true => Ok(None),
                false => {
                    let strict = strict.is_none_or(|flags| flags.value(row));
                    parts(args.text(0).value(row), strict).map(Some)
                }
            });
            Ok(Arc::new(text_lists(rows.collect::<SqlResult<_>>()?)))
        });
    }
}

/// White space of names.
const SPACES: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

/// The names between the points; what follows them is an error only where `strict` says so.
fn parts(given: &str, strict: bool) -> SqlResult<Vec<Option<String>>> {
    let invalid = || invalid_parameter(format!("string is not a valid identifier: \"{given}\""));
    let (mut names, mut rest) = (Vec::new(), given.trim_start_matches(SPACES));
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_name(quoted, invalid)?,
            None => plain_name(rest),
        };
        if name.is_empty() {
            return Err(match (rest.starts_with('.'), names.is_empty()) {
                (true, _) => invalid().with_detail("No valid identifier before \".\"."),
                (false, false) => invalid().with_detail("No valid identifier after \".\"."),
                (false, true) => invalid(),
            });
        }
        names.push(Some(name));
        let after = after.trim_start_matches(SPACES);
        match after.strip_prefix('.') {
            Some(next) => rest = next.trim_start_matches(SPACES),
            None if after.is_empty() || !strict => return Ok(names),
            None => return Err(invalid()),
        }
    }
}

/// The name up to its closing quote, where two quotes are one of it, and what follows.
fn quoted_name(text: &str, invalid: impl Fn() -> SqlError) -> SqlResult<(String, &str)> {
    let (mut name, mut rest) = (String::new(), text);
    loop {
        let Some((before, after)) = rest.split_once('"') else {
            return Err(invalid().with_detail("String has unclosed double quotes."));
        };
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                name.push('"');
                rest = next;
            }
            None if name.is_empty() => {
                return Err(invalid().with_detail("Quoted identifier must not be empty."));
            }
            None => return Ok((name, after)),
        }
    }
}

/// The name without quotes in lower case, empty where there is none, and what follows.
fn plain_name(text: &str) -> (String, &str) {
    let first = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
    let other = |c: char| first(c) || c == '$' || c.is_ascii_digit();
    let end = match text.starts_with(first) {
        true => text.find(|c| !other(c)).unwrap_or(text.len()),
        false => 0,
    };
    (text[..end].to_ascii_lowercase(), &text[end..])
}
