//! Single values: bounds of columns, and what a partition has in common.

use crate::schema::Type;

/// A value of a primitive type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `boolean`
    Boolean(bool),
    /// `int`
    Int(i32),
    /// `long`
    Long(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `decimal`, without the point of its type.
    Decimal(i128),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01, of a clock without a zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 in UTC.
    TimestampTz(i64),
    /// `string`
    String(String),
    /// `uuid`
    Uuid([u8; 16]),
    /// `binary` and `fixed`
    Binary(Vec<u8>),
}

impl Value {
    /// Reads the binary form of the specification's appendix D. Bytes of a type that has been promoted since are
    /// read as what they were. `None` for what is no value of the type: it says nothing.
    pub fn from_bytes(ty: &Type, bytes: &[u8]) -> Option<Value> {
        Some(match ty {
            Type::Boolean => Value::Boolean(*bytes.first()? != 0),
            Type::Int => Value::Int(int(bytes)?),
            Type::Long if bytes.len() == 4 => Value::Long(int(bytes)?.into()),
            Type::Long => Value::Long(long(bytes)?),
            Type::Float => Value::Float(f32::from_le_bytes(bytes.try_into().ok()?)),
            Type::Double if bytes.len() == 4 => {
                Value::Double(f32::from_le_bytes(bytes.try_into().ok()?).into())
            }
            Type::Double => Value::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
            Type::Decimal { .. } => Value::Decimal(unscaled(bytes)?),
            Type::Date => Value::Date(int(bytes)?),
            Type::Time => Value::Time(long(bytes)?),
            Type::Timestamp => Value::Timestamp(long(bytes)?),
            Type::TimestampTz => Value::TimestampTz(long(bytes)?),
            Type::String => Value::String(std::str::from_utf8(bytes).ok()?.to_owned()),
            Type::Uuid => Value::Uuid(bytes.try_into().ok()?),
            Type::Binary | Type::Fixed(_) => Value::Binary(bytes.to_vec()),
            Type::Unreadable(_) => return None,
        })
    }
}

fn int(bytes: &[u8]) -> Option<i32> {
    Some(i32::from_le_bytes(bytes.try_into().ok()?))
}

fn long(bytes: &[u8]) -> Option<i64> {
    Some(i64::from_le_bytes(bytes.try_into().ok()?))
}

/// The number in so many bytes of a decimal, the highest first.
pub(crate) fn unscaled(bytes: &[u8]) -> Option<i128> {
    let (first, fill) = (*bytes.first()?, size_of::<i128>().checked_sub(bytes.len())?);
    let mut whole = [if first < 0x80 { 0 } else { 0xff }; size_of::<i128>()];
    whole[fill..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(whole))
}

#[cfg(test)]
mod tests;
