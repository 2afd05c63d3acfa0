//! Values of the parameters of a plan that is kept for all of them, at one execution.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::cells::{Cells, Value, has_form, value_of};
use types::zone::Context;
use types::{SqlError, SqlResult};

/// Values and context that the expressions of such a plan are computed with.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// By their numbers; never null.
    pub values: Arc<[ScalarValue]>,
    /// The moment, zone and the like of the statement. The plan has those of another one.
    pub context: Context,
    /// The functions of the session that the plan calls, as who made the plan knows them; none
    /// where it calls none.
    pub calls: Option<Arc<dyn Any + Send + Sync>>,
}

/// The values as a row of a program. A value that has no form there is null; no program reads it.
///
/// # Errors
/// XX000.
pub fn row_of<'a>(values: impl ExactSizeIterator<Item = &'a ScalarValue>) -> SqlResult<Cells> {
    let mut row = Cells::new(values.len());
    for value in values {
        match of_constant(value) {
            Some(value) => row.push(value),
            None if has_form(&value.data_type()) => {
                let vector = value.to_array();
                let vector = vector.map_err(|error| SqlError::internal(error.to_string()))?;
                row.push(value_of(vector.as_ref(), 0)?);
            }
            None => row.push(Value::Null),
        }
    }
    row.end_row();
    Ok(row)
}

/// The value that a constant is in a row of a program, where that takes no vector.
pub fn of_constant(value: &ScalarValue) -> Option<Value<'_>> {
    Some(match value {
        ScalarValue::Boolean(Some(truth)) => Value::Word((*truth).into()),
        ScalarValue::Int16(Some(value)) => Value::Word((*value).into()),
        ScalarValue::Int32(Some(value)) | ScalarValue::Date32(Some(value)) => {
            Value::Word((*value).into())
        }
        ScalarValue::UInt32(Some(value)) => Value::Word((*value).into()),
        ScalarValue::Int64(Some(value))
        | ScalarValue::Time64Microsecond(Some(value))
        | ScalarValue::TimestampMicrosecond(Some(value), _) => Value::Word(*value),
        ScalarValue::Utf8View(Some(text)) => Value::Bytes(text.as_bytes()),
        ScalarValue::BinaryView(Some(bytes)) | ScalarValue::FixedSizeBinary(16, Some(bytes)) => {
            Value::Bytes(bytes)
        }
        _ => return None,
    })
}

/// The value of a row of a program as a constant of its type; `None` where it has no form there.
pub fn constant(value: Value<'_>, ty: &DataType) -> Option<ScalarValue> {
    match (value, ty) {
        (Value::Word(word), DataType::Int16) => Some(ScalarValue::Int16(Some(word as i16))),
        (Value::Word(word), DataType::Int32) => Some(ScalarValue::Int32(Some(word as i32))),
        (Value::Word(word), DataType::Int64) => Some(ScalarValue::Int64(Some(word))),
        (value, ty) => {
            let mut row = Cells::new(1);
            row.push(value);
            row.end_row();
            ScalarValue::try_from_array(&row.vector(0, ty).ok()?, 0).ok()
        }
    }
}
