//! The `ORDER BY` of queries inside others. As PostgreSQL's manual promises, a query sees the rows of the
//! one in its `FROM` in their order, and gives them on in it: to its result, to a `LIMIT`, to aggregates
//! that make a list. Where none of these sees the order, nothing is sorted.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_expr::{Expr, LogicalPlan};

use crate::expr::follows_input;

/// The plan of a query without the sorts whose order nobody sees.
pub(super) fn without_unseen(plan: LogicalPlan) -> Result<LogicalPlan> {
    visited(plan, true)
}

fn visited(plan: LogicalPlan, is_seen: bool) -> Result<LogicalPlan> {
    if let LogicalPlan::Sort(sort) = plan {
        if !is_seen {
            return visited(Arc::unwrap_or_clone(sort.input), false);
        }
        return with_inputs(LogicalPlan::Sort(sort), false);
    }
    let passes_on = sees_input(&plan, is_seen);
    with_inputs(plan, passes_on)
}

fn with_inputs(plan: LogicalPlan, is_seen: bool) -> Result<LogicalPlan> {
    plan.map_subqueries(|query| visited(query, false).map(Transformed::yes))?
        .data
        .map_children(|child| visited(child, is_seen).map(Transformed::yes))
        .data()
}

/// Whether the order of a node's input shows, given whether that of its own rows does.
fn sees_input(plan: &LogicalPlan, is_seen: bool) -> bool {
    match plan {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::Union(_) => is_seen,
        // Which rows there are depends on it.
        LogicalPlan::Limit(_) => true,
        LogicalPlan::Aggregate(aggregate) => aggregate.aggr_expr.iter().any(makes_list),
        LogicalPlan::Window(window) => window.window_expr.iter().any(is_without_order),
        _ => false,
    }
}

fn makes_list(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => makes_list(&alias.expr),
        Expr::AggregateFunction(call) => follows_input(call),
        _ => false,
    }
}

/// `over ()`: the rows are numbered as they come.
fn is_without_order(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_without_order(&alias.expr),
        Expr::WindowFunction(call) => {
            call.params.order_by.is_empty() && call.params.partition_by.is_empty()
        }
        _ => false,
    }
}
