//! What the library could not decorrelate stays in the plan without an error: it is refused here.

use std::ops::ControlFlow;

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::{Expr, LogicalPlan};
use types::{SqlError, SqlResult};

use crate::walk::nodes::{Nodes, erased_ref};

/// 0A000 when a subquery or an outer reference is left, or a parameter where there are none.
pub(crate) fn check(plan: &LogicalPlan, has_parameters: bool) -> SqlResult<()> {
    let mut found = ControlFlow::Continue(());
    let walked = plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            expr.apply(|e| {
                let what =
                    leftover(e).filter(|_| !(has_parameters && matches!(e, Expr::Placeholder(_))));
                if let Some(what) = what {
                    found = ControlFlow::Break(what);
                    return Ok(TreeNodeRecursion::Stop);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        }))
    }));
    walked.map_err(crate::error::from_library)?;
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(what) => {
            let error = SqlError::unsupported(what);
            Err(if what.ends_with("subquery") { error.with_hint(HINT) } else { error })
        }
    }
}

const HINT: &str = "rewrite the subquery as a join, or without LIMIT, UNION and OR around it";

/// Functions of the time of day; a plan has no clock.
const CLOCKS: [&str; 6] =
    ["now", "current_timestamp", "current_date", "current_time", "today", "localtimestamp"];

fn leftover(expr: &Expr) -> Option<&'static str> {
    match expr {
        Expr::OuterReferenceColumn(..) => Some("this correlated subquery"),
        Expr::ScalarSubquery(_) => Some("this scalar subquery"),
        Expr::InSubquery(_) => Some("this IN subquery"),
        Expr::Exists(_) => Some("this EXISTS subquery"),
        Expr::SetComparison(_) => Some("this ANY or ALL subquery"),
        Expr::GroupingSet(_) => Some("GROUP BY with GROUPING SETS, ROLLUP or CUBE"),
        Expr::Placeholder(_) => Some("a parameter"),
        Expr::ScalarFunction(f) if CLOCKS.contains(&f.name()) => Some("a function of the clock"),
        _ => None,
    }
}
