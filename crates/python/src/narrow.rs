//! Rows for libraries that have fewer types: polars has no decimals of 256 bits, and no intervals.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    IntervalMonthDayNanoType,
};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::{ArrowError, DataType, IntervalUnit, TimeUnit};

/// Digits of a decimal of 128 bits.
const DIGITS_MAX: u8 = 38;

const DAY_US: i64 = 86_400_000_000;

/// The type in which values of a type are given.
pub(crate) fn narrowed(ty: &DataType) -> DataType {
    match ty {
        DataType::Decimal256(_, scale) => DataType::Decimal128(DIGITS_MAX, *scale),
        DataType::Interval(IntervalUnit::MonthDayNano) => DataType::Duration(TimeUnit::Microsecond),
        other => other.clone(),
    }
}

/// A vector in that type.
///
/// # Errors
/// Values that it has not: more than 38 digits, months.
pub(crate) fn narrow(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Decimal256(_, scale) => {
            let wide = array.as_primitive::<Decimal256Type>();
            let narrow = each::<_, Decimal128Type>(wide, "a number of more than 38 digits", |v| {
                v.to_i128().filter(|v| v.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into()))
            });
            Ok(Arc::new(narrow?.with_precision_and_scale(DIGITS_MAX, *scale)?))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = array.as_primitive::<IntervalMonthDayNanoType>();
            let spans =
                each::<_, DurationMicrosecondType>(intervals, "an interval of months", |v| {
                    (v.months == 0).then_some(i64::from(v.days) * DAY_US + v.nanoseconds / 1000)
                });
            Ok(Arc::new(spans?))
        }
        _ => Ok(array.clone()),
    }
}

/// Each value by `convert`, which has nothing for what does not fit.
fn each<A: ArrowPrimitiveType, B: ArrowPrimitiveType>(
    array: &PrimitiveArray<A>,
    misfit: &str,
    convert: impl Fn(A::Native) -> Option<B::Native>,
) -> Result<PrimitiveArray<B>, ArrowError> {
    array.try_unary(|value| {
        let refusal =
            || ArrowError::CastError(format!("{misfit}: cast it to text, or to what fits"));
        convert(value).ok_or_else(refusal)
    })
}
