//! Constants as ones of another type, where that changes nothing of them.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;

/// `value` as type `ty`, if nothing is lost by it.
pub(crate) fn exactly(value: &ScalarValue, ty: &DataType) -> Option<ScalarValue> {
    if value.is_null() || matches!(ty, DataType::Float32 | DataType::Float64) {
        return None;
    }
    if value.data_type() == *ty {
        return Some(value.clone());
    }
    let there = value.cast_to(ty).ok()?;
    let back = there.cast_to(&value.data_type()).ok()?;
    (back == *value && !there.is_null()).then_some(there)
}
