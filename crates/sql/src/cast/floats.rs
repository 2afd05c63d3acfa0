//! Casts of decimals to floating point numbers: the nearest one, as if it had been read from the
//! text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::DataType;
use datafusion_common::Result;
use types::text::format_value;

use crate::cast::strict::STRICT_CAST;
use crate::cast::text::cast_text;

/// True if a cast leads from a decimal to a floating point number.
pub(crate) fn applies(from: &DataType, to: &DataType) -> bool {
    matches!(from, DataType::Decimal128(..) | DataType::Decimal256(..)) && to.is_floating()
}

/// Values of any type as another one, decimals as the nearest floating point numbers.
///
/// # Errors
/// A cast as the library does it, with 22003 as its error.
pub(crate) fn cast_exactly(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    match applies(array.data_type(), to) {
        true => cast_decimals(array, to),
        false => Ok(arrow_cast::cast_with_options(array, to, &STRICT_CAST)?),
    }
}

/// The largest whole number up to which double precision has all.
const WHOLE_MAX: u128 = 1 << 53;

/// The largest power of ten that double precision has.
const POWER_MAX: i8 = 22;

/// The values cast.
///
/// # Errors
/// 22003 for what is out of range.
pub(crate) fn cast_decimals(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let (DataType::Decimal128(_, scale @ 0..=POWER_MAX), DataType::Float64) =
        (array.data_type(), to)
    else {
        return cast_text(array, to);
    };
    let unit = 10f64.powi(i32::from(*scale));
    let decimals = array.as_primitive::<Decimal128Type>();
    let float = |row: usize| -> Option<f64> {
        let whole = decimals.is_valid(row).then(|| decimals.value(row))?;
        // A quotient of two numbers that are exact is rounded once.
        match whole.unsigned_abs() <= WHOLE_MAX {
            true => Some(whole as f64 / unit),
            false => format_value(array.as_ref(), row)?.parse().ok(),
        }
    };
    Ok(Arc::new((0..array.len()).map(float).collect::<Float64Array>()))
}
