//! The value of `percentile_cont`: of all values, once sorted, the one at a share of them, between
//! two in proportion.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, Float64Array, IntervalMonthDayNanoArray, ListArray};
use arrow_schema::DataType;
use types::equality::interval_length;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::cast::floats::cast_exactly;
use crate::error::from_library;
use crate::functions::scalar::dates::{added, multiplied};
use crate::functions::scalar::overload::{Args, Functions, Ty};

pub(crate) fn register(functions: &mut Functions) {
    functions.strict(
        "percentile_of",
        &[Ty::List, Ty::Float, Ty::Bool],
        |args, _| match element(&args[0]) {
            Some(DataType::Interval(_)) => LogicalType::Interval.arrow(),
            _ => DataType::Float64,
        },
        |args| {
            let lists = args.arrays[0].as_list::<i32>();
            match lists.values().data_type() {
                DataType::Interval(_) => spans(args, lists),
                ty if ty.is_numeric() => numbers(args, lists),
                ty => {
                    let name = crate::render::type_name(ty);
                    let message = format!(
                        "function percentile_cont(double precision, {name}) does not exist"
                    );
                    Err(SqlError::new(SqlState::UNDEFINED_FUNCTION, message))
                }
            }
        },
    );
}

fn element(list: &DataType) -> Option<&DataType> {
    match list {
        DataType::List(field) => Some(field.data_type()),
        _ => None,
    }
}

fn numbers(args: &Args<'_>, lists: &ListArray) -> SqlResult<ArrayRef> {
    let values = lists.values();
    let values = cast_exactly(values, &DataType::Float64).map_err(from_library)?;
    let values = values.as_primitive::<Float64Type>();
    Ok(Arc::new(args.each::<_, Float64Array>(|row| {
        let mut all = values.values()[range(lists, row)].to_vec();
        all.sort_unstable_by(|a, b| order(*a, *b));
        let Some(Place { low, high, share }) = place(args, &mut all, row)? else { return Ok(None) };
        Ok(Some(if share == 0.0 { low } else { low + share * (high - low) }))
    })?))
}

/// Not a number is the greatest.
fn order(a: f64, b: f64) -> Ordering {
    a.is_nan().cmp(&b.is_nan()).then_with(|| a.total_cmp(&b))
}

fn spans(args: &Args<'_>, lists: &ListArray) -> SqlResult<ArrayRef> {
    let values = lists.values().as_primitive::<IntervalMonthDayNanoType>();
    Ok(Arc::new(args.each::<_, IntervalMonthDayNanoArray>(|row| {
        let mut all = values.values()[range(lists, row)].to_vec();
        all.sort_by_key(|span| interval_length(*span));
        let Some(Place { low, high, share }) = place(args, &mut all, row)? else { return Ok(None) };
        let distance = added(high, low, -1)?;
        added(multiplied(distance, share)?, low, 1).map(Some)
    })?))
}

fn range(lists: &ListArray, row: usize) -> Range<usize> {
    let offsets = lists.value_offsets();
    offsets[row] as usize..offsets[row + 1] as usize
}

/// Between which values a share of all lies, and how far from the first.
struct Place<T> {
    low: T,
    high: T,
    share: f64,
}

/// The place in values that are sorted; `None` of no values.
fn place<T: Copy>(args: &Args<'_>, all: &mut [T], row: usize) -> SqlResult<Option<Place<T>>> {
    let wanted = args.float(1, row);
    if !(0.0..=1.0).contains(&wanted) {
        let message = format!("percentile value {wanted} is not between 0 and 1");
        return Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    let Some(last) = all.len().checked_sub(1) else { return Ok(None) };
    if args.arrays[2].as_boolean().value(row) {
        all.reverse();
    }
    let at = wanted * last as f64;
    let (low, high) = (at.floor(), at.ceil());
    Ok(Some(Place { low: all[low as usize], high: all[high as usize], share: at - low }))
}
