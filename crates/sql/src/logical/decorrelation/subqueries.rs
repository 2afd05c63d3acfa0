//! Which expressions ask for subqueries, and what these depend on.

use datafusion_common::Column;
use datafusion_expr::{Expr, LogicalPlan};

use crate::walk::nodes::Nodes;

/// The columns of a row that a subquery, and what is compared with it, depend on.
pub(super) fn named_columns(expr: &Expr) -> Vec<Column> {
    let subquery = match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(member) => Some(&member.subquery),
        Expr::SetComparison(set) => Some(&set.subquery),
        _ => None,
    };
    let outer = subquery.into_iter().flat_map(|s| &s.outer_ref_columns);
    let outer = outer.filter_map(|e| match e {
        Expr::OuterReferenceColumn(_, column) => Some(column.clone()),
        _ => None,
    });
    outer.chain(expr.column_refs().into_iter().cloned()).collect()
}

pub(super) fn is_subquery(e: &Expr) -> bool {
    matches!(
        e,
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
    )
}

pub(super) fn has_subquery(node: &LogicalPlan) -> bool {
    node.expressions().iter().any(|e| e.exists(|e| Ok(is_subquery(e))).unwrap_or(false))
}
