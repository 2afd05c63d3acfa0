//! Values that are compared with those of a subquery: `IN`, `ANY` and `ALL`.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::expr::{InSubquery, SetComparison};
use datafusion_expr::{Expr, ExprSchemable, LogicalPlanBuilder, Subquery, cast};

/// A value and the subquery whose values it is compared with. Beside floats exact numbers are double
/// precision, as they are for operators: the library makes exact numbers of floats, which have no infinity.
pub(crate) fn member(mut test: InSubquery, schema: &DFSchema) -> Result<InSubquery> {
    align(&mut test.expr, &mut test.subquery, schema)?;
    Ok(test)
}

/// The same for `ANY` and `ALL`.
pub(crate) fn compared(mut test: SetComparison, schema: &DFSchema) -> Result<SetComparison> {
    align(&mut test.expr, &mut test.subquery, schema)?;
    Ok(test)
}

fn align(value: &mut Expr, subquery: &mut Subquery, schema: &DFSchema) -> Result<()> {
    let ours = value.get_type(schema)?;
    let rows = subquery.subquery.schema();
    if rows.fields().len() != 1 {
        return Ok(());
    }
    let (qualifier, field) = rows.qualified_field(0);
    let theirs = field.data_type();
    let has_floats = ours.is_floating() || theirs.is_floating();
    if ours == *theirs || !has_floats || !ours.is_numeric() || !theirs.is_numeric() {
        return Ok(());
    }
    if *theirs != DataType::Float64 {
        let column = cast(Expr::Column((qualifier, field).into()), DataType::Float64);
        let column = column.alias_qualified(qualifier.cloned(), field.name());
        let plan = LogicalPlanBuilder::from(Arc::clone(&subquery.subquery)).project([column])?;
        subquery.subquery = Arc::new(plan.build()?);
    }
    if ours != DataType::Float64 {
        *value = cast(std::mem::take(value), DataType::Float64);
    }
    Ok(())
}
