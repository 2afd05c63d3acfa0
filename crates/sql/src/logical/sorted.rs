//! The `ORDER BY` of queries inside others. As PostgreSQL's manual promises, a query sees the rows of the
//! one in its `FROM` in their order, and gives them on in it: to its result, to a `LIMIT`, to aggregates
//! that make a list. Where none of these sees the order, nothing is sorted.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{Column, Result};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Sort};

use crate::expr::aggregate::follows_input;
use crate::walk::nodes::{Nodes, erased};

/// The plan of a query without the sorts whose order nobody sees.
pub(crate) fn without_unseen(plan: LogicalPlan) -> Result<LogicalPlan> {
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
    plan.map_subqueries(erased(&mut |query| visited(query, false).map(Transformed::yes)))?
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

/// The plan with the columns that subqueries in `ORDER BY` name among what is sorted, where the query does
/// not give them out.
pub(crate) fn with_named(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(erased(&mut |node| match node {
        LogicalPlan::Sort(sort) => named(sort),
        other => Ok(Transformed::no(other)),
    }))
    .data()
}

fn named(sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let input = Arc::clone(&sort.input);
    let LogicalPlan::Projection(outputs) = input.as_ref() else {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    };
    let missing = missing(&sort, outputs)?;
    if missing.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    }
    let exprs = outputs.expr.iter().cloned().chain(missing.into_iter().map(Expr::Column));
    let rows = LogicalPlanBuilder::from(outputs.input.as_ref().clone()).project(exprs)?.build()?;
    let sorted = LogicalPlan::Sort(Sort { input: Arc::new(rows), ..sort });
    let columns = outputs.schema.columns().into_iter().map(Expr::Column);
    Ok(Transformed::yes(LogicalPlanBuilder::from(sorted).project(columns)?.build()?))
}

/// The columns of a select that subqueries in its order name, and that are no outputs of it. One whose
/// name an output has would be ambiguous beside it.
fn missing(sort: &Sort, outputs: &Projection) -> Result<Vec<Column>> {
    let (mut found, rows) = (vec![], outputs.input.schema());
    let is_output = |column: &Column| {
        outputs.schema.has_column(column)
            || outputs.schema.has_column_with_unqualified_name(&column.name)
    };
    for key in &sort.expr {
        key.expr.apply(|e| {
            for outer in outer_columns(e) {
                if rows.has_column(&outer) && !is_output(&outer) && !found.contains(&outer) {
                    found.push(outer);
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(found)
}

fn outer_columns(expr: &Expr) -> Vec<Column> {
    let subquery = match expr {
        Expr::ScalarSubquery(subquery) => subquery,
        Expr::Exists(exists) => &exists.subquery,
        Expr::InSubquery(member) => &member.subquery,
        Expr::SetComparison(set) => &set.subquery,
        _ => return vec![],
    };
    let column = |e: &Expr| match e {
        Expr::OuterReferenceColumn(_, column) => Some(column.clone()),
        _ => None,
    };
    subquery.outer_ref_columns.iter().filter_map(column).collect()
}
