//! Values of a program as vectors of a batch.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal64Type, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

use crate::floats::Floats;
use crate::load::Value;
use crate::refused::Refused;
use crate::words::Words;

impl Value {
    /// The value as a vector of that type.
    ///
    /// # Errors
    /// [`Refused`] where the type is not one of the value's, or a word does not fit it.
    pub fn into_array(self, ty: &DataType) -> Result<ArrayRef, Refused> {
        match (self, ty) {
            (Value::Truths(truths), DataType::Boolean) => Ok(Arc::new(truths)),
            (Value::Texts(texts), DataType::Utf8View) => Ok(Arc::new(texts)),
            (Value::Floats(Floats { values, nulls }), DataType::Float64) => {
                Ok(Arc::new(PrimitiveArray::<Float64Type>::new(values, nulls)))
            }
            (Value::Words(words), ty) => words.into_array(ty),
            _ => Err(Refused),
        }
    }
}

impl Words {
    fn into_array(self, ty: &DataType) -> Result<ArrayRef, Refused> {
        let Words { values, nulls } = self;
        Ok(match ty {
            DataType::Int64 => Arc::new(PrimitiveArray::<Int64Type>::new(values, nulls)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let array = PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls);
                Arc::new(array.with_data_type(ty.clone()))
            }
            DataType::Decimal64(..) => {
                let array = PrimitiveArray::<Decimal64Type>::new(values, nulls);
                Arc::new(array.with_data_type(ty.clone()))
            }
            DataType::Decimal128(..) => {
                let wide: Vec<i128> = values.iter().map(|v| i128::from(*v)).collect();
                let array = PrimitiveArray::<Decimal128Type>::new(wide.into(), nulls);
                Arc::new(array.with_data_type(ty.clone()))
            }
            DataType::Int16 => {
                let values: Vec<i16> = narrowed(&values, i16::MIN.into(), i16::MAX.into())?;
                Arc::new(PrimitiveArray::<Int16Type>::new(values.into(), nulls))
            }
            DataType::Int32 => {
                let values: Vec<i32> = narrowed(&values, i32::MIN.into(), i32::MAX.into())?;
                Arc::new(PrimitiveArray::<Int32Type>::new(values.into(), nulls))
            }
            DataType::Date32 => {
                let values: Vec<i32> = narrowed(&values, i32::MIN.into(), i32::MAX.into())?;
                Arc::new(PrimitiveArray::<Date32Type>::new(values.into(), nulls))
            }
            _ => return Err(Refused),
        })
    }
}

fn narrowed<T: TryFrom<i64> + Default>(
    values: &[i64],
    least: i64,
    greatest: i64,
) -> Result<Vec<T>, Refused> {
    crate::words::within(values, least, greatest)?;
    Ok(values.iter().map(|v| T::try_from(*v).unwrap_or_default()).collect())
}
