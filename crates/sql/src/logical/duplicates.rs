//! What stands twice in `ORDER BY` or `GROUP BY`, left out.
//!
//! The library's rule of this name also drops sort keys behind those that it takes for a key of the
//! rows, which they are no more behind a join, a grouping or a set operation; so this is ours.

use std::collections::HashSet;

use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::{Aggregate, Expr, LogicalPlan};
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
            other => Ok(Transformed::no(other)),
        }
    }
}

fn has_duplicates(exprs: &[Expr]) -> bool {
    let mut seen = HashSet::new();
    !exprs.iter().all(|e| seen.insert(e))
}
