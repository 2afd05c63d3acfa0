//! `GROUPING SETS`, `ROLLUP` and `CUBE`: an aggregation for each set, put together; and `grouping`, which
//! is a constant in each of them.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{
    Aggregate, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, Window, cast, lit,
};
use datafusion_functions_aggregate::count::count;
use datafusion_optimizer::AnalyzerRule;
use types::{SqlError, SqlState};

use crate::functions::sets_mark::marked_sets;
use crate::walk::nodes::erased;

/// Replaces all grouping sets in a plan whose expressions have their types.
#[derive(Debug)]
pub(crate) struct GroupingSets;

impl AnalyzerRule for GroupingSets {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(erased(&mut |node| match node {
            LogicalPlan::Aggregate(aggregate) => match Sets::of(&aggregate) {
                Some(sets) => sets.expanded().map(Transformed::yes),
                None => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
            },
            LogicalPlan::Window(window) if !passes_all_on(&window) => {
                let window = Window::try_new(window.window_expr, window.input)?;
                Ok(Transformed::yes(LogicalPlan::Window(window)))
            }
            LogicalPlan::Projection(projection) if counts_ranks(&projection) => {
                without_lost(projection).map(Transformed::yes)
            }
            other => Ok(Transformed::no(other)),
        }))
        .data()
    }

    fn name(&self) -> &str {
        "grouping_sets"
    }
}

/// Whether a window has all columns of its input: that of sets has lost those that no key determines.
fn passes_all_on(window: &Window) -> bool {
    let count = window.input.schema().fields().len() + window.window_expr.len();
    window.schema.fields().len() == count
}

/// Whether a projection is the one that passes on all columns of a window, for signed ranks among them.
fn counts_ranks(projection: &Projection) -> bool {
    let schema = projection.input.schema();
    let is_rank = |e: &Expr| match e {
        Expr::Alias(alias) => match alias.expr.as_ref() {
            Expr::Cast(cast) => cast.expr.get_type(schema).is_ok_and(|ty| ty == DataType::UInt64),
            _ => false,
        },
        _ => false,
    };
    matches!(projection.input.as_ref(), LogicalPlan::Window(_))
        && projection.expr.iter().any(is_rank)
}

/// The projection of the columns that its input has still.
fn without_lost(projection: Projection) -> Result<LogicalPlan> {
    let Projection { mut expr, input, .. } = projection;
    expr.retain(|e| !matches!(e, Expr::Column(column) if !input.schema().has_column(column)));
    Projection::try_new(expr, input).map(LogicalPlan::Projection)
}

/// An aggregation with its sets.
struct Sets<'a> {
    aggregate: &'a Aggregate,
    /// Each set as the positions of its keys.
    sets: Vec<Vec<usize>>,
    /// Positions before this are keys of the statement; behind the mark are those that the library added,
    /// for keys determine them.
    key_count: usize,
}

impl Sets<'_> {
    /// `None` of an aggregation that has neither sets nor a `grouping`.
    fn of(aggregate: &Aggregate) -> Option<Sets<'_>> {
        let keys = &aggregate.group_expr;
        let mark = keys.iter().enumerate().find_map(|(i, e)| marked_sets(e).map(|sets| (i, sets)));
        if let Some((key_count, sets)) = mark {
            return Some(Sets { aggregate, sets, key_count });
        }
        let all = (0..keys.len()).collect();
        let is_needed = aggregate.aggr_expr.iter().any(|e| grouping(e).is_some());
        is_needed.then(|| Sets { aggregate, sets: vec![all], key_count: keys.len() })
    }

    fn expanded(&self) -> Result<LogicalPlan> {
        let kept = self.kept_columns();
        let mut together: Option<LogicalPlanBuilder> = None;
        for set in &self.sets {
            let rows = self.one_set(set, &kept)?;
            together = Some(match together {
                None => LogicalPlanBuilder::from(rows),
                Some(before) => before.union(rows)?,
            });
        }
        let together = together.unwrap_or_else(|| LogicalPlanBuilder::empty(false)).build()?;
        let columns = together.schema().columns().into_iter().zip(&kept);
        let exprs = columns.map(|(column, &at)| {
            let (qualifier, field) = self.aggregate.schema.qualified_field(at);
            Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
        });
        let exprs: Vec<Expr> = exprs.collect();
        LogicalPlanBuilder::from(together).project(exprs)?.build()
    }

    /// Positions of the output's columns: all but those that keys do not determine in every set. Windows
    /// above pass the mark's column on.
    fn kept_columns(&self) -> Vec<usize> {
        let group_count = self.aggregate.group_expr.len();
        let all = 0..self.aggregate.schema.fields().len();
        all.filter(|&at| {
            at <= self.key_count || at >= group_count || self.determined().contains(&at)
        })
        .collect()
    }

    /// Positions of the columns that the library added and that the keys of all sets determine.
    fn determined(&self) -> Vec<usize> {
        let input = self.aggregate.input.schema();
        let place = |at: usize| match &self.aggregate.group_expr[at] {
            Expr::Column(column) => input.maybe_index_of_column(column),
            _ => None,
        };
        let in_all = |at: &usize| self.sets.iter().all(|set| set.contains(at));
        let known: Vec<usize> = (0..self.key_count).filter(in_all).filter_map(place).collect();
        let added = (self.key_count + 1).min(self.aggregate.group_expr.len())..;
        let added = added.take_while(|&at| at < self.aggregate.group_expr.len());
        added
            .filter(|&at| {
                input.functional_dependencies().iter().any(|dependency| {
                    dependency.source_indices.iter().all(|i| known.contains(i))
                        && place(at).is_some_and(|i| dependency.target_indices.contains(&i))
                })
            })
            .collect()
    }

    /// The aggregation of one set, with nulls for the keys that it has not.
    fn one_set(&self, set: &[usize], kept: &[usize]) -> Result<LogicalPlan> {
        let Aggregate { group_expr, aggr_expr, schema, input, .. } = self.aggregate;
        let mut grouped_by: Vec<usize> = vec![];
        for at in set.iter().copied().chain(self.determined()) {
            if !grouped_by.contains(&at) {
                grouped_by.push(at);
            }
        }
        let keys: Vec<Expr> = grouped_by.iter().map(|&at| group_expr[at].clone()).collect();
        let is_value = |e: &&Expr| grouping(e).is_none();
        let mut values: Vec<Expr> = aggr_expr.iter().filter(is_value).cloned().collect();
        if keys.is_empty() && values.is_empty() {
            values.push(count(lit(1i64)).alias("__rows"));
        }
        // Made without the library's builder, which adds the columns that a key in the set determines.
        let input = Arc::clone(input);
        let grouped = LogicalPlan::Aggregate(Aggregate::try_new(input, keys, values)?);
        let columns = grouped.schema().columns();
        let mut next_value = grouped_by.len();
        let mut exprs = Vec::with_capacity(kept.len());
        for &at in kept {
            let ty = schema.field(at).data_type();
            let key = grouped_by.iter().position(|&key| key == at);
            let call = at.checked_sub(group_expr.len()).and_then(|i| grouping(&aggr_expr[i]));
            let expr = match (key, call) {
                (Some(place), _) => Expr::Column(columns[place].clone()),
                (None, Some(args)) => constant(self.bits(args, set)?, ty)?,
                (None, None) if at < group_expr.len() => constant(ScalarValue::Null, ty)?,
                (None, None) => {
                    next_value += 1;
                    Expr::Column(columns[next_value - 1].clone())
                }
            };
            exprs.push(expr.alias(format!("__set_{at}")));
        }
        LogicalPlanBuilder::from(grouped).project(exprs)?.build()
    }

    /// The value of `grouping`: a bit for each argument, set where it is no key of the set.
    fn bits(&self, args: &[Expr], set: &[usize]) -> Result<ScalarValue> {
        let mut bits = 0;
        for arg in args {
            let mut keys = self.aggregate.group_expr[..self.key_count].iter();
            let arg = arg.clone().unalias();
            let key = keys.position(|key| key.clone().unalias() == arg).ok_or_else(no_key)?;
            bits = bits << 1 | i32::from(!set.contains(&key));
        }
        Ok(ScalarValue::Int32(Some(bits)))
    }
}

/// The arguments of a call of `grouping`.
fn grouping(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Alias(alias) => grouping(&alias.expr),
        Expr::AggregateFunction(call) if call.func.name() == "grouping" => Some(&call.params.args),
        _ => None,
    }
}

fn constant(value: ScalarValue, ty: &DataType) -> Result<Expr> {
    match value {
        ScalarValue::Null => Ok(cast(Expr::Literal(value, None), ty.clone())),
        value => Ok(Expr::Literal(value.cast_to(ty)?, None)),
    }
}

fn no_key() -> DataFusionError {
    let message =
        "arguments to GROUPING must be grouping expressions of the associated query level";
    DataFusionError::External(Box::new(SqlError::new(SqlState::GROUPING_ERROR, message)))
}
