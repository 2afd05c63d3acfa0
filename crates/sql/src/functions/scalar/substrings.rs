//! Parts of texts and of byte strings: `substr`, `strpos`, `btrim`. Texts are left to the library, whose
//! functions share the bytes of what they cut.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array};
use arrow_schema::Field;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use datafusion_functions::{string, unicode};
use types::{SqlError, SqlResult, SqlState};

use crate::error::from_library;
use crate::functions::options::OPTIONS;
use crate::functions::scalar::bytea::{byte_strings, value};
use crate::functions::scalar::overload::{Args, Functions, Ty};
use crate::functions::scalar::returns::{bytes, int, text};

pub(crate) fn register(functions: &mut Functions) {
    for name in ["substr", "substring"] {
        functions.strict(name, &[Ty::Text, Ty::Big], text, text_part);
        functions.strict(name, &[Ty::Text, Ty::Big, Ty::Big], text, text_part);
        functions.strict(name, &[Ty::Bytes, Ty::Int], bytes, bytes_part);
        functions.strict(name, &[Ty::Bytes, Ty::Int, Ty::Int], bytes, bytes_part);
    }
    functions
        .strict("strpos", &[Ty::Text, Ty::Text], int, |args| by_library(&unicode::strpos(), args));
    functions.strict("strpos", &[Ty::Bytes, Ty::Bytes], int, |args| {
        let sought = args.arrays[1].as_binary_view();
        let place = |row: usize| Ok(Some(position(value(args, row), sought.value(row))));
        Ok(Arc::new(args.each::<_, Int32Array>(place)?))
    });
    functions.strict("overlay", &[Ty::Text, Ty::Text, Ty::Int], text, overlaid_text);
    functions.strict("overlay", &[Ty::Text, Ty::Text, Ty::Int, Ty::Int], text, overlaid_text);
    functions.strict("overlay", &[Ty::Bytes, Ty::Bytes, Ty::Int], bytes, overlaid);
    functions.strict("overlay", &[Ty::Bytes, Ty::Bytes, Ty::Int, Ty::Int], bytes, overlaid);
    trims(functions);
}

/// Letters from a place on replaced by others, as many as these are or as the fourth argument says.
fn overlaid_text(args: &Args<'_>) -> SqlResult<ArrayRef> {
    args.texts(|row| {
        let whole: Vec<char> = args.text(0).value(row).chars().collect();
        let by: Vec<char> = args.text(1).value(row).chars().collect();
        overlay(args, row, &whole, &by).map(|all| Some(all.into_iter().collect()))
    })
}

/// The same of bytes.
fn overlaid(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let others = args.arrays[1].as_binary_view();
    byte_strings(args, |row| overlay(args, row, value(args, row), others.value(row)))
}

fn overlay<T: Copy>(args: &Args<'_>, row: usize, whole: &[T], by: &[T]) -> SqlResult<Vec<T>> {
    let start = i64::from(args.int(2, row)) - 1;
    if start < 0 {
        return Err(negative_length());
    }
    let count = match args.arrays.len() > 3 {
        true => i64::from(args.int(3, row)),
        false => by.len() as i64,
    };
    let place = |at: i64| usize::try_from(at).unwrap_or(0).min(whole.len());
    Ok([&whole[..place(start)], by, &whole[place(start + count)..]].concat())
}

fn trims(functions: &mut Functions) {
    for name in ["btrim", "trim"] {
        functions.strict(name, &[Ty::Text], text, |args| by_library(&string::btrim(), args));
        functions
            .strict(name, &[Ty::Text, Ty::Text], text, |args| by_library(&string::btrim(), args));
        functions.strict(name, &[Ty::Bytes, Ty::Bytes], bytes, |a| trimmed(a, true, true));
    }
    for params in [&[Ty::Text] as &'static [Ty], &[Ty::Text, Ty::Text]] {
        functions.strict("ltrim", params, text, |args| by_library(&string::ltrim(), args));
        functions.strict("rtrim", params, text, |args| by_library(&string::rtrim(), args));
    }
    functions.strict("ltrim", &[Ty::Bytes, Ty::Bytes], bytes, |a| trimmed(a, true, false));
    functions.strict("rtrim", &[Ty::Bytes, Ty::Bytes], bytes, |a| trimmed(a, false, true));
}

/// What a function of the library makes of the arguments.
fn by_library(function: &ScalarUDF, args: &Args<'_>) -> SqlResult<ArrayRef> {
    let field = |array: &ArrayRef| Arc::new(Field::new("", array.data_type().clone(), true));
    let call = ScalarFunctionArgs {
        args: args.arrays.iter().cloned().map(ColumnarValue::Array).collect(),
        arg_fields: args.arrays.iter().map(field).collect(),
        number_rows: args.rows,
        return_field: Arc::new(Field::new("", args.ty.clone(), true)),
        config_options: Arc::clone(&OPTIONS),
    };
    let result = function.invoke_with_args(call).map_err(from_library)?;
    result.into_array(args.rows).map_err(from_library)
}

fn text_part(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let negative = |row: usize| !args.is_null(row) && args.big(2, row) < 0;
    if args.arrays.len() > 2 && (0..args.rows).any(negative) {
        return Err(negative_length());
    }
    by_library(&unicode::substr(), args)
}

fn negative_length() -> SqlError {
    SqlError::new(SqlState("22011"), "negative substring length not allowed")
}

fn bytes_part(args: &Args<'_>) -> SqlResult<ArrayRef> {
    byte_strings(args, |row| {
        let whole = value(args, row);
        let start = i64::from(args.int(1, row));
        let length = args.arrays.get(2).map(|_| i64::from(args.int(2, row)));
        if length.is_some_and(|length| length < 0) {
            return Err(negative_length());
        }
        let end = length.map_or(i64::MAX, |length| start + length);
        let place = |at: i64| usize::try_from(at - 1).unwrap_or(0).min(whole.len());
        Ok(whole[place(start)..place(end).max(place(start))].to_vec())
    })
}

/// The place of the first bytes that are those sought, counted from one; 0 where there are none.
fn position(whole: &[u8], sought: &[u8]) -> i32 {
    if sought.is_empty() {
        return 1;
    }
    let found = whole.windows(sought.len()).position(|window| window == sought);
    found.map_or(0, |at| at as i32 + 1)
}

/// Without the bytes of a set at one end or at both.
fn trimmed(args: &Args<'_>, start: bool, end: bool) -> SqlResult<ArrayRef> {
    let sets = args.arrays[1].as_binary_view();
    byte_strings(args, |row| {
        let (mut kept, set) = (value(args, row), sets.value(row));
        while let Some((first, rest)) = kept.split_first()
            && start
            && set.contains(first)
        {
            kept = rest;
        }
        while let Some((last, rest)) = kept.split_last()
            && end
            && set.contains(last)
        {
            kept = rest;
        }
        Ok(kept.to_vec())
    })
}
