//! The one form that all equal values of a type have, by which they are hashed, grouped, joined,
//! found and put in order.
//!
//! Most values are this form. Floats are it with one zero and one NaN, intervals as their length
//! with months of 30 days and days of 24 hours, arrays with such elements. What is shown is the
//! value itself, which the form does not give back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, Decimal128Array, ListArray};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{DataType, Field};

#[cfg(test)]
mod tests;

/// The type of the lengths of intervals, in nanoseconds.
const LENGTH: DataType = DataType::Decimal128(38, 0);

const DAY_NANOS: i128 = 86_400_000_000_000;

/// True if the type has values that are equal but look different.
pub fn has_lookalikes(ty: &DataType) -> bool {
    match ty {
        DataType::List(element) => has_lookalikes(element.data_type()),
        other => other.is_floating() || matches!(other, DataType::Interval(_)),
    }
}

/// The type of the form of such values.
pub fn canonical_type(ty: &DataType) -> DataType {
    match ty {
        DataType::Interval(_) => LENGTH,
        DataType::List(element) if has_lookalikes(ty) => {
            let element = canonical_type(element.data_type());
            DataType::List(Arc::new(Field::new_list_field(element, true)))
        }
        other => other.clone(),
    }
}

/// The form of each value. Their order is that of the values, NaN behind all others; nulls stay
/// what they are.
pub fn canonical(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => {
            let floats = values.as_primitive::<Float32Type>();
            Arc::new(
                floats.unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v + 0.0 }),
            )
        }
        DataType::Float64 => {
            let floats = values.as_primitive::<Float64Type>();
            Arc::new(
                floats.unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v + 0.0 }),
            )
        }
        DataType::Interval(_) => {
            let spans = values.as_primitive::<IntervalMonthDayNanoType>();
            let lengths: Decimal128Array = spans.unary::<_, Decimal128Type>(interval_length);
            Arc::new(lengths.with_data_type(LENGTH))
        }
        DataType::List(_) if has_lookalikes(values.data_type()) => {
            let lists = values.as_list::<i32>();
            let elements = canonical(lists.values());
            let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::new(field, offsets, elements, nulls))
        }
        _ => Arc::clone(values),
    }
}

/// The length of an interval, in nanoseconds.
pub fn interval_length(interval: IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * DAY_NANOS + i128::from(interval.nanoseconds)
}
