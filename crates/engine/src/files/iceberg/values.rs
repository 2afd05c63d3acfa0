//! Types and values of Iceberg as ours.

use iceberg::{Type, Value};
use plan::ScalarValue;
use types::{LogicalType, UTC};

/// Microseconds of a day, the last of which is 24:00.
const DAY_US: i64 = 86_400_000_000;

/// The type of a column; `Err` with its name for one that has none here.
pub(super) fn logical(ty: &Type) -> Result<LogicalType, &str> {
    Ok(match ty {
        Type::Boolean => LogicalType::Bool,
        Type::Int => LogicalType::Int32,
        Type::Long => LogicalType::Int64,
        Type::Float => LogicalType::Float32,
        Type::Double => LogicalType::Float64,
        Type::Decimal { precision, scale } => {
            LogicalType::Decimal { precision: *precision, scale: scale.cast_signed() }
        }
        Type::Date => LogicalType::Date,
        Type::Time => LogicalType::Time,
        Type::Timestamp => LogicalType::Timestamp,
        Type::TimestampTz => LogicalType::TimestampTz,
        Type::String => LogicalType::Text,
        Type::Uuid => LogicalType::Uuid,
        Type::Fixed(_) | Type::Binary => LogicalType::Bytea,
        Type::Unreadable(name) => return Err(name),
    })
}

/// A value in vectors of a type, which may have been a narrower one then than it is now; `None` for one that the type
/// has not.
pub(super) fn scalar(value: &Value, ty: LogicalType) -> Option<ScalarValue> {
    Some(match (ty, value) {
        (LogicalType::Bool, Value::Boolean(value)) => ScalarValue::Boolean(Some(*value)),
        (LogicalType::Int32, Value::Int(value)) => ScalarValue::Int32(Some(*value)),
        (LogicalType::Int32, Value::Long(value)) => {
            ScalarValue::Int32(Some(i32::try_from(*value).ok()?))
        }
        (LogicalType::Int64, Value::Int(value)) => ScalarValue::Int64(Some(i64::from(*value))),
        (LogicalType::Int64, Value::Long(value)) => ScalarValue::Int64(Some(*value)),
        (LogicalType::Float32, Value::Float(value)) => ScalarValue::Float32(Some(*value)),
        (LogicalType::Float32, Value::Double(value)) => {
            ScalarValue::Float32(Some(narrowed(*value)?))
        }
        (LogicalType::Float64, Value::Float(value)) => {
            ScalarValue::Float64(Some(f64::from(*value)))
        }
        (LogicalType::Float64, Value::Double(value)) => ScalarValue::Float64(Some(*value)),
        (LogicalType::Decimal { precision, scale }, Value::Decimal(value)) => {
            let end = 10u128.checked_pow(precision.into())?;
            value.unsigned_abs().lt(&end).then_some(())?;
            ScalarValue::Decimal128(Some(*value), precision, scale)
        }
        (LogicalType::Date, Value::Date(value)) => ScalarValue::Date32(Some(*value)),
        (LogicalType::Time, Value::Time(value)) if (0..=DAY_US).contains(value) => {
            ScalarValue::Time64Microsecond(Some(*value))
        }
        (LogicalType::Timestamp, Value::Timestamp(value)) => {
            ScalarValue::TimestampMicrosecond(Some(*value), None)
        }
        (LogicalType::TimestampTz, Value::TimestampTz(value)) => {
            ScalarValue::TimestampMicrosecond(Some(*value), Some(UTC.into()))
        }
        (LogicalType::Text, Value::String(value)) => ScalarValue::Utf8View(Some(value.clone())),
        (LogicalType::Uuid, Value::Uuid(value)) => {
            ScalarValue::FixedSizeBinary(16, Some(value.to_vec()))
        }
        (LogicalType::Bytea, Value::Binary(value)) => ScalarValue::BinaryView(Some(value.clone())),
        _ => return None,
    })
}

/// A number of 32 bits that was written in 64.
fn narrowed(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (f64::from(narrow) == value || value.is_nan()).then_some(narrow)
}

/// A value of a condition as Iceberg hashes it; `None` where it does not.
pub(super) fn value(scalar: &ScalarValue) -> Option<Value> {
    Some(match scalar {
        ScalarValue::Int32(Some(value)) => Value::Int(*value),
        ScalarValue::Int64(Some(value)) => Value::Long(*value),
        ScalarValue::Decimal128(Some(value), ..) => Value::Decimal(*value),
        ScalarValue::Date32(Some(value)) => Value::Date(*value),
        ScalarValue::Time64Microsecond(Some(value)) => Value::Time(*value),
        ScalarValue::TimestampMicrosecond(Some(value), None) => Value::Timestamp(*value),
        ScalarValue::TimestampMicrosecond(Some(value), Some(_)) => Value::TimestampTz(*value),
        ScalarValue::Utf8View(Some(value)) => Value::String(value.clone()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
