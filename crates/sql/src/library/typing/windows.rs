//! The types of window functions' values.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Window, cast};

use crate::library::widen_sums;

/// The node with sums as wide as they get, for what stands above goes by their types.
pub(super) fn typed(window: Window) -> Result<LogicalPlan> {
    let input = Arc::clone(window.input.schema());
    let plan = LogicalPlan::Window(window);
    let names = NamePreserver::new(&plan);
    let widened = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(Transformed::yes(name.restore(widen_sums(expr, &input)?)))
    })?;
    counted(widened.data.recompute_schema()?)
}

/// Ranks are signed.
fn counted(plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    if schema.fields().iter().all(|f| f.data_type() != &DataType::UInt64) {
        return Ok(plan);
    }
    let exprs = schema.iter().map(|(qualifier, field)| {
        let column = Expr::Column((qualifier, field).into());
        match field.data_type() {
            DataType::UInt64 => {
                cast(column, DataType::Int64).alias_qualified(qualifier.cloned(), field.name())
            }
            _ => column,
        }
    });
    let exprs: Vec<Expr> = exprs.collect();
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}
