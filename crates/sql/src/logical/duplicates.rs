//! What stands twice in `ORDER BY`, in `GROUP BY` or among window functions, left out.
//!
//! The library's rule of this name also drops sort keys behind those that it takes for a key of the
//! rows, which they are no more behind a join, a grouping or a set operation; so this is ours.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, Result};
use datafusion_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Window};
use datafusion_optimizer::optimizer::ApplyOrder;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

/// The rule.
#[derive(Debug)]
pub(super) struct Duplicates;

impl OptimizerRule for Duplicates {
    fn name(&self) -> &str {
        "duplicates"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Sort(mut sort) => {
                let count = sort.expr.len();
                let mut seen = HashSet::new();
                // The first of equal keys decides, whatever direction the others have.
                sort.expr.retain(|key| key.expr.is_volatile() || seen.insert(key.expr.clone()));
                let shorter = sort.expr.len() < count;
                Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), shorter))
            }
            LogicalPlan::Aggregate(aggregate) if has_duplicates(&aggregate.group_expr) => {
                let mut seen = HashSet::new();
                let mut keys = aggregate.group_expr;
                keys.retain(|key| seen.insert(key.clone()));
                let aggregate = Aggregate::try_new(aggregate.input, keys, aggregate.aggr_expr)?;
                Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
            }
            LogicalPlan::Window(window) if is_repeated(&calls(&window)) => {
                Ok(Transformed::yes(each_once(window)?))
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// Whether a function stands there twice whose values are the same then.
fn is_repeated(calls: &[Expr]) -> bool {
    has_duplicates(calls) && !calls.iter().any(Expr::is_volatile)
}

fn calls(window: &Window) -> Vec<Expr> {
    window.window_expr.iter().map(|e| e.clone().unalias_nested().data).collect()
}

/// Window functions of which each is computed once, and its columns named above. The library's rule for
/// common expressions would compute what stands twice below the windows, where no function of them may.
fn each_once(window: Window) -> Result<LogicalPlan> {
    let calls = calls(&window);
    let (mut first, mut kept) = (HashMap::new(), vec![]);
    for (call, expr) in calls.iter().zip(&window.window_expr) {
        first.entry(call).or_insert_with(|| {
            kept.push(expr.clone());
            expr.qualified_name()
        });
    }
    let input_columns = window.input.schema().columns().into_iter().map(Expr::Column);
    let outputs = calls.iter().zip(&window.window_expr).map(|(call, expr)| {
        let (qualifier, name) = first[call].clone();
        let (own_qualifier, own_name) = expr.qualified_name();
        let column = Expr::Column(Column::new(qualifier.clone(), name.clone()));
        match (&qualifier, &name) == (&own_qualifier, &own_name) {
            true => column,
            false => column.alias_qualified(own_qualifier, own_name),
        }
    });
    let outputs: Vec<Expr> = input_columns.chain(outputs).collect();
    let rows = LogicalPlanBuilder::from(Arc::unwrap_or_clone(window.input)).window(kept)?;
    rows.project(outputs)?.build()
}

fn has_duplicates(exprs: &[Expr]) -> bool {
    let mut seen = HashSet::new();
    !exprs.iter().all(|e| seen.insert(e))
}
