//! The average of decimals: an exact sum, divided once and rounded.

use arrow_array::ArrayRef;
use arrow_array::Int64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};

/// `sums / counts`; null where nothing was counted.
pub(super) fn divide(sums: &ArrayRef, counts: &ArrayRef) -> Result<ArrayRef> {
    let counts = counts.as_primitive::<Int64Type>();
    let some = |count: Option<i64>| count.filter(|c| *c != 0);
    let counts: Int64Array = counts.iter().map(some).collect();
    let counts = arrow_cast::cast(&counts, &DataType::Decimal128(19, 0))?;
    types::numeric::divide(sums.as_ref(), counts.as_ref())
        .map_err(|e| DataFusionError::External(Box::new(e)))
}
