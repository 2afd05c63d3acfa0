//! Aggregates of outer columns only. They belong to the query whose columns these are, and are one value for
//! all of the query that they stand in; that is refused, not computed as an aggregate of the latter.

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion_expr::{Expr, LogicalPlan, Subquery};
use types::{SqlError, SqlResult};

use crate::walk::nodes::{Nodes, erased_ref};

/// 0A000 for such an aggregate in a plan that has just been bound.
pub(crate) fn refuse(plan: &LogicalPlan) -> SqlResult<()> {
    match has_such(plan).map_err(crate::error::from_library)? {
        false => Ok(()),
        true => Err(SqlError::unsupported("an aggregate of outer columns only in a subquery")
            .with_hint("Compute it in the query that has the columns.")),
    }
}

fn has_such(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            found |= aggregate.aggr_expr.iter().any(|e| is_such(e, aggregate.input.schema()));
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    }))?;
    Ok(found)
}

/// Whether an aggregate over rows with these columns names outer ones and none of its own query, here or in
/// subqueries of its arguments. One within a subquery of its own is another's.
fn is_such(expr: &Expr, rows: &DFSchema) -> bool {
    let (mut own, mut outer) = (!expr.column_refs().is_empty(), false);
    // The visit itself never fails.
    let _ = expr.apply(|part| {
        outer |= matches!(part, Expr::OuterReferenceColumn(..));
        if let Some(subquery) = subquery_of(part) {
            let is_own = |e: &Expr| match e {
                Expr::OuterReferenceColumn(_, column) => rows.has_column(column),
                _ => false,
            };
            outer |= subquery.outer_ref_columns.iter().any(|e| !is_own(e));
            own |= has_deeply(&subquery.subquery, &is_own);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    outer && !own
}

/// Whether a plan, or a subquery of it however deep, has such an expression.
fn has_deeply(plan: &LogicalPlan, is_such: &impl Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    // The visit itself never fails.
    let _ = plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        let has = |expr: &Expr| expr.exists(|e| Ok(is_such(e))).unwrap_or(false);
        found |= node.expressions().iter().any(has);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    }));
    found
}

fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery)
        | Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. }) => Some(subquery),
        _ => None,
    }
}
