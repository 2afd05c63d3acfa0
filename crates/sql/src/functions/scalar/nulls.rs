//! Functions that count nulls, and that quote values and nulls.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use types::SqlResult;
use types::text::format_value;

use crate::functions::scalar::overload::{Args, Functions, Overload, Ty};
use crate::functions::scalar::returns::{int, text};
use crate::functions::scalar::strings::quote_literal;

pub(crate) fn register(functions: &mut Functions) {
    let mut count = |name, body| {
        // The first may not be left out.
        let params = &[Ty::Any, Ty::Any];
        functions.add(name, Overload { params, variadic: true, result: int, nulls: true, body });
    };
    count("num_nulls", |args| counted(args, true));
    count("num_nonnulls", |args| counted(args, false));
    for params in [&[Ty::Text] as &'static [Ty], &[Ty::Any]] {
        functions.strict("quote_literal", params, text, |args| {
            args.texts(|row| Ok(as_text(&args.arrays[0], row).map(|value| quote_literal(&value))))
        });
        functions.add(
            "quote_nullable",
            Overload {
                params,
                variadic: false,
                result: text,
                nulls: true,
                body: |args| {
                    let quoted = |row| match as_text(&args.arrays[0], row) {
                        Some(value) => quote_literal(&value),
                        None => "NULL".to_owned(),
                    };
                    let values = (0..args.rows).map(|row| Some(quoted(row)));
                    Ok(Arc::new(values.collect::<StringViewArray>()))
                },
            },
        );
    }
}

fn counted(args: &Args<'_>, nulls: bool) -> SqlResult<ArrayRef> {
    let known: Vec<Option<NullBuffer>> = args.arrays.iter().map(Array::logical_nulls).collect();
    let is_null = |known: &Option<NullBuffer>, row| known.as_ref().is_some_and(|k| k.is_null(row));
    let count = |row| known.iter().filter(|known| is_null(known, row) == nulls).count() as i32;
    Ok(Arc::new(Int32Array::from_iter_values((0..args.rows).map(count))))
}

/// The value as a cast to text gives it, which has words for booleans.
fn as_text(array: &ArrayRef, row: usize) -> Option<String> {
    match (array.data_type(), array.as_any().downcast_ref::<BooleanArray>()) {
        (DataType::Boolean, Some(values)) => {
            values.is_valid(row).then(|| values.value(row).to_string())
        }
        _ => format_value(array, row),
    }
}
