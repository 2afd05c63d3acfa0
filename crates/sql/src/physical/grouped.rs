//! Joins with groups, of which only those are made whose keys the other side has: a subquery over
//! the rows of a key, asked for few rows, reads the rows of these keys and not its whole table.

use std::sync::Arc;

use datafusion_common::{Column, JoinType, NullEquality};
use datafusion_expr::{Aggregate, Expr, Join, LogicalPlan, Projection, SubqueryAlias};
use types::SqlResult;

use super::base::base_of;
use super::column_position;
use crate::analyze::tables::WorkTable;
use crate::error::from_library;

/// The join with groups of the keys at hand alone; `None` where its right side has no such groups
/// by an index, and where the left one may be another one when it is read again.
pub(super) fn of_keys(join: &Join) -> SqlResult<Option<LogicalPlan>> {
    let is_plain = matches!(join.join_type, JoinType::Inner | JoinType::Left)
        && join.null_equality == NullEquality::NullEqualsNothing;
    let Some(aggregate) = aggregate_of(&join.right).filter(|_| is_plain) else { return Ok(None) };
    let keys: Vec<(Expr, &Expr)> = join
        .on
        .iter()
        .filter_map(|(left, right)| Some((key_of(right, &join.right)?, left)))
        .collect();
    let partners = partners(&join.left, &keys);
    if keys.is_empty() || !is_looked_up(aggregate, &keys) || !is_repeatable(partners) {
        return Ok(None);
    }
    let groups = of_some(aggregate, &keys, partners).map_err(from_library)?;
    let right = around(&join.right, groups).map_err(from_library)?;
    Ok(Some(LogicalPlan::Join(Join { right: Arc::new(right), ..join.clone() })))
}

/// The groups that a plan names anew, if it does no more. Distinct values cost no more than what
/// they are looked up by.
fn aggregate_of(plan: &LogicalPlan) -> Option<&Aggregate> {
    match plan {
        LogicalPlan::Projection(projection) => aggregate_of(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => aggregate_of(&alias.input),
        LogicalPlan::Aggregate(aggregate) => (!aggregate.aggr_expr.is_empty()).then_some(aggregate),
        _ => None,
    }
}

/// The column of the groups' rows that a column of the plan around them is, if it tells groups
/// apart.
fn key_of(column: &Expr, plan: &LogicalPlan) -> Option<Expr> {
    let at = column_position(column, plan.schema())?;
    match plan {
        LogicalPlan::Projection(projection) => {
            key_of(unnamed(projection.expr.get(at)?), &projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let (table, field) = alias.input.schema().qualified_field(at);
            key_of(&Expr::Column(Column::new(table.cloned(), field.name())), &alias.input)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let key = unnamed(aggregate.group_expr.get(at)?);
            matches!(key, Expr::Column(_)).then(|| key.clone())
        }
        _ => None,
    }
}

fn unnamed(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unnamed(&alias.expr),
        other => other,
    }
}

/// The part of a plan that its keys come from: it has all of them, and perhaps more.
fn partners<'a>(plan: &'a Arc<LogicalPlan>, keys: &[(Expr, &Expr)]) -> &'a Arc<LogicalPlan> {
    let columns = || keys.iter().flat_map(|(_, left)| left.column_refs());
    let has_all = |part: &LogicalPlan| columns().all(|column| part.schema().has_column(column));
    match plan.as_ref() {
        LogicalPlan::Join(join) if keeps_left(join.join_type) && has_all(&join.left) => {
            partners(&join.left, keys)
        }
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner && has_all(&join.right) => {
            partners(&join.right, keys)
        }
        LogicalPlan::Projection(projection) if has_all(&projection.input) => {
            let is_passed = |column: &Column| {
                let mut own = projection.expr.iter();
                own.any(|expr| matches!(expr, Expr::Column(passed) if passed == column))
            };
            match columns().all(is_passed) {
                true => partners(&projection.input, keys),
                false => plan,
            }
        }
        _ => plan,
    }
}

/// True if the rows of such a join are rows of its left side, with more columns perhaps.
fn keeps_left(join: JoinType) -> bool {
    matches!(join, JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti)
}

/// True if an index finds the rows of a key.
fn is_looked_up(aggregate: &Aggregate, keys: &[(Expr, &Expr)]) -> bool {
    let Some(base) = base_of(&aggregate.input) else { return false };
    let position = |key: &Expr| column_position(key, aggregate.input.schema());
    let columns = keys.iter().filter_map(|(key, _)| position(key));
    let columns: Vec<usize> = columns.map(|at| base.outputs[at]).collect();
    !base.trees(&columns).is_empty()
}

/// True if a plan has the same rows each time that it is read by a statement.
fn is_repeatable(plan: &LogicalPlan) -> bool {
    let is_fixed = match plan {
        LogicalPlan::TableScan(scan) => {
            scan.fetch.is_none() && scan.source.downcast_ref::<WorkTable>().is_none()
        }
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Values(_) => true,
        _ => false,
    };
    let are_stable = || plan.expressions().iter().all(|expr| !expr.is_volatile());
    is_fixed && are_stable() && plan.inputs().into_iter().all(is_repeatable)
}

/// The groups of the rows whose keys another plan has.
fn of_some(
    aggregate: &Aggregate,
    keys: &[(Expr, &Expr)],
    left: &Arc<LogicalPlan>,
) -> datafusion_common::Result<LogicalPlan> {
    let name = |at: usize| format!("__partner_{at}");
    let named = keys.iter().enumerate().map(|(at, (_, left))| (*left).clone().alias(name(at)));
    let partners = Projection::try_new(named.collect(), Arc::clone(left))?;
    let pair = |(at, (key, _)): (usize, &(Expr, &Expr))| {
        (key.clone(), Expr::Column(Column::new_unqualified(name(at))))
    };
    let rows = Join::try_new(
        Arc::clone(&aggregate.input),
        Arc::new(LogicalPlan::Projection(partners)),
        keys.iter().enumerate().map(pair).collect(),
        None,
        JoinType::LeftSemi,
        datafusion_common::JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    let (groups, calls) = (aggregate.group_expr.clone(), aggregate.aggr_expr.clone());
    Aggregate::try_new(Arc::new(LogicalPlan::Join(rows)), groups, calls).map(LogicalPlan::Aggregate)
}

/// A plan around other groups.
fn around(plan: &LogicalPlan, groups: LogicalPlan) -> datafusion_common::Result<LogicalPlan> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let input = Arc::new(around(&projection.input, groups)?);
            let (exprs, schema) = (projection.expr.clone(), Arc::clone(&projection.schema));
            Projection::try_new_with_schema(exprs, input, schema).map(LogicalPlan::Projection)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = Arc::new(around(&alias.input, groups)?);
            SubqueryAlias::try_new(input, alias.alias.clone()).map(LogicalPlan::SubqueryAlias)
        }
        _ => Ok(groups),
    }
}
