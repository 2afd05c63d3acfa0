//! Groups of one row: where a whole key of a table is among the keys of its groups, the only value
//! of a group is the value of the row. Scalar subqueries by a key become look-ups so.

use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Constraint, Result};
use datafusion_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, TableScan};
use datafusion_optimizer::optimizer::ApplyOrder;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

use crate::analyze::single_row::only_value_of;

/// The rule.
#[derive(Debug)]
pub(super) struct SingleGroups;

impl OptimizerRule for SingleGroups {
    fn name(&self) -> &str {
        "single_groups"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(groups) if has_key(&groups) => match rows(&groups) {
                Some(outputs) => {
                    let input = Arc::unwrap_or_clone(groups.input);
                    let rows = LogicalPlanBuilder::from(input).project(outputs)?.build()?;
                    Ok(Transformed::yes(rows))
                }
                None => Ok(Transformed::no(LogicalPlan::Aggregate(groups))),
            },
            other => Ok(Transformed::no(other)),
        }
    }
}

/// The columns of the groups, computed of their only rows; `None` where a function has another
/// value than that of the row.
fn rows(groups: &Aggregate) -> Option<Vec<Expr>> {
    let values = groups.aggr_expr.iter().map(|call| {
        let (qualifier, name) = call.qualified_name();
        let value = only_value_of(&call.clone().unalias_nested().data)?.clone();
        Some(value.alias_qualified(qualifier, name))
    });
    groups.group_expr.iter().cloned().map(Some).chain(values).collect()
}

/// True if the keys of the groups have a whole key of a table without nulls, of which the input has
/// each row once at most.
fn has_key(groups: &Aggregate) -> bool {
    let columns: Option<Vec<_>> =
        groups.group_expr.iter().map(|key| stored(&groups.input, key)).collect();
    let Some(columns) = columns else { return false };
    let Some((scan, _)) = columns.first() else { return false };
    let schema = scan.source.schema();
    let is_grouped = |at: &usize| {
        let field = schema.field(*at);
        !field.is_nullable() && columns.iter().any(|(_, name)| name == field.name())
    };
    scan.source.constraints().is_some_and(|constraints| {
        constraints.iter().any(|constraint| match constraint {
            Constraint::PrimaryKey(key) | Constraint::Unique(key) => key.iter().all(is_grouped),
        })
    })
}

/// The column of a table that an expression is, where rows of the plan are rows of that table.
pub(super) fn stored<'a>(plan: &'a LogicalPlan, expr: &Expr) -> Option<(&'a TableScan, String)> {
    let Expr::Column(column) = expr else { return None };
    let at = plan.schema().maybe_index_of_column(column)?;
    match plan {
        LogicalPlan::TableScan(scan) => Some((scan, plan.schema().field(at).name().clone())),
        LogicalPlan::Filter(filter) => stored(&filter.input, expr),
        LogicalPlan::SubqueryAlias(alias) => {
            stored(&alias.input, &Expr::Column(alias.input.schema().columns().swap_remove(at)))
        }
        LogicalPlan::Projection(project) => {
            stored(&project.input, &project.expr[at].clone().unalias_nested().data)
        }
        _ => None,
    }
}
