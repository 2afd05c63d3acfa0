//! Values of rows and of parameters, each in the form that the machine has for it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type, IntervalMonthDayNano};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, StringViewArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, UInt32Array, new_null_array,
};

use crate::array::{parse_bytes, parse_uuid};
use crate::cells::{Cells, Value, word_of_float};
use crate::datetime::{
    parse_date, parse_interval, parse_time, parse_timestamp, parse_timestamptz, speaks_of_now,
};
use crate::error::SqlResult;
use crate::logical::{Column, LogicalType, UTC};
use crate::parse::{self, ColumnParser};
use crate::text::format_value;
use crate::zone;

/// A value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Datum {
    /// Null.
    #[default]
    Null,
    /// Of `boolean`.
    Bool(bool),
    /// Of a type of whole numbers, `oid` among them.
    Int(i64),
    /// Of a type of floating numbers.
    Float(f64),
    /// A text, or a value of any other type as SQL writes it.
    Text(String),
    /// Of `date`: days since 1970.
    Date(i32),
    /// Of `time`: microseconds since midnight.
    Time(i64),
    /// Of `timestamp` or `timestamptz`: microseconds since 1970, of an instant in UTC.
    Timestamp(i64),
    /// Of `interval`.
    Interval(IntervalMonthDayNano),
    /// Of `bytea`.
    Bytes(Vec<u8>),
    /// Of `uuid`.
    Uuid([u8; 16]),
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(None).as_deref().unwrap_or("null"))
    }
}

impl Datum {
    /// The value of a type that a text is. A number with a point, an array, and a time that depends
    /// on the moment stay texts: how many digits there are, and which moment it is, is told later.
    ///
    /// # Errors
    /// A value of a text. Errors as in PostgreSQL: 22P02, 22003, 22007, 22008.
    pub fn read(ty: LogicalType, text: &str) -> SqlResult<Datum> {
        use LogicalType as T;
        Ok(match ty {
            T::Bool => Datum::Bool(parse::parse_bool(text)?),
            T::Int16 => Datum::Int(parse::parse_integer::<i16>(text, ty)?.into()),
            T::Int32 => Datum::Int(parse::parse_integer::<i32>(text, ty)?.into()),
            T::Int64 => Datum::Int(parse::parse_integer(text, ty)?),
            T::Oid => Datum::Int(parse::parse_integer::<u32>(text, ty)?.into()),
            T::Float32 => Datum::Float(parse::parse_float::<Float32Type>(text, ty)?.into()),
            T::Float64 => Datum::Float(parse::parse_float::<Float64Type>(text, ty)?),
            T::Bytea => Datum::Bytes(parse_bytes(text)?),
            T::Uuid => Datum::Uuid(parse_uuid(text)?),
            T::Date if !speaks_of_now(text) => Datum::Date(parse_date(text)?),
            T::Time if !speaks_of_now(text) => Datum::Time(parse_time(text)?),
            T::Timestamp if !speaks_of_now(text) => Datum::Timestamp(parse_timestamp(text)?),
            T::TimestampTz if !speaks_of_now(text) => Datum::Timestamp(parse_timestamptz(text)?),
            T::Interval => Datum::Interval(parse_interval(text)?),
            _ => Datum::Text(text.to_owned()),
        })
    }

    /// True if it is null.
    pub fn is_null(&self) -> bool {
        *self == Datum::Null
    }

    /// True if it is a value of the type in the form that the machine has for that; null is.
    pub fn is_of(&self, ty: LogicalType) -> bool {
        use LogicalType as T;
        match (self, ty.plain()) {
            (Datum::Null, _) => true,
            (Datum::Int(value), T::Int16) => i16::try_from(*value).is_ok(),
            (Datum::Int(value), T::Int32) => i32::try_from(*value).is_ok(),
            (Datum::Int(value), T::Oid) => u32::try_from(*value).is_ok(),
            (Datum::Float(value), T::Float32) => is_single(*value),
            (Datum::Bool(_), T::Bool)
            | (Datum::Int(_), T::Int64)
            | (Datum::Float(_), T::Float64)
            | (Datum::Text(_), T::Text | T::Varchar(_) | T::Char(_))
            | (Datum::Date(_), T::Date)
            | (Datum::Time(_), T::Time)
            | (Datum::Timestamp(_), T::Timestamp | T::TimestampTz)
            | (Datum::Interval(_), T::Interval)
            | (Datum::Bytes(_), T::Bytea)
            | (Datum::Uuid(_), T::Uuid) => true,
            _ => false,
        }
    }

    /// The value where it is one of the type, and else its text, which says what is wrong when it
    /// is read.
    pub fn of_type(self, ty: Option<LogicalType>) -> Datum {
        match &self {
            Datum::Null | Datum::Text(_) => self,
            _ if ty.is_some_and(|ty| self.is_of(ty)) => self,
            _ => self.text(None).map_or(Datum::Null, |text| Datum::Text(text.into_owned())),
        }
    }

    /// As SQL writes a value of the type, an instant in UTC; `None` is null.
    pub fn text(&self, ty: Option<LogicalType>) -> Option<Cow<'_, str>> {
        Some(match self {
            Datum::Null => return None,
            Datum::Text(value) => Cow::Borrowed(value),
            Datum::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
            Datum::Int(value) => Cow::Owned(value.to_string()),
            Datum::Float(value) => Cow::Owned(float(*value, ty == Some(LogicalType::Float32))),
            Datum::Date(_)
            | Datum::Time(_)
            | Datum::Timestamp(_)
            | Datum::Interval(_)
            | Datum::Bytes(_)
            | Datum::Uuid(_) => {
                let _entered = zone::enter(zone::Context::default());
                Cow::Owned(format_value(&self.formed(ty)?, 0)?)
            }
        })
    }

    /// Appends the value to the row that is being made, as one of the type.
    ///
    /// # Errors
    /// Those of reading a text that is no value of the type.
    pub fn push(&self, ty: LogicalType, rows: &mut Cells) -> SqlResult<()> {
        let value = match self {
            _ if ty.has_limit() || !self.is_of(ty) => {
                return rows.push_of(self.vector(ty)?.as_ref(), 0);
            }
            Datum::Null => Value::Null,
            Datum::Bool(value) => Value::Word((*value).into()),
            Datum::Int(value) | Datum::Time(value) | Datum::Timestamp(value) => Value::Word(*value),
            Datum::Float(value) => Value::Word(word_of_float(*value)),
            Datum::Date(days) => Value::Word((*days).into()),
            Datum::Text(text) => Value::Bytes(text.as_bytes()),
            Datum::Bytes(bytes) => Value::Bytes(bytes),
            Datum::Uuid(bytes) => Value::Bytes(bytes),
            Datum::Interval(_) => return rows.push_of(self.vector(ty)?.as_ref(), 0),
        };
        rows.push(value);
        Ok(())
    }

    /// A vector of the type with this value.
    ///
    /// # Errors
    /// The value as a vector of one row. Errors: those of reading a text that is no value of the
    /// type.
    pub fn vector(&self, ty: LogicalType) -> SqlResult<ArrayRef> {
        if self.is_null() {
            return Ok(new_null_array(&ty.arrow(), 1));
        }
        if self.is_of(ty)
            && !ty.has_limit()
            && let Some(vector) = self.formed(Some(ty))
        {
            return Ok(vector);
        }
        let mut parser = ColumnParser::new(&Column { name: String::new(), ty, nullable: true });
        parser.push(self.text(Some(ty)).as_deref())?;
        Ok(parser.finish())
    }

    /// A vector of the form that the machine has for it; of numbers, the one of the type.
    fn formed(&self, ty: Option<LogicalType>) -> Option<ArrayRef> {
        Some(match self {
            Datum::Null => return None,
            Datum::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
            Datum::Int(value) => whole(*value, ty?)?,
            Datum::Float(value) if ty == Some(LogicalType::Float32) => {
                Arc::new(Float32Array::from(vec![*value as f32]))
            }
            Datum::Float(value) => Arc::new(Float64Array::from(vec![*value])),
            Datum::Text(value) => Arc::new(StringViewArray::from(vec![value.as_str()])),
            Datum::Date(days) => Arc::new(Date32Array::from(vec![*days])),
            Datum::Time(micros) => Arc::new(Time64MicrosecondArray::from(vec![*micros])),
            Datum::Timestamp(micros) => {
                let zone = (ty == Some(LogicalType::TimestampTz)).then_some(UTC);
                let array = TimestampMicrosecondArray::from(vec![*micros]);
                Arc::new(array.with_timezone_opt(zone))
            }
            Datum::Interval(value) => Arc::new(IntervalMonthDayNanoArray::from(vec![*value])),
            Datum::Bytes(value) => Arc::new(BinaryViewArray::from(vec![value.as_slice()])),
            Datum::Uuid(value) => {
                Arc::new(FixedSizeBinaryArray::new(16, value.to_vec().into(), None))
            }
        })
    }
}

/// A vector of a type of whole numbers.
fn whole(value: i64, ty: LogicalType) -> Option<ArrayRef> {
    Some(match ty {
        LogicalType::Int16 => Arc::new(Int16Array::from(vec![i16::try_from(value).ok()?])),
        LogicalType::Int32 => Arc::new(Int32Array::from(vec![i32::try_from(value).ok()?])),
        LogicalType::Int64 => Arc::new(Int64Array::from(vec![value])),
        LogicalType::Oid => Arc::new(UInt32Array::from(vec![u32::try_from(value).ok()?])),
        _ => return None,
    })
}

/// True if a number is one of `real`.
fn is_single(value: f64) -> bool {
    value.is_nan() || f64::from(value as f32) == value
}

/// The shortest digits that say the number.
fn float(value: f64, is_single: bool) -> String {
    match value.is_infinite() {
        true if value > 0.0 => "Infinity".to_owned(),
        true => "-Infinity".to_owned(),
        false if is_single => format!("{:?}", value as f32),
        false => format!("{value:?}"),
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Datum {
        Datum::Bool(value)
    }
}

impl From<i32> for Datum {
    fn from(value: i32) -> Datum {
        Datum::Int(value.into())
    }
}

impl From<i64> for Datum {
    fn from(value: i64) -> Datum {
        Datum::Int(value)
    }
}

impl From<f64> for Datum {
    fn from(value: f64) -> Datum {
        Datum::Float(value)
    }
}

impl From<&str> for Datum {
    fn from(value: &str) -> Datum {
        Datum::Text(value.to_owned())
    }
}

impl From<String> for Datum {
    fn from(value: String) -> Datum {
        Datum::Text(value)
    }
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Datum {
        value.map_or(Datum::Null, Into::into)
    }
}

#[cfg(test)]
mod tests;
