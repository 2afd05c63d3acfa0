//! Functions that search text by a pattern.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use plan::limits;
use types::SqlResult;

use crate::functions::scalar::arrays::text_lists;
use crate::functions::scalar::overload::{Args, Functions, Overload, Ty};
use crate::functions::scalar::regexps::operator_pattern;
use crate::functions::scalar::returns::{text, text_array};

/// Memory of a piece of a text besides its letters while it is made: its own text, and its place in
/// an array.
pub(crate) const PIECE_BYTES: usize = 72;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("similar_to_regex", &[Ty::Text, Ty::Text], text, |args| {
        args.texts(|row| {
            let mut escape = args.text(1).value(row).chars();
            let regex = similar_to_regex(args.text(0).value(row), escape.next());
            // What PostgreSQL has no words for is found when it is matched.
            operator_pattern(&regex).map(|_| Some(regex))
        })
    });
    for params in [&[Ty::Text, Ty::Text] as &'static [Ty], &[Ty::Text, Ty::Text, Ty::Text]] {
        functions.add(
            "string_to_array",
            Overload {
                params,
                variadic: false,
                result: text_array,
                nulls: true,
                body: |args| {
                    let rows = (0..args.rows).map(|row| split(args, row));
                    Ok(Arc::new(text_lists(rows.collect::<SqlResult<_>>()?)))
                },
            },
        );
    }
}

/// The pieces of the first text between those that are like the second; the third stands for null.
fn split(args: &Args<'_>, row: usize) -> SqlResult<Option<Vec<Option<String>>>> {
    let given = |i: usize| {
        let texts = args.arrays.get(i)?.as_string_view();
        texts.is_valid(row).then(|| texts.value(row))
    };
    let (Some(text), null) = (given(0), given(2)) else { return Ok(None) };
    let pieces = match given(1) {
        None => text.chars().count(),
        Some("") => 1,
        Some(by) => text.matches(by).count() + 1,
    };
    limits::room(pieces.saturating_mul(PIECE_BYTES) + text.len())?;
    let piece = |piece: &str| (Some(piece) != null).then(|| piece.to_owned());
    Ok(Some(match given(1) {
        _ if text.is_empty() => vec![],
        None => text.chars().map(|letter| piece(letter.encode_utf8(&mut [0; 4]))).collect(),
        Some("") => vec![piece(text)],
        Some(by) => text.split(by).map(piece).collect(),
    }))
}

/// SQL's regular expressions: `%` and `_` as in LIKE, and all of the text must match.
fn similar_to_regex(pattern: &str, escape: Option<char>) -> String {
    let mut out = String::from("(?s)^(?:");
    let (mut escaped, mut inside) = (false, false);
    for letter in pattern.chars() {
        match letter {
            c if escaped => {
                out.extend(['\\', c]);
                escaped = false;
            }
            c if Some(c) == escape => escaped = true,
            '\\' => out.push_str("\\\\"),
            ']' if inside => {
                inside = false;
                out.push(']');
            }
            c if inside => out.push(c),
            '[' => {
                inside = true;
                out.push('[');
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '.' | '^' | '$' => out.extend(['\\', letter]),
            c => out.push(c),
        }
    }
    out.push_str(")$");
    out
}
