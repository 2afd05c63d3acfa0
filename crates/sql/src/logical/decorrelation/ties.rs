//! What ties the rows of a lateral relation to the row outside.

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{Expr, LogicalPlan, Operator};

use crate::walk::nodes::Nodes;

/// Whether a subquery or a lateral relation computes something of several rows, or drops equal ones, where these are
/// tied to the row outside: groups by more than a column that is equal to something of it, windows at all. The
/// library would do it for all rows outside at once, with the columns of the tie as further keys of groups, and with
/// one window over all.
pub(super) fn gathers_what_is_tied(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply(|node| {
        found |= match node {
            LogicalPlan::Window(_) => !node.all_out_ref_exprs().is_empty(),
            LogicalPlan::Distinct(_) => node.exists(|below| Ok(has_other_tie(below)))?,
            LogicalPlan::Aggregate(aggregate) if !aggregate.group_expr.is_empty() => {
                node.exists(|below| Ok(has_other_tie(below)))?
            }
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

/// Whether a node names columns of outside otherwise than in an equality with one of its own.
fn has_other_tie(node: &LogicalPlan) -> bool {
    let names_outer = |e: &Expr| Ok(matches!(e, Expr::OuterReferenceColumn(..)));
    let is_tie = |e: &Expr| e.exists(names_outer).unwrap_or(true);
    match node {
        LogicalPlan::Filter(filter) => {
            let conditions = split_conjunction(&filter.predicate);
            conditions.into_iter().any(|e| is_tie(e) && !is_equality(e))
        }
        node => node.expressions().iter().any(is_tie),
    }
}

fn is_equality(condition: &Expr) -> bool {
    let Expr::BinaryExpr(pair) = condition else { return false };
    // Different values may be cast to the same.
    let is_key = |a: &Expr, b: &Expr| matches!(a, Expr::Column(_)) && b.column_refs().is_empty();
    pair.op == Operator::Eq && (is_key(&pair.left, &pair.right) || is_key(&pair.right, &pair.left))
}
