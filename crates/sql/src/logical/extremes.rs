//! The least and the greatest value of a column that leads a key: the first of its entries.

use std::sync::Arc;

use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DataFusionError, Result};
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{
    Aggregate, BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, SortExpr,
};
use datafusion_optimizer::optimizer::ApplyOrder;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use plan::catalog::TableDef;

use super::single_groups::stored;
use crate::analyze::tables::CatalogTable;

/// The rule: an aggregate of all rows is that of the first row in the order of its column.
#[derive(Debug)]
pub(super) struct Extremes;

impl OptimizerRule for Extremes {
    fn name(&self) -> &str {
        "extremes"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Transformed::no(plan)) };
        let calls = aggregate.aggr_expr.iter();
        let extremes =
            calls.map(|call| extreme(&aggregate.input, call)).collect::<Option<Vec<_>>>();
        let extremes = extremes.filter(|all| !all.is_empty() && aggregate.group_expr.is_empty());
        let Some(extremes) = extremes else {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        };
        let mut all: Option<LogicalPlanBuilder> = None;
        for (call, (column, is_least)) in aggregate.aggr_expr.iter().zip(extremes) {
            let rows = LogicalPlanBuilder::from(aggregate.input.as_ref().clone());
            let order = SortExpr::new(column, is_least, !is_least);
            let first = rows.sort([order])?.limit(0, Some(1))?.build()?;
            let of_first = Aggregate::try_new(Arc::new(first), vec![], vec![call.clone()])?;
            let of_first = LogicalPlan::Aggregate(of_first);
            // One row of each.
            all = Some(match all {
                Some(others) => others.cross_join(of_first)?,
                None => LogicalPlanBuilder::from(of_first),
            });
        }
        all.ok_or_else(none)?.build().map(Transformed::yes)
    }
}

fn none() -> DataFusionError {
    DataFusionError::Internal("an aggregation without aggregates".to_owned())
}

/// The column of an aggregate of all rows, and true if its least value is wanted, where a key of a
/// table has that value first. A null comes behind all values, and before them from behind.
fn extreme(input: &LogicalPlan, call: &Expr) -> Option<(Expr, bool)> {
    let Expr::AggregateFunction(call) = call.clone().unalias_nested().data else { return None };
    let is_least = match call.func.name() {
        "min" => true,
        "max" => false,
        _ => return None,
    };
    let of = &call.params;
    if of.filter.is_some() || !of.order_by.is_empty() {
        return None;
    }
    let [column @ Expr::Column(_)] = of.args.as_slice() else { return None };
    let (scan, name) = stored(input, column)?;
    let def = &scan.source.downcast_ref::<CatalogTable>()?.def;
    let at = def.schema.ordinal(&name)?;
    let mut compared = Compared::default();
    compared.find(input, def);
    let has_nulls = def.schema.columns[at].nullable && !compared.any.contains(&at);
    let is_first = compared.is_all && leads(def, at, &compared) && (is_least || !has_nulls);
    is_first.then(|| (column.clone(), is_least))
}

/// True if a key has the column behind none but columns with one value, and the rows that are left
/// lie together in it.
fn leads(def: &TableDef, column: usize, compared: &Compared) -> bool {
    let indexes = def.indexes.iter().filter(|index| !index.is_hash());
    let keys = indexes.map(|index| &index.columns).chain([&def.primary_key]);
    keys.into_iter().any(|key| {
        let before = key.iter().position(|at| *at == column).map(|at| &key[..at]);
        before.is_some_and(|before| {
            let is_one = |at: &usize| *at == column || before.contains(at);
            before.iter().all(|at| compared.fixed.contains(at)) && compared.any.iter().all(is_one)
        })
    })
}

/// Columns of a table that conditions compare with what is the same for all rows.
struct Compared {
    /// Those that are equal to it.
    fixed: Vec<usize>,
    /// All of them: none is null in the rows that are left.
    any: Vec<usize>,
    /// True if there are no other conditions.
    is_all: bool,
}

impl Default for Compared {
    fn default() -> Compared {
        Compared { fixed: vec![], any: vec![], is_all: true }
    }
}

impl Compared {
    fn find(&mut self, plan: &LogicalPlan, def: &TableDef) {
        match plan {
            LogicalPlan::Filter(filter) => {
                let conditions = split_conjunction(&filter.predicate);
                conditions.into_iter().for_each(|it| self.add(it, &filter.input, def));
            }
            LogicalPlan::TableScan(scan) => {
                let conditions = scan.filters.iter().flat_map(split_conjunction);
                conditions.for_each(|it| self.add(it, plan, def));
            }
            _ => {}
        }
        plan.inputs().into_iter().for_each(|input| self.find(input, def));
    }

    /// Adds a condition over the rows of a plan.
    fn add(&mut self, condition: &Expr, rows: &LogicalPlan, def: &TableDef) {
        let column = one_value(condition).and_then(|(column, op)| {
            let (_, name) = stored(rows, &Expr::Column(column.clone()))?;
            Some((def.schema.ordinal(&name)?, op))
        });
        self.is_all &= column.is_some();
        self.any.extend(column.map(|(at, _)| at));
        self.fixed.extend(column.filter(|(_, op)| *op == Operator::Eq).map(|(at, _)| at));
    }
}

/// The column that a condition compares with what is the same for all rows of a query, alone or
/// within another one.
fn one_value(condition: &Expr) -> Option<(&Column, Operator)> {
    use Operator as O;
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return None };
    let compares = matches!(op, O::Eq | O::Lt | O::LtEq | O::Gt | O::GtEq);
    match (&**left, &**right) {
        (Expr::Column(column), other) | (other, Expr::Column(column))
            if compares && !other.any_column_refs() && !other.contains_outer() =>
        {
            Some((column, *op))
        }
        _ => None,
    }
}
