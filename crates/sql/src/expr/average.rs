//! The average of decimals: an exact sum, divided once and rounded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};

use super::exact::{divide_rounded, within};

/// `sums / counts` as decimals of type `ty`; null where nothing was counted.
pub(super) fn divide(sums: &ArrayRef, counts: &ArrayRef, ty: &DataType) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = ty else {
        return Err(DataFusionError::Internal(format!("an average of type {ty}")));
    };
    let (sums, counts) =
        (sums.as_primitive::<Decimal128Type>(), counts.as_primitive::<Int64Type>());
    let shift = i32::from(*scale) - i32::from(sums.scale());
    let averages = (0..sums.len()).map(|group| {
        if sums.is_null(group) || counts.value(group) == 0 {
            return Ok(None);
        }
        let value = divide_rounded(sums.value(group), i128::from(counts.value(group)), shift)?;
        Ok(Some(within(value, *precision)?))
    });
    let array: Decimal128Array = averages.collect::<Result<_>>()?;
    Ok(Arc::new(array.with_precision_and_scale(*precision, *scale)?))
}
