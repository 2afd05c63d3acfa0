//! Subqueries in aggregates with DISTINCT and ORDER BY. The order names the argument once more, and two subqueries
//! that are the same would become two columns: each is made one column before that.

use std::sync::Arc;

use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{Column, Result};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_optimizer::AnalyzerRule;

use crate::walk::nodes::{Nodes, erased};

/// The rule.
#[derive(Debug)]
pub(crate) struct OrderedArguments;

impl AnalyzerRule for OrderedArguments {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(erased(&mut |node| match node {
            LogicalPlan::Aggregate(aggregate) => with_columns(aggregate),
            other => Ok(Transformed::no(other)),
        }))
        .data()
    }

    fn name(&self) -> &str {
        "ordered_arguments"
    }
}

fn with_columns(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let mut asked: Vec<Expr> = vec![];
    for expr in &aggregate.aggr_expr {
        expr.apply(|part| {
            if let Expr::AggregateFunction(call) = part {
                for argument in arguments(call) {
                    argument.apply(|e| {
                        if matches!(e, Expr::ScalarSubquery(_)) && !asked.contains(e) {
                            asked.push(e.clone());
                        }
                        Ok(TreeNodeRecursion::Continue)
                    })?;
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    if asked.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let name = |at: usize| format!("__asked_{at}");
    let columns = aggregate.input.schema().columns().into_iter().map(Expr::Column);
    let named = asked.iter().enumerate().map(|(at, arg)| arg.clone().alias(name(at)));
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(aggregate.input));
    let input = input.project(columns.chain(named).collect::<Vec<_>>())?.build()?;
    let aggregates = aggregate.aggr_expr.into_iter().map(|expr| {
        let saved = NamePreserver::new_for_projection().save(&expr);
        let replaced = expr.transform_down(|part| {
            Ok(match asked.iter().position(|arg| *arg == part) {
                Some(at) => Transformed::yes(Expr::Column(Column::new_unqualified(name(at)))),
                None => Transformed::no(part),
            })
        })?;
        Ok(saved.restore(replaced.data))
    });
    let aggregates = aggregates.collect::<Result<Vec<_>>>()?;
    let made = Aggregate::try_new(Arc::new(input), aggregate.group_expr, aggregates)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(made)))
}

/// The arguments of an aggregate whose different values are put in order.
fn arguments(call: &AggregateFunction) -> impl Iterator<Item = &Expr> {
    let ordered = call.params.distinct && !call.params.order_by.is_empty();
    call.params.args.iter().take(if ordered { usize::MAX } else { 0 })
}
