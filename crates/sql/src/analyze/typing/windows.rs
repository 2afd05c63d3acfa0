//! The types of window functions' values.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, LogicalPlan, Window};

use crate::analyze::exact_sum::widen_sums;
use crate::walk::nodes::erased;

/// The node with sums as wide as they get, for what stands above goes by their types.
pub(crate) fn typed(window: Window) -> Result<LogicalPlan> {
    let input = Arc::clone(window.input.schema());
    let plan = LogicalPlan::Window(window);
    let names = NamePreserver::new(&plan);
    let widened = plan.map_expressions(erased(&mut |expr: Expr| {
        let name = names.save(&expr);
        Ok(Transformed::yes(name.restore(widen_sums(expr, &input)?)))
    }))?;
    widened.data.recompute_schema()
}
