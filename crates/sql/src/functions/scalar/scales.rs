//! Digits after the point that numbers need, and the interval of a list that a value falls into.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::numeric::{FREE, QUOTIENT_SCALE};
use types::text::format_value;
use types::{SqlError, SqlResult, SqlState};

use crate::cast::text::cast_text;
use crate::error::from_library;
use crate::functions::order::comparator;
use crate::functions::scalar::arrays::alike;
use crate::functions::scalar::overload::{Args, Functions, Ty};
use crate::functions::scalar::returns::int;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("min_scale", &[Ty::Num], int, |args| {
        let needed = |row| Ok(format_value(&args.arrays[0], row).map(|text| needed_scale(&text)));
        Ok(Arc::new(args.each::<_, Int32Array>(needed)?))
    });
    functions.strict("trim_scale", &[Ty::Num], trimmed, |args| {
        match args.arrays[0].data_type() == args.ty {
            true => Ok(Arc::clone(&args.arrays[0])),
            false => cast_text(&args.arrays[0], args.ty).map_err(from_library),
        }
    });
    for params in [&[Ty::Any, Ty::List] as &'static [Ty], &[Ty::Any, Ty::ListText]] {
        functions.strict("width_bucket", params, int, buckets);
    }
}

/// Digits after the point of a number as it is printed, without zeros at the end.
fn needed_scale(number: &str) -> i32 {
    let fraction = number.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.trim_end_matches('0').len() as i32
}

/// A number without a scale prints the digits that it needs.
fn trimmed(args: &[DataType], _: &[Option<&ScalarValue>]) -> DataType {
    match &args[0] {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)
            if *scale > QUOTIENT_SCALE =>
        {
            args[0].clone()
        }
        _ => FREE,
    }
}

/// How many of the ascending thresholds are not above the value.
fn buckets(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let (values, lists) = alike(args)?;
    let elements = lists.values();
    let compare = comparator(&values, elements)?;
    let bucket = |row: usize| {
        if values.is_null(row) {
            return Ok(None);
        }
        let (first, length) = (lists.value_offsets()[row] as usize, lists.value_length(row));
        let (mut low, mut high) = (first, first + length as usize);
        if (low..high).any(|at| elements.is_null(at)) {
            let message = "thresholds array must not contain NULLs";
            return Err(SqlError::new(SqlState("22004"), message));
        }
        while low < high {
            let middle = low.midpoint(high);
            match compare(row, middle).is_lt() {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Ok(Some((low - first) as i32))
    };
    Ok(Arc::new(args.each::<_, Int32Array>(bucket)?))
}
