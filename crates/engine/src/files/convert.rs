//! Vectors of a file's types as vectors of ours.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, IntervalUnit, TimeUnit};
use types::{LogicalType, UTC};

/// Microseconds of a day, the last of which is 24:00.
const DAY_US: i64 = 86_400_000_000;

/// Digits after the point of numbers without a precision, and before it.
const FREE_SCALE: i8 = 20;
const FREE_WHOLE_DIGITS: u8 = 55;

/// The type in which values of a file's type are read; `None` for those that have none here.
pub(crate) fn logical(ty: &DataType) -> Option<LogicalType> {
    Some(match ty {
        DataType::Boolean => LogicalType::Bool,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => LogicalType::Int16,
        DataType::UInt16 | DataType::Int32 => LogicalType::Int32,
        DataType::UInt32 | DataType::Int64 => LogicalType::Int64,
        DataType::UInt64 => LogicalType::Decimal { precision: 20, scale: 0 },
        DataType::Float16 | DataType::Float32 => LogicalType::Float32,
        DataType::Float64 => LogicalType::Float64,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
            if *scale >= 0 && scale.unsigned_abs() <= *precision =>
        {
            LogicalType::Decimal { precision: *precision, scale: *scale }
        }
        DataType::Decimal256(precision, scale)
            if (0..=FREE_SCALE).contains(scale)
                && precision.saturating_sub(scale.unsigned_abs()) <= FREE_WHOLE_DIGITS =>
        {
            LogicalType::Numeric
        }
        // A column without any value may be of any type.
        DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            LogicalType::Text
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => LogicalType::Bytea,
        DataType::FixedSizeBinary(_) => LogicalType::Bytea,
        DataType::Date32 => LogicalType::Date,
        DataType::Time32(_) | DataType::Time64(_) => LogicalType::Time,
        DataType::Timestamp(_, None) => LogicalType::Timestamp,
        DataType::Timestamp(_, Some(_)) => LogicalType::TimestampTz,
        _ => return None,
    })
}

/// What a type is called that has no values here.
pub(crate) fn name_of_unknown(ty: &DataType) -> String {
    match ty {
        DataType::Struct(_) => "struct".to_owned(),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            "list".to_owned()
        }
        DataType::Map(..) => "map".to_owned(),
        DataType::Interval(IntervalUnit::DayTime | IntervalUnit::YearMonth) => {
            "interval".to_owned()
        }
        other => other.to_string().to_lowercase(),
    }
}

/// The type in which the decoder is asked for values of a type: strings as views, which are not copied
/// again.
pub(super) fn decoded(ty: &DataType) -> DataType {
    match ty {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other.clone(),
    }
}

/// A vector of a file as one of this type.
///
/// # Errors
/// Values that the type has not.
pub(crate) fn converted(array: &ArrayRef, ty: LogicalType) -> Result<ArrayRef, ArrowError> {
    let wanted = ty.arrow();
    let array = match (array.data_type(), &wanted) {
        (from, to) if from == to => array.clone(),
        (DataType::Timestamp(_, Some(_)), _) => instants(array)?,
        // Two steps: there is no cast between the two.
        (DataType::FixedSizeBinary(_), DataType::BinaryView) => {
            exactly(&exactly(array, &DataType::Binary)?, &wanted)?
        }
        _ => exactly(array, &wanted)?,
    };
    checked(&array, ty)?;
    Ok(array)
}

/// Fails where a value does not fit, which would be a null otherwise.
pub(crate) fn exactly(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(array, ty, &CastOptions { safe: false, ..CastOptions::default() })
}

/// Instants are the same numbers in all zones.
fn instants(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let DataType::Timestamp(_, zone) = array.data_type() else { return Ok(array.clone()) };
    let micros = exactly(array, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
    let micros = micros.as_primitive::<TimestampMicrosecondType>().clone();
    Ok(Arc::new(micros.with_timezone(UTC)))
}

/// What vectors of our types promise, and those of a damaged file may not keep.
fn checked(array: &ArrayRef, ty: LogicalType) -> Result<(), ArrowError> {
    match ty {
        LogicalType::Decimal { precision, .. } => {
            array.as_primitive::<Decimal128Type>().validate_decimal_precision(precision)
        }
        LogicalType::Time => {
            let times = array.as_primitive::<Time64MicrosecondType>();
            match times.iter().flatten().all(|time| (0..=DAY_US).contains(&time)) {
                true => Ok(()),
                false => Err(ArrowError::ParseError("a time of day out of range".to_owned())),
            }
        }
        _ => Ok(()),
    }
}
