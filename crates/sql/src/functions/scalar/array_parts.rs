//! Parts and dimensions of arrays; arrays of one value. An array has one dimension here.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, StringViewArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::take::take;
use plan::expr::value_bytes;
use plan::limits;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::cast::strict::STRICT_CAST;
use crate::cast::text::cast_text;
use crate::error::{from_arrow, from_library};
use crate::functions::scalar::arrays::{SERIES_MAX, list_of};
use crate::functions::scalar::overload::{Args, Functions, Overload, Ty};
use crate::functions::scalar::returns::{int, text};

pub(crate) fn register(functions: &mut Functions) {
    dimensions(functions);
    functions.strict(
        "trim_array",
        &[Ty::List, Ty::Int],
        |args, _| args[0].clone(),
        |args| parts(args, |row, length| without_last(length, args.int(1, row))),
    );
    // A cast to an array of texts of limited length.
    functions.strict(
        "elements_cut",
        &[Ty::List, Ty::Big, Ty::Bool],
        |args, _| args[0].clone(),
        elements_cut,
    );
    // What `array[lower:upper]` is.
    functions.strict(
        "array_slice",
        &[Ty::List, Ty::Int, Ty::Int],
        |args, _| args[0].clone(),
        |args| {
            parts(args, |row, length| {
                let place = |at: i32| usize::try_from(at).unwrap_or(0).min(length);
                let start = place(args.int(1, row).saturating_sub(1));
                Ok(start..place(args.int(2, row)).max(start))
            })
        },
    );
    for params in [&[Ty::Any, Ty::List] as &'static [Ty], &[Ty::Any, Ty::ListText]] {
        functions.add(
            "array_fill",
            Overload {
                params,
                variadic: false,
                result: |args, _| list_of(&args[0]),
                nulls: true,
                body: filled,
            },
        );
    }
}

/// Texts in arrays without what is longer than so many characters and, where blanks at their end
/// mean nothing, without those.
fn elements_cut(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let DataType::List(field) = args.ty else {
        return Err(SqlError::internal("elements of no array"));
    };
    if args.rows == 0 {
        return Ok(Arc::clone(&args.arrays[0]));
    }
    // They are those of a type: the same in all rows.
    let length = usize::try_from(args.big(1, 0)).unwrap_or(0);
    let is_padded = args.arrays[2].as_boolean().value(0);
    let lists = args.arrays[0].as_list::<i32>();
    let cut = |text: &str| -> String {
        let kept: String = text.chars().take(length).collect();
        if is_padded { kept.trim_end_matches(' ').to_owned() } else { kept }
    };
    let elements = lists.values().as_string_view().iter().map(|text| text.map(cut));
    let elements = Arc::new(elements.collect::<StringViewArray>());
    let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
    Ok(Arc::new(ListArray::new(Arc::clone(field), offsets, elements, nulls)))
}

/// An empty array has no dimensions.
fn dimensions(functions: &mut Functions) {
    functions.strict("array_dims", &[Ty::List], text, |args| {
        let lists = args.arrays[0].as_list::<i32>();
        args.texts(|row| {
            let length = lists.value_length(row);
            Ok((length > 0).then(|| format!("[1:{length}]")))
        })
    });
    functions.strict("array_ndims", &[Ty::List], int, |args| {
        let lists = args.arrays[0].as_list::<i32>();
        let count = |row| Ok((lists.value_length(row) > 0).then_some(1));
        Ok(Arc::new(args.each::<_, Int32Array>(count)?))
    });
}

fn without_last(length: usize, count: i32) -> SqlResult<Range<usize>> {
    let kept = usize::try_from(count).ok().and_then(|count| length.checked_sub(count));
    kept.map(|kept| 0..kept).ok_or_else(|| {
        let message = format!("number of elements to trim must be between 0 and {length}");
        SqlError::new(SqlState("2202E"), message)
    })
}

/// The elements of the first argument in a range, which depends on the row and the array's length.
fn parts(
    args: &Args<'_>,
    range: impl Fn(usize, usize) -> SqlResult<Range<usize>>,
) -> SqlResult<ArrayRef> {
    let lists = args.arrays[0].as_list::<i32>();
    let (mut places, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..args.rows {
        let (null, first) = (args.is_null(row), lists.value_offsets()[row] as usize);
        let kept = if null { 0..0 } else { range(row, lists.value_length(row) as usize)? };
        valid.push(!null);
        lengths.push(kept.len());
        places.extend(kept.map(|at| (first + at) as u32));
    }
    gathered(args, lists.values(), places, lengths, Some(valid))
}

/// Lists of the call's type, of the values at these places.
fn gathered(
    args: &Args<'_>,
    values: &ArrayRef,
    places: Vec<u32>,
    lengths: Vec<usize>,
    valid: Option<Vec<bool>>,
) -> SqlResult<ArrayRef> {
    let DataType::List(field) = args.ty else {
        return Err(SqlError::internal("an array is a list"));
    };
    let values = take(values, &UInt32Array::from(places), None).map_err(from_arrow)?;
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), valid.map(NullBuffer::from));
    let lists = ListArray::try_new(Arc::clone(field), offsets, values, nulls);
    Ok(Arc::new(lists.map_err(from_arrow)?))
}

/// Arrays of the first argument, as long as the second says.
fn filled(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let DataType::List(field) = args.ty else {
        return Err(SqlError::internal("an array is a list"));
    };
    let value = arrow_cast::cast_with_options(&args.arrays[0], field.data_type(), &STRICT_CAST);
    let (value, sizes) = (value.map_err(from_arrow)?, sizes(&args.arrays[1])?);
    let sizes = sizes.as_list::<i32>();
    let (mut places, mut lengths) = (Vec::new(), Vec::new());
    for row in 0..args.rows {
        let length = length(sizes, row)?;
        let value_bytes = value_bytes(&value.slice(row, 1)) + size_of::<i128>() + size_of::<u32>();
        limits::room(length.saturating_mul(value_bytes))?;
        places.extend(std::iter::repeat_n(row as u32, length));
        lengths.push(length);
    }
    gathered(args, &value, places, lengths, None)
}

fn sizes(array: &ArrayRef) -> SqlResult<ArrayRef> {
    let ty = LogicalType::Int32.array_of().arrow();
    match array.data_type().is_string() {
        true => cast_text(array, &ty).map_err(from_library),
        false => arrow_cast::cast_with_options(array, &ty, &STRICT_CAST).map_err(from_arrow),
    }
}

/// How many elements an array of this size has.
fn length(sizes: &ListArray, row: usize) -> SqlResult<usize> {
    let null = |message| SqlError::new(SqlState("22004"), message);
    if sizes.is_null(row) {
        return Err(null("dimension array or low bound array cannot be null"));
    }
    let size = sizes.value(row);
    let size = size.as_primitive::<Int32Type>();
    if size.null_count() > 0 {
        return Err(null("dimension values cannot be null"));
    }
    match *size.values().as_ref() {
        [] => Ok(0),
        [only] if (0..=SERIES_MAX).contains(&i64::from(only)) => Ok(only as usize),
        [_] => {
            let message = format!("array size exceeds the maximum allowed ({SERIES_MAX})");
            Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
        }
        _ => Err(SqlError::unsupported("an array of more than one dimension")),
    }
}
