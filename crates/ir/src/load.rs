//! Vectors of a batch as values of a program.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal64Type, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BooleanArray, StringViewArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};
use stdx::Vectors;

use crate::floats::Floats;
use crate::kernels;
use crate::refused::Refused;
use crate::words::Words;

/// A vector while a program runs.
#[derive(Clone, Debug)]
pub enum Value {
    /// Whole numbers, dates, decimals.
    Words(Words),
    /// Floats of 64 bits.
    Floats(Floats),
    /// Booleans.
    Truths(BooleanArray),
    /// Strings.
    Texts(StringViewArray),
}

impl Value {
    /// Whether vectors of this type can be loaded.
    pub fn is_loadable(ty: &DataType) -> bool {
        Value::is_words(ty)
            || matches!(ty, DataType::Boolean | DataType::Utf8View | DataType::Float64)
    }

    /// Whether vectors of this type are words.
    pub fn is_words(ty: &DataType) -> bool {
        matches!(
            ty,
            DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::Date32
                | DataType::Decimal128(..)
                | DataType::Timestamp(TimeUnit::Microsecond, _)
        )
    }

    /// The vector as a value. Decimals may be of 64 bits already.
    ///
    /// # Errors
    /// [`Refused`] for a type that is not loadable, and for decimals that do not fit 64 bits.
    pub fn load(array: &ArrayRef) -> Result<Value, Refused> {
        let values = match array.data_type() {
            DataType::Boolean => return Ok(Value::Truths(array.as_boolean().clone())),
            DataType::Utf8View => return Ok(Value::Texts(array.as_string_view().clone())),
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>().values().clone();
                return Ok(Value::Floats(Floats { values, nulls: array.nulls().cloned() }));
            }
            DataType::Int16 => widened::<Int16Type>(array),
            DataType::Int32 => widened::<Int32Type>(array),
            DataType::Date32 => widened::<Date32Type>(array),
            DataType::Int64 => array.as_primitive::<Int64Type>().values().clone(),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                array.as_primitive::<TimestampMicrosecondType>().values().clone()
            }
            DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().values().clone(),
            DataType::Decimal128(..) => {
                narrowed(array.as_primitive::<Decimal128Type>().values())?.into()
            }
            _ => return Err(Refused),
        };
        Ok(Value::Words(Words { values, nulls: array.nulls().cloned() }))
    }
}

fn widened<T: ArrowPrimitiveType>(array: &ArrayRef) -> ScalarBuffer<i64>
where
    T::Native: Into<i64>,
{
    array.as_primitive::<T>().values().iter().map(|v| (*v).into()).collect()
}

/// The lower halves, if they are all.
fn narrowed(values: &[i128]) -> Result<Vec<i64>, Refused> {
    match kernels::halves(Vectors::widest(), values) {
        (halves, true) => Ok(halves),
        (_, false) => Err(Refused),
    }
}
