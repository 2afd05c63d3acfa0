//! The average of decimals: an exact sum, divided once and rounded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, Decimal256Array, Int64Array, PrimitiveArray};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType;
use types::SqlResult;
use types::numeric::{QUOTIENT, QUOTIENT_SCALE};

use crate::error::from_arrow;

/// `sums / counts`; null where nothing was counted.
pub(super) fn divide(sums: &ArrayRef, counts: &ArrayRef) -> SqlResult<ArrayRef> {
    let counts = counts.as_primitive::<Int64Type>();
    if let Some(averages) = divide_narrow(sums, counts) {
        return Ok(averages);
    }
    let some = |count: Option<i64>| count.filter(|c| *c != 0);
    let counts: Int64Array = counts.iter().map(some).collect();
    let counts = arrow_cast::cast(&counts, &DataType::Decimal128(19, 0)).map_err(from_arrow)?;
    types::numeric::divide(sums.as_ref(), counts.as_ref())
}

/// The same in 128 bits, which is enough for all but very large sums; `None` if it is not.
fn divide_narrow(sums: &ArrayRef, counts: &PrimitiveArray<Int64Type>) -> Option<ArrayRef> {
    let DataType::Decimal128(_, scale) = sums.data_type() else { return None };
    let shift = u32::try_from(i32::from(QUOTIENT_SCALE) - i32::from(*scale)).ok()?;
    let factor = 10_i128.checked_pow(shift)?;
    let sums = sums.as_primitive::<Decimal128Type>();
    let counted: NullBuffer = counts.values().iter().map(|count| *count != 0).collect();
    let nulls = [sums.nulls(), counts.nulls(), Some(&counted)];
    let nulls = nulls.into_iter().fold(None, |all, one| NullBuffer::union(all.as_ref(), one));
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let mut averages = Vec::with_capacity(sums.len());
    for (row, (sum, count)) in sums.values().iter().zip(counts.values()).enumerate() {
        let average = if is_null(row) { 0 } else { rounded(sum.checked_mul(factor)?, *count) };
        averages.push(i256::from_i128(average));
    }
    let averages = Decimal256Array::new(averages.into(), nulls.filter(|n| n.null_count() > 0));
    Some(Arc::new(averages.with_data_type(QUOTIENT)))
}

/// `number / count`, rounded half away from zero; the count is positive.
fn rounded(number: i128, count: i64) -> i128 {
    let count = i128::from(count);
    let (whole, rest) = (number / count, number % count);
    let is_up = rest.abs() >= count - rest.abs();
    if is_up { whole + rest.signum() } else { whole }
}

#[cfg(test)]
mod tests;
