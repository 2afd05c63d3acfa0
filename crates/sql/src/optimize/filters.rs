//! The rule that moves conditions, of a plan whose parameters stay.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{Column, DataFusionError, Result};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use types::SqlError;

use super::values::{with_numbered, without_number, without_numbered};
use crate::logical::guarded_rules::{self, Guarded, one_after_the_other};
use crate::logical::run::{Config, Rule};
use crate::parse::parameter::Parameter;
use crate::walk::nodes::Nodes;

/// The rule for the plans of a query.
pub(crate) fn rule(config: &Config) -> Rule {
    let rule = guarded_rules::filters();
    match config.values.clone() {
        Some(values) => Arc::new(Guarded::new(rule, move |rule, plan, config| {
            numbered(rule, plan, (config, &values))
        })),
        None => Arc::new(rule),
    }
}

/// Moves conditions as if parameters were literals: joins pass those of constants on to their other
/// side, and those of placeholders they do not.
fn numbered(
    rule: &Guarded<PushDownFilter>,
    plan: LogicalPlan,
    (config, values): (&dyn OptimizerConfig, &[Parameter]),
) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_)) {
        return rule.rewrite(plan, config);
    }
    let mut numbered = with_numbered(one_after_the_other(plan), values).map_err(external)?;
    if let LogicalPlan::Filter(filter) = &mut numbered {
        filter.predicate = apart(std::mem::take(&mut filter.predicate))?;
    }
    let mut moved = rule.rewrite(numbered, config)?;
    moved.data = without_numbered(moved.data).map_err(external)?;
    Ok(moved)
}

/// The condition with placeholders where a column is compared with several literals of which the
/// library would keep one, by their values.
fn apart(condition: Expr) -> Result<Expr> {
    let parts = split_conjunction_owned(condition);
    let sides: Vec<_> = parts.iter().map(side).collect();
    let is_one = |at: &Option<(Column, Operator)>| {
        at.is_some() && sides.iter().filter(|other| *other == at).count() > 1
    };
    let parts = parts.into_iter().zip(&sides).map(|(part, at)| match is_one(at) {
        true => part.transform_up(without_number).data(),
        false => Ok(part),
    });
    Ok(conjunction(parts.collect::<Result<Vec<_>>>()?).unwrap_or_default())
}

/// The column that is compared with a literal, and from which side it is bounded.
fn side(expr: &Expr) -> Option<(Column, Operator)> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return None };
    let (column, op) = match (left.as_ref(), right.as_ref()) {
        (Expr::Column(column), Expr::Literal(..)) => (column, *op),
        (Expr::Literal(..), Expr::Column(column)) => (column, op.swap()?),
        _ => return None,
    };
    let side = match op {
        Operator::Gt | Operator::GtEq => Operator::Gt,
        Operator::Lt | Operator::LtEq => Operator::Lt,
        Operator::Eq => Operator::Eq,
        _ => return None,
    };
    Some((column.clone(), side))
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
