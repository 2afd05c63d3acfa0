//! Values that the library compares otherwise than PostgreSQL, or not at all.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::{Expr, ExprSchemable};

/// True if the library puts values of the type in another order.
pub(super) fn is_ordered_by_us(ty: &DataType) -> bool {
    matches!(ty, DataType::Interval(_) | DataType::List(_))
}

/// True if some are of the type that the library has no table of constants for, and fails.
pub(super) fn has_uuids(values: &[Expr], schema: &DFSchema) -> Result<bool> {
    let types = values.iter().map(|value| value.get_type(schema));
    let types = types.collect::<Result<Vec<_>>>()?;
    Ok(types.iter().any(|ty| matches!(ty, DataType::FixedSizeBinary(_))))
}

/// True if the library's equality is another one for some of the values.
pub(super) fn are_compared_by_us(values: &[Expr], schema: &DFSchema) -> Result<bool> {
    let types = values.iter().map(|value| value.get_type(schema));
    let types = types.collect::<Result<Vec<_>>>()?;
    Ok(types.iter().any(|ty| ty.is_floating() || is_ordered_by_us(ty)))
}
