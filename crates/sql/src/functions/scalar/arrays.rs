//! Functions of arrays.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, IntervalMonthDayNano};
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, ListArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use datafusion_common::ScalarValue;
use plan::limits;
use types::datetime::{shifted, shifted_instant};
use types::text::format_value;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::cast::strict;
use crate::error::from_arrow;
use crate::functions::order::comparator;
use crate::functions::scalar::overload;
use crate::functions::scalar::overload::{Args, Functions, Overload, Ty};
use crate::functions::scalar::padding::with_room;
use crate::functions::scalar::returns::{boolean, int, text};
use crate::parse::set_functions::SERIES;

pub(crate) fn register(functions: &mut Functions) {
    functions.add(
        "make_array",
        Overload {
            params: &[Ty::Any],
            variadic: true,
            // A null among the elements says nothing of their type.
            result: |args, _| {
                let wider = |ty, other| crate::functions::scalar::elements::wider(&ty, other);
                match args.iter().fold(DataType::Null, wider) {
                    DataType::Null => list_of(&DataType::Utf8View),
                    known => list_of(&known),
                }
            },
            nulls: true,
            body: make_array,
        },
    );
    functions.strict(
        "array_element",
        &[Ty::List, Ty::Int],
        |args, _| element(&args[0]),
        |args| {
            let lists = args.arrays[0].as_list::<i32>();
            let at = args.each::<_, UInt32Array>(|row| {
                let (start, length) = (lists.value_offsets()[row], lists.value_length(row));
                let i = args.int(1, row);
                Ok((i >= 1 && i <= length).then(|| (start + i - 1) as u32))
            })?;
            arrow_select::take::take(lists.values(), &at, None).map_err(from_arrow)
        },
    );
    // What `ARRAY(subquery)` is: an aggregate over no rows is null, the array is empty.
    functions.add(
        "array_or_empty",
        Overload {
            params: &[Ty::List],
            variadic: false,
            result: |args, _| args[0].clone(),
            nulls: true,
            body: array_or_empty,
        },
    );
    lengths(functions);
    comparisons(functions);
}

fn lengths(functions: &mut Functions) {
    for name in ["array_length", "array_upper"] {
        functions.strict(name, &[Ty::List, Ty::Int], int, |args| {
            let lists = args.arrays[0].as_list::<i32>();
            Ok(Arc::new(args.each::<_, Int32Array>(|row| {
                let length = lists.value_length(row);
                Ok((args.int(1, row) == 1 && length > 0).then_some(length))
            })?))
        });
    }
    functions.strict("array_lower", &[Ty::List, Ty::Int], int, |args| {
        let lists = args.arrays[0].as_list::<i32>();
        let lower = |row| Ok((args.int(1, row) == 1 && lists.value_length(row) > 0).then_some(1));
        Ok(Arc::new(args.each::<_, Int32Array>(lower)?))
    });
    functions.strict("cardinality", &[Ty::List], int, |args| {
        let lists = args.arrays[0].as_list::<i32>();
        Ok(Arc::new(args.each::<_, Int32Array>(|row| Ok(Some(lists.value_length(row))))?))
    });
    functions.strict("array_to_string", &[Ty::List, Ty::Text], text, |args| {
        let lists = args.arrays[0].as_list::<i32>();
        args.texts(|row| {
            let list = lists.value(row);
            let values = (0..list.len()).filter_map(|i| format_value(list.as_ref(), i));
            put_together(values, args.text(1).value(row)).map(Some)
        })
    });
    functions.add(
        "array_to_string",
        Overload {
            params: &[Ty::List, Ty::Text, Ty::Text],
            variadic: false,
            result: text,
            nulls: true,
            body: joined,
        },
    );
}

/// The elements with the second argument between them; the third stands for those that are null, which
/// are left out where it is null.
fn joined(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let (lists, between, null) = (args.arrays[0].as_list::<i32>(), args.text(1), args.text(2));
    args.texts_or_null(|row: usize| {
        if lists.is_null(row) || between.is_null(row) {
            return Ok(None);
        }
        let (list, null) = (lists.value(row), null.is_valid(row).then(|| null.value(row)));
        let value = |i| format_value(list.as_ref(), i).or_else(|| null.map(str::to_owned));
        put_together((0..list.len()).filter_map(value), between.value(row)).map(Some)
    })
}

/// The texts with another between them.
fn put_together(texts: impl Iterator<Item = String>, between: &str) -> SqlResult<String> {
    let mut out = String::new();
    for (number, text) in texts.enumerate() {
        let between = if number == 0 { "" } else { between };
        limits::go_on()?;
        // Asked for whenever it doubles.
        let length = out.len() + between.len() + text.len();
        if length > out.capacity() {
            with_room(2 * length)?;
        }
        out.push_str(between);
        out.push_str(&text);
    }
    Ok(out)
}

/// Comparisons with elements, concatenation, series.
fn comparisons(functions: &mut Functions) {
    for (name, body) in COMPARISONS {
        for params in [&[Ty::Any, Ty::List], &[Ty::Any, Ty::ListText]] {
            let (variadic, result, nulls) = (false, boolean, true);
            functions.add(name, Overload { params, variadic, result, nulls, body });
        }
    }
    series(functions);
    functions.add(
        "array_cat",
        Overload {
            params: &[Ty::List, Ty::List],
            variadic: false,
            result: |args, _| args[0].clone(),
            nulls: true,
            body: concatenate,
        },
    );
}

/// Most values of a series: it is held in memory.
pub(crate) const SERIES_MAX: i64 = 50_000_000;

fn series(functions: &mut Functions) {
    let big = |_: &[DataType], _: &[Option<&ScalarValue>]| LogicalType::Int64.array_of().arrow();
    let int = |_: &[DataType], _: &[Option<&ScalarValue>]| LogicalType::Int32.array_of().arrow();
    let time =
        |_: &[DataType], _: &[Option<&ScalarValue>]| LogicalType::Timestamp.array_of().arrow();
    for params in [&[Ty::Int, Ty::Int] as &'static [Ty], &[Ty::Int, Ty::Int, Ty::Int]] {
        functions.strict(SERIES, params, int, integers);
    }
    for params in [&[Ty::Big, Ty::Big] as &'static [Ty], &[Ty::Big, Ty::Big, Ty::Big]] {
        functions.strict(SERIES, params, big, integers);
    }
    functions.strict(SERIES, &[Ty::Ts, Ty::Ts, Ty::Interval], time, |args| points(args, shifted));
    for params in [&[Ty::Num, Ty::Num] as &'static [Ty], &[Ty::Num, Ty::Num, Ty::Num]] {
        functions.strict(SERIES, params, numerics_type, numerics);
    }
    let instants =
        |_: &[DataType], _: &[Option<&ScalarValue>]| LogicalType::TimestampTz.array_of().arrow();
    functions.strict(SERIES, &[Ty::Tz, Ty::Tz, Ty::Interval], instants, |args| {
        points(args, shifted_instant)
    });
    functions.volatile(SERIES);
}

/// Numbers with the digits of the bounds and the step.
fn numerics_type(args: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    let scale = |ty: &DataType| match ty {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    };
    list_of(&DataType::Decimal128(38, args.iter().map(scale).max().unwrap_or(0)))
}

fn numerics(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let DataType::List(field) = args.ty else {
        return Err(SqlError::internal("a series is a list"));
    };
    let cast = |a: &ArrayRef| {
        arrow_cast::cast_with_options(a, field.data_type(), &strict::STRICT_CAST)
            .map_err(from_arrow)
    };
    let bounds = args.arrays.iter().map(cast).collect::<SqlResult<Vec<_>>>()?;
    let DataType::Decimal128(_, scale) = field.data_type() else {
        return Err(SqlError::internal("a series of numbers has decimals"));
    };
    let one = 10i128.pow(u32::from(scale.unsigned_abs()));
    let value = |at: usize, row: usize| bounds[at].as_primitive::<Decimal128Type>().value(row);
    let (mut values, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..args.rows {
        let (before, null) = (values.len(), args.is_null(row));
        if !null {
            let step = if bounds.len() > 2 { value(2, row) } else { one };
            if step == 0 {
                return Err(overload::invalid_parameter("step size cannot equal zero"));
            }
            let (mut at, end) = (value(0, row), value(1, row));
            while if step > 0 { at <= end } else { at >= end } {
                check_length((values.len() - before) as i64)?;
                values.push(at);
                at += step;
            }
        }
        valid.push(!null);
        lengths.push(values.len() - before);
    }
    let values =
        arrow_array::Decimal128Array::from(values).with_data_type(field.data_type().clone());
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(valid));
    let lists = ListArray::try_new(Arc::clone(field), offsets, Arc::new(values), Some(nulls));
    Ok(Arc::new(lists.map_err(from_arrow)?))
}

/// True if an array may be so long.
fn check_length(length: i64) -> SqlResult<()> {
    if length > SERIES_MAX {
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the series is too long"));
    }
    limits::go_on()?;
    limits::room(usize::try_from(length).unwrap_or(0) * size_of::<i128>())
}

fn integers(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let narrow = matches!(args.arrays[0].data_type(), DataType::Int32);
    let value = |i: usize, row: usize| match narrow {
        true => i64::from(args.int(i, row)),
        false => args.big(i, row),
    };
    let list = |row: usize| -> SqlResult<Vec<i64>> {
        let (start, end) = (value(0, row), value(1, row));
        let step = if args.arrays.len() > 2 { value(2, row) } else { 1 };
        if step == 0 {
            return Err(overload::invalid_parameter("step size cannot equal zero"));
        }
        let distance = (i128::from(end) - i128::from(start)) / i128::from(step);
        if distance < 0 || (end < start) == (step > 0) && end != start {
            return Ok(vec![]);
        }
        check_length(i64::try_from(distance).unwrap_or(i64::MAX))?;
        Ok((0..=distance as i64).map(|i| start + i * step).collect())
    };
    lists_of(args, list)
}

/// Points in time from the first argument to the second, an interval apart.
fn points(
    args: &Args<'_>,
    shifted: fn(i64, IntervalMonthDayNano, i64) -> SqlResult<i64>,
) -> SqlResult<ArrayRef> {
    lists_of(args, |row| {
        let (mut at, end) = (args.micros(0, row), args.micros(1, row));
        let step = args.interval(2, row);
        let next = shifted(at, step, 1)?;
        let ascending = next > at;
        if next == at {
            return Err(overload::invalid_parameter("step size cannot equal zero"));
        }
        let mut values = Vec::new();
        while if ascending { at <= end } else { at >= end } {
            check_length(values.len() as i64)?;
            values.push(at);
            at = shifted(at, step, 1)?;
        }
        Ok(values)
    })
}

/// Lists of whole numbers as the call's type.
fn lists_of(args: &Args<'_>, list: impl Fn(usize) -> SqlResult<Vec<i64>>) -> SqlResult<ArrayRef> {
    let (mut values, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..args.rows {
        let null = args.is_null(row);
        let elements = if null { vec![] } else { list(row)? };
        valid.push(!null);
        lengths.push(elements.len());
        values.extend(elements);
    }
    let DataType::List(field) = args.ty else {
        return Err(SqlError::internal("a series is a list"));
    };
    let values: ArrayRef = Arc::new(arrow_array::Int64Array::from(values));
    let values = arrow_cast::cast(&values, field.data_type()).map_err(from_arrow)?;
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(valid));
    let lists = ListArray::try_new(Arc::clone(field), offsets, values, Some(nulls));
    Ok(Arc::new(lists.map_err(from_arrow)?))
}

type Body = fn(&Args<'_>) -> SqlResult<ArrayRef>;

/// `x op ANY (array)`, and ALL, as functions.
const COMPARISONS: [(&str, Body); 12] = [
    ("any_eq", |args| compare_all(args, |o| o.is_eq(), true)),
    ("any_ne", |args| compare_all(args, |o| o.is_ne(), true)),
    ("any_lt", |args| compare_all(args, |o| o.is_lt(), true)),
    ("any_le", |args| compare_all(args, |o| o.is_le(), true)),
    ("any_gt", |args| compare_all(args, |o| o.is_gt(), true)),
    ("any_ge", |args| compare_all(args, |o| o.is_ge(), true)),
    ("all_eq", |args| compare_all(args, |o| o.is_eq(), false)),
    ("all_ne", |args| compare_all(args, |o| o.is_ne(), false)),
    ("all_lt", |args| compare_all(args, |o| o.is_lt(), false)),
    ("all_le", |args| compare_all(args, |o| o.is_le(), false)),
    ("all_gt", |args| compare_all(args, |o| o.is_gt(), false)),
    ("all_ge", |args| compare_all(args, |o| o.is_ge(), false)),
];

pub(crate) fn list_of(element: &DataType) -> DataType {
    let element = match element {
        DataType::Utf8 | DataType::Null => DataType::Utf8View,
        other => other.clone(),
    };
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

pub(crate) fn element(list: &DataType) -> DataType {
    match list {
        DataType::List(field) => field.data_type().clone(),
        _ => DataType::Null,
    }
}

/// Lists of texts; `None` is null.
pub(crate) fn text_lists(rows: Vec<Option<Vec<Option<String>>>>) -> ListArray {
    let field = Field::new_list_field(DataType::Utf8View, true);
    let mut builder = ListBuilder::new(StringViewBuilder::new()).with_field(field);
    for row in rows {
        match row {
            None => builder.append_null(),
            Some(values) => builder.append_value(values),
        }
    }
    builder.finish()
}

fn array_or_empty(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let lists = args.arrays[0].as_list::<i32>();
    // A null of a list need not be empty: the offsets are made anew, nulls without elements.
    let kept: Vec<usize> = (0..lists.len())
        .map(|row| if lists.is_null(row) { 0 } else { lists.value_length(row) as usize })
        .collect();
    let at: UInt32Array = (0..lists.len())
        .filter(|row| !lists.is_null(*row))
        .flat_map(|row| {
            let start = lists.value_offsets()[row];
            (start..start + lists.value_length(row)).map(|i| i as u32)
        })
        .collect::<Vec<u32>>()
        .into();
    let values = arrow_select::take::take(lists.values(), &at, None).map_err(from_arrow)?;
    let DataType::List(field) = lists.data_type() else {
        return Err(SqlError::internal("an array is a list"));
    };
    let offsets = OffsetBuffer::from_lengths(kept);
    Ok(Arc::new(ListArray::new(Arc::clone(field), offsets, values, None)))
}

fn make_array(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let DataType::List(field) = args.ty else {
        return Err(SqlError::internal("an array is a list"));
    };
    let cast = |a: &ArrayRef| crate::functions::scalar::elements::cast(a, field.data_type());
    let columns = args.arrays.iter().map(cast).collect::<SqlResult<Vec<_>>>()?;
    let parts: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let places: Vec<(usize, usize)> =
        (0..args.rows).flat_map(|row| (0..parts.len()).map(move |i| (i, row))).collect();
    let values = match parts.is_empty() {
        true => arrow_array::new_empty_array(field.data_type()),
        false => arrow_select::interleave::interleave(&parts, &places).map_err(from_arrow)?,
    };
    let offsets = OffsetBuffer::from_repeated_length(parts.len(), args.rows);
    let lists = ListArray::try_new(Arc::clone(field), offsets, values, None);
    Ok(Arc::new(lists.map_err(from_arrow)?))
}

/// A value and the elements of an array, which are the first two arguments, as one type in which they can
/// be compared.
pub(crate) fn alike(args: &Args<'_>) -> SqlResult<(ArrayRef, ListArray)> {
    let mut lists = Arc::clone(&args.arrays[1]);
    if lists.data_type().is_string() {
        let ty = list_of(args.arrays[0].data_type());
        lists = crate::cast::text::cast_text(&lists, &ty).map_err(crate::error::from_library)?;
    }
    let ty = crate::functions::scalar::elements::common(
        &element(lists.data_type()),
        args.arrays[0].data_type(),
    );
    let lists = crate::functions::scalar::elements::cast(&lists, &list_of(&ty))?;
    Ok((
        crate::functions::scalar::elements::cast(&args.arrays[0], &ty)?,
        lists.as_list::<i32>().clone(),
    ))
}

/// Compares a value with the elements of an array: true (false for ALL) of one decides, else unknown
/// of one is unknown.
fn compare_all(
    args: &Args<'_>,
    holds: impl Fn(std::cmp::Ordering) -> bool,
    any: bool,
) -> SqlResult<ArrayRef> {
    let (values, lists) = alike(args)?;
    let compare = comparator(&values, lists.values())?;
    let row = |row: usize| -> Option<bool> {
        if lists.is_null(row) {
            return None;
        }
        let start = lists.value_offsets()[row] as usize;
        let mut unknown = false;
        for at in start..start + lists.value_length(row) as usize {
            if values.is_null(row) || lists.values().is_null(at) {
                unknown = true;
            } else if holds(compare(row, at)) == any {
                return Some(any);
            }
        }
        (!unknown).then_some(!any)
    };
    Ok(Arc::new((0..args.rows).map(row).collect::<BooleanArray>()))
}

fn concatenate(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let (left, right) = (args.arrays[0].as_list::<i32>(), args.arrays[1].as_list::<i32>());
    if left.value_type() != right.value_type() {
        let message = "arrays of different types cannot be concatenated";
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let (mut places, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..args.rows {
        let before = places.len();
        for (side, list) in [left, right].into_iter().enumerate().filter(|(_, l)| !l.is_null(row)) {
            let start = list.value_offsets()[row] as usize;
            places.extend((start..start + list.value_length(row) as usize).map(|i| (side, i)));
        }
        lengths.push(places.len() - before);
        valid.push(!left.is_null(row) || !right.is_null(row));
    }
    let parts: [&dyn Array; 2] = [left.values().as_ref(), right.values().as_ref()];
    let values = arrow_select::interleave::interleave(&parts, &places).map_err(from_arrow)?;
    let DataType::List(field) = args.ty else {
        return Err(SqlError::internal("an array is a list"));
    };
    let nulls = Some(NullBuffer::from(valid));
    let lists =
        ListArray::try_new(Arc::clone(field), OffsetBuffer::from_lengths(lengths), values, nulls);
    Ok(Arc::new(lists.map_err(from_arrow)?))
}
