//! Single values of system relations and functions, and columns made of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::{LogicalType, SqlError, SqlResult};

use crate::error::from_library;

/// A value of a system relation or function.
#[derive(Clone, Debug, PartialEq)]
pub enum SystemValue {
    /// Null.
    Null,
    /// `boolean`
    Bool(bool),
    /// Whole numbers of all widths, and oids.
    Int(i64),
    /// `real` and `double precision`
    Float(f64),
    /// `text`, `name`, `"char"`
    Text(String),
    /// A `uuid` or `bytea`.
    Bytes(Vec<u8>),
    /// An array.
    List(Vec<SystemValue>),
}

impl From<bool> for SystemValue {
    fn from(value: bool) -> SystemValue {
        SystemValue::Bool(value)
    }
}

impl From<i64> for SystemValue {
    fn from(value: i64) -> SystemValue {
        SystemValue::Int(value)
    }
}

impl From<&str> for SystemValue {
    fn from(value: &str) -> SystemValue {
        SystemValue::Text(value.to_owned())
    }
}

impl From<String> for SystemValue {
    fn from(value: String) -> SystemValue {
        SystemValue::Text(value)
    }
}

impl<T: Into<SystemValue>> From<Option<T>> for SystemValue {
    fn from(value: Option<T>) -> SystemValue {
        value.map_or(SystemValue::Null, Into::into)
    }
}

impl SystemValue {
    /// The number, or the number that a text spells.
    pub fn int(&self) -> Option<i64> {
        match self {
            SystemValue::Int(v) => Some(*v),
            SystemValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// The text.
    pub fn text(&self) -> Option<&str> {
        match self {
            SystemValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value at `row` of a vector.
    pub(crate) fn at(array: &dyn Array, row: usize) -> SqlResult<SystemValue> {
        if array.is_null(row) {
            return Ok(SystemValue::Null);
        }
        if let DataType::List(_) = array.data_type() {
            let items = array.as_list::<i32>().value(row);
            let items = (0..items.len()).map(|i| SystemValue::at(items.as_ref(), i));
            return Ok(SystemValue::List(items.collect::<SqlResult<_>>()?));
        }
        let value = ScalarValue::try_from_array(array, row).map_err(from_library)?;
        Ok(SystemValue::of_scalar(&value))
    }

    fn of_scalar(value: &ScalarValue) -> SystemValue {
        match value {
            ScalarValue::Boolean(v) => (*v).into(),
            ScalarValue::Int8(v) => v.map(i64::from).into(),
            ScalarValue::Int16(v) => v.map(i64::from).into(),
            ScalarValue::Int32(v) => v.map(i64::from).into(),
            ScalarValue::Int64(v) => (*v).into(),
            ScalarValue::UInt32(v) => v.map(i64::from).into(),
            ScalarValue::Utf8(v) | ScalarValue::Utf8View(v) | ScalarValue::LargeUtf8(v) => {
                v.as_deref().into()
            }
            ScalarValue::Float64(v) => v.map_or(SystemValue::Null, SystemValue::Float),
            // Sizes are numeric where they are summed.
            ScalarValue::Decimal128(Some(v), _, scale) => {
                let digits = types::text::decimal(*v, *scale);
                digits.parse().map_or(SystemValue::Text(digits), SystemValue::Float)
            }
            other if other.is_null() => SystemValue::Null,
            other => SystemValue::Text(other.to_string()),
        }
    }

    fn scalar(&self, ty: &DataType) -> SqlResult<ScalarValue> {
        let value = match (self, ty) {
            (SystemValue::Null, _) => ScalarValue::try_from(ty).map_err(from_library)?,
            (SystemValue::List(items), DataType::List(field)) => {
                let items = items.iter().map(|i| i.scalar(field.data_type()));
                let items = items.collect::<SqlResult<Vec<_>>>()?;
                ScalarValue::List(ScalarValue::new_list_nullable(&items, field.data_type()))
            }
            (SystemValue::Bytes(v), DataType::FixedSizeBinary(width)) => {
                ScalarValue::FixedSizeBinary(*width, Some(v.clone()))
            }
            (SystemValue::Bytes(v), _) => ScalarValue::BinaryView(Some(v.clone())),
            (SystemValue::Bool(v), DataType::Boolean) => ScalarValue::Boolean(Some(*v)),
            (SystemValue::Float(v), _) => ScalarValue::Float64(Some(*v)),
            (SystemValue::Int(v), _) => ScalarValue::Int64(Some(*v)),
            (SystemValue::Text(v), _) => ScalarValue::Utf8View(Some(v.clone())),
            _ => return Err(SqlError::internal(format!("{self:?} is no {ty}"))),
        };
        if value.data_type() == *ty { Ok(value) } else { value.cast_to(ty).map_err(from_library) }
    }
}

/// A vector of `values`, which must fit the type.
pub fn system_column(values: &[SystemValue], ty: LogicalType) -> SqlResult<ArrayRef> {
    let ty = ty.arrow();
    if values.is_empty() {
        return Ok(new_empty_array(&ty));
    }
    let scalars = values.iter().map(|v| v.scalar(&ty)).collect::<SqlResult<Vec<_>>>()?;
    let array = ScalarValue::iter_to_array(scalars).map_err(from_library)?;
    if array.data_type() == &ty {
        return Ok(array);
    }
    arrow_cast::cast(&array, &ty).map(|a| Arc::clone(&a)).map_err(crate::error::from_arrow)
}
