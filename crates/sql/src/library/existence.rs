//! `EXISTS` asks for no values: what a subquery would only compute for its outputs is left out, as are its
//! order and that its rows be different, and a subquery that has one row whatever the data exists.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_expr::expr::Exists;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Distinct, Expr, LogicalPlan, Subquery, lit};
use datafusion_optimizer::AnalyzerRule;

/// The rule.
#[derive(Debug)]
pub(crate) struct Existence;

impl AnalyzerRule for Existence {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_down_with_subqueries(|node| {
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_down(asked)?.update_data(|e| name.restore(e)))
            })
        })
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
    if std::ptr::eq(rows, subquery.subquery.as_ref()) {
        return Ok(Transformed::no(Expr::Exists(Exists { subquery, negated })));
    }
    let outer_ref_columns = rows.all_out_ref_exprs();
    let rows = Subquery { subquery: Arc::new(rows.clone()), outer_ref_columns, ..subquery };
    Ok(Transformed::yes(Expr::Exists(Exists { subquery: rows, negated })))
}

/// A plan that has rows when `plan` has, without the nodes above that only compute, order or compare.
fn rows_alone(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Projection(p) => rows_alone(&p.input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => rows_alone(&sort.input),
        LogicalPlan::Distinct(Distinct::All(input)) => rows_alone(input),
        LogicalPlan::Distinct(Distinct::On(on)) => rows_alone(&on.input),
        other => other,
    }
}

/// Whether a plan has one row whatever the data.
pub(super) fn exactly_one(plan: &LogicalPlan) -> bool {
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
