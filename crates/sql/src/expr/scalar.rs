//! Bound scalar expressions, compiled.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_physical_expr::expressions::CastExpr;
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use plan::expr::{Costs, Expr};
use plan::limits;
use types::SqlResult;

use crate::cast::strict::STRICT_CAST;
use crate::error::{from_arrow, from_library};
use crate::expr::{exact, library, measured, ordered, slow, typed};

/// A constant.
pub(crate) fn literal(value: ScalarValue) -> Expr {
    let text = crate::render::literal(&value);
    Expr::literal(value, &text)
}

/// Compiles a bound and coerced expression over rows of `schema`.
pub(crate) fn compile(expr: &datafusion_expr::Expr, schema: &DFSchema) -> SqlResult<Expr> {
    let text = crate::render::expression(expr);
    let physical = compile_physical(expr, schema)?;
    let physical = typed::replace(physical, schema.as_arrow()).map_err(from_library)?;
    let measured = measured::measured(physical, schema.as_arrow()).map_err(from_library)?;
    let ty = measured.data.data_type(schema.as_arrow()).map_err(from_library)?;
    let costs = Costs { is_slow: slow::is_slow(expr), makes_values: measured.transformed };
    Ok(library::of(measured.data, ty, &text, costs))
}

/// The same value as another type; an error where a value does not fit.
pub(crate) fn cast(expr: Expr, ty: &DataType) -> Expr {
    if expr.data_type() == ty {
        return expr;
    }
    let physical = library::physical(&expr);
    as_type(expr, physical, ty)
}

/// The expression with the value of another one, cast.
pub(crate) fn as_type(expr: Expr, physical: Arc<dyn PhysicalExpr>, ty: &DataType) -> Expr {
    let cast = Arc::new(CastExpr::new(physical, ty.clone(), Some(STRICT_CAST)));
    expr.with_form(library::form(cast, ty), ty.clone())
}

/// The value of a bound expression without columns.
pub(crate) fn constant(expr: &datafusion_expr::Expr) -> SqlResult<ScalarValue> {
    let compiled = compile(expr, &DFSchema::empty())?;
    let one_row = RecordBatchOptions::new().with_row_count(Some(1));
    let schema = Arc::new(Schema::empty());
    let batch = RecordBatch::try_new_with_options(schema, vec![], &one_row).map_err(from_arrow)?;
    let array = limits::folding(|| compiled.evaluate(&batch))?;
    ScalarValue::try_from_array(&array, 0).map_err(from_library)
}

/// The library's physical expression, made exact.
pub(crate) fn compile_physical(
    expr: &datafusion_expr::Expr,
    schema: &DFSchema,
) -> SqlResult<Arc<dyn PhysicalExpr>> {
    let context = PhysicalPlanningContext::default();
    let physical = create_physical_expr(expr, schema, &ExecutionProps::new(), &context)
        .map_err(from_library)?;
    let exact = exact::harden(physical, schema.as_arrow()).map_err(from_library)?;
    ordered::keep(exact, schema.as_arrow()).map_err(from_library)
}
