//! Aggregates of outer columns only. They belong to the query whose columns these are, and are one value for
//! all of the query that they stand in; that is refused, not computed as an aggregate of the latter.

use datafusion_common::Result;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::{Expr, LogicalPlan};
use types::{SqlError, SqlResult};

/// 0A000 for such an aggregate in a plan that has just been bound.
pub(super) fn refuse(plan: &LogicalPlan) -> SqlResult<()> {
    match has_such(plan).map_err(crate::error::from_library)? {
        false => Ok(()),
        true => Err(SqlError::unsupported("an aggregate of outer columns only in a subquery")
            .with_hint("Compute it in the query that has the columns.")),
    }
}

fn has_such(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            found |= aggregate.aggr_expr.iter().any(is_such);
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether an aggregate names outer columns and none of its own query. One within a subquery of its own is
/// another's.
fn is_such(expr: &Expr) -> bool {
    let names_outer = expr.exists(|e| Ok(matches!(e, Expr::OuterReferenceColumn(..))));
    expr.column_refs().is_empty() && names_outer.unwrap_or(false)
}
