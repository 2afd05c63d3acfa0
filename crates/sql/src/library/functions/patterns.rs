//! Functions that search text by a pattern.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use types::SqlResult;

use super::arrays::text_lists;
use super::{Functions, Ty, text, text_array};

pub(super) fn register(functions: &mut Functions) {
    functions.strict("similar_to_regex", &[Ty::Text], text, |args| {
        args.texts(|row| Ok(Some(similar_to_regex(args.text(0).value(row)))))
    });
    functions.strict("string_to_array", &[Ty::Text, Ty::Text], text_array, |args| {
        split(args.rows, |row| {
            let (text, by) = (args.text(0), args.text(1));
            (!args.is_null(row)).then(|| pieces(text.value(row), by.value(row)))
        })
    });
}

fn pieces(text: &str, by: &str) -> Vec<Option<String>> {
    match (text.is_empty(), by.is_empty()) {
        (true, _) => vec![],
        (_, true) => vec![Some(text.to_owned())],
        _ => text.split(by).map(|p| Some(p.to_owned())).collect(),
    }
}

fn split(rows: usize, row: impl Fn(usize) -> Option<Vec<Option<String>>>) -> SqlResult<ArrayRef> {
    let lists = text_lists((0..rows).map(row).collect());
    debug_assert_eq!(lists.len(), rows);
    Ok(Arc::new(lists))
}

/// SQL's regular expressions: `%` and `_` as in LIKE, and all of the text must match.
fn similar_to_regex(pattern: &str) -> String {
    let mut out = String::from("^(?:");
    let (mut escaped, mut inside) = (false, false);
    for letter in pattern.chars() {
        match letter {
            c if escaped => {
                out.push('\\');
                out.push(c);
                escaped = false;
                continue;
            }
            '\\' => {
                escaped = true;
                continue;
            }
            '%' if !inside => out.push_str(".*"),
            '_' if !inside => out.push('.'),
            '.' | '^' | '$' if !inside => {
                out.push('\\');
                out.push(letter);
            }
            '[' => {
                inside = true;
                out.push('[');
            }
            ']' => {
                inside = false;
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out.push_str(")$");
    out
}
