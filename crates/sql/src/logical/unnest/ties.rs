//! What ties the rows of a lateral relation to the row outside.

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{Expr, LogicalPlan, Operator};

/// Whether a lateral relation makes groups, or drops rows that are equal, of rows that are tied to the row outside
/// otherwise than by a column that is equal to something of it. The library would do it for all rows outside at
/// once, with the columns of the tie as further keys.
pub(super) fn groups_what_is_tied(plan: &LogicalPlan) -> bool {
    let names_outer = |e: &Expr| Ok(matches!(e, Expr::OuterReferenceColumn(..)));
    let is_tie = |e: &&Expr| e.exists(names_outer).unwrap_or(true);
    let is_equality = |e: &Expr| match e {
        Expr::BinaryExpr(pair) if pair.op == Operator::Eq => {
            let is_key = |a: &Expr, b: &Expr| is_column(a) && b.column_refs().is_empty();
            is_key(&pair.left, &pair.right) || is_key(&pair.right, &pair.left)
        }
        _ => false,
    };
    let is_tied = |node: &LogicalPlan| match node {
        LogicalPlan::Filter(filter) => {
            let mut ties = split_conjunction(&filter.predicate).into_iter().filter(is_tie);
            ties.any(|e| !is_equality(e))
        }
        node => node.expressions().iter().any(|e| is_tie(&e)),
    };
    let mut found = false;
    let walked = plan.apply(|node| {
        let groups = match node {
            LogicalPlan::Distinct(_) => true,
            LogicalPlan::Aggregate(aggregate) => !aggregate.group_expr.is_empty(),
            _ => false,
        };
        found |= groups && node.exists(|below| Ok(is_tied(below)))?;
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_column(&cast.expr),
        other => matches!(other, Expr::Column(_)),
    }
}
