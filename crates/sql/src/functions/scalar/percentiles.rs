//! What `percentile_cont` is of the sorted values: the one at a share of them, between two of them in proportion.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, Float64Array, IntervalMonthDayNanoArray, ListArray};
use arrow_schema::DataType;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use crate::cast::floats::cast_exactly;
use crate::error::from_library;
use crate::functions::scalar::dates::{added, multiplied};
use crate::functions::scalar::overload::{Args, Functions, Ty};

pub(crate) fn register(functions: &mut Functions) {
    functions.strict(
        "percentile_of",
        &[Ty::List, Ty::Float],
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
        let Some(Place { low, high, share }) = place(args, lists, row)? else { return Ok(None) };
        let (low, high) = (values.value(low), values.value(high));
        Ok(Some(if share == 0.0 { low } else { low + share * (high - low) }))
    })?))
}

fn spans(args: &Args<'_>, lists: &ListArray) -> SqlResult<ArrayRef> {
    let values = lists.values().as_primitive::<IntervalMonthDayNanoType>();
    Ok(Arc::new(args.each::<_, IntervalMonthDayNanoArray>(|row| {
        let Some(Place { low, high, share }) = place(args, lists, row)? else { return Ok(None) };
        let (low, high) = (values.value(low), values.value(high));
        let distance = added(high, low, -1)?;
        added(multiplied(distance, share)?, low, 1).map(Some)
    })?))
}

/// Between which values a share of all lies, and how far from the first.
struct Place {
    low: usize,
    high: usize,
    share: f64,
}

/// `None` of no values.
fn place(args: &Args<'_>, lists: &ListArray, row: usize) -> SqlResult<Option<Place>> {
    let wanted = args.float(1, row);
    if !(0.0..=1.0).contains(&wanted) {
        let message = format!("percentile value {wanted} is not between 0 and 1");
        return Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    let (first, count) = (lists.value_offsets()[row] as usize, lists.value_length(row));
    if count == 0 {
        return Ok(None);
    }
    let at = wanted * f64::from(count - 1);
    let (low, high) = (at.floor(), at.ceil());
    let place = |at: f64| first + at as usize;
    Ok(Some(Place { low: place(low), high: place(high), share: at - low }))
}
