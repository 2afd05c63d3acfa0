//! `EXISTS` asks for no values: outputs that hold subqueries are left out, with the order of the rows and that
//! they be different, and a subquery that has one row whatever the data exists.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_expr::expr::Exists;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Distinct, Expr, LogicalPlan, LogicalPlanBuilder, Subquery, lit};
use datafusion_optimizer::AnalyzerRule;

use crate::walk::nodes::{Nodes, erased};

/// The rule.
#[derive(Debug)]
pub(crate) struct Existence;

impl AnalyzerRule for Existence {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_down_with_subqueries(erased(&mut |node| {
            let names = NamePreserver::new(&node);
            node.map_expressions(erased(&mut |expr: Expr| {
                let name = names.save(&expr);
                Ok(expr.transform_down(asked)?.update_data(|e| name.restore(e)))
            }))
        }))
        .data()
    }

    fn name(&self) -> &str {
        "existence"
    }
}

fn asked(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::Exists(Exists { subquery, negated }) = expr else { return Ok(Transformed::no(expr)) };
    let rows = rows_alone(&subquery.subquery);
    if exactly_one(rows) {
        return Ok(Transformed::yes(lit(!negated)));
    }
    // The library leaves other outputs out by itself, when it makes a semi join of the subquery.
    if !asks(&subquery.subquery)? || matches!(rows, LogicalPlan::Window(_)) {
        return Ok(Transformed::no(Expr::Exists(Exists { subquery, negated })));
    }
    let rows = LogicalPlanBuilder::from(rows.clone()).project([lit(1i64).alias("one")])?.build()?;
    let outer_ref_columns = rows.all_out_ref_exprs();
    let rows = Subquery { subquery: Arc::new(rows), outer_ref_columns, ..subquery };
    Ok(Transformed::yes(Expr::Exists(Exists { subquery: rows, negated })))
}

/// Whether subqueries stand in what [`rows_alone`] leaves out.
fn asks(plan: &LogicalPlan) -> Result<bool> {
    let is_subquery = |e: &Expr| Ok(matches!(e, Expr::ScalarSubquery(_)));
    let mut node = plan;
    while let Some(below) = below(node) {
        for expr in node.expressions() {
            if expr.exists(is_subquery)? {
                return Ok(true);
            }
        }
        node = below;
    }
    Ok(false)
}

/// The input of a node that only computes, orders or compares rows.
fn below(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Projection(p) => Some(&p.input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => Some(&sort.input),
        LogicalPlan::Distinct(Distinct::All(input)) => Some(input),
        LogicalPlan::Distinct(Distinct::On(on)) => Some(&on.input),
        _ => None,
    }
}

/// A plan that has rows when `plan` has, without the nodes above that only compute, order or compare.
fn rows_alone(plan: &LogicalPlan) -> &LogicalPlan {
    let mut node = plan;
    while let Some(below) = below(node) {
        node = below;
    }
    node
}

/// Whether a plan has one row whatever the data.
pub(crate) fn exactly_one(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(p) => exactly_one(&p.input),
        LogicalPlan::SubqueryAlias(a) => exactly_one(&a.input),
        LogicalPlan::Sort(s) => s.fetch != Some(0) && exactly_one(&s.input),
        LogicalPlan::Aggregate(a) => a.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Values(v) => v.values.len() == 1,
        _ => false,
    }
}
