//! `GROUPING SETS`, `ROLLUP` and `CUBE`: an aggregation for each set, put together.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{
    Column, DFSchema, Result, ScalarValue, get_target_functional_dependencies,
};
use datafusion_expr::utils::grouping_set_to_exprlist;
use datafusion_expr::{Aggregate, Expr, GroupingSet, LogicalPlan, LogicalPlanBuilder, cast, lit};
use datafusion_functions_aggregate::count::count;

/// Replaces all grouping sets in a plan.
pub(super) fn expand(plan: LogicalPlan, names: &AliasGenerator) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Aggregate(aggregate)
            if matches!(aggregate.group_expr[..], [Expr::GroupingSet(_)]) =>
        {
            Ok(Transformed::yes(expanded(aggregate, names)?))
        }
        other => Ok(Transformed::no(other)),
    })
    .data()
}

fn expanded(aggregate: Aggregate, names: &AliasGenerator) -> Result<LogicalPlan> {
    let all: Vec<Expr> =
        grouping_set_to_exprlist(&aggregate.group_expr)?.into_iter().cloned().collect();
    let [Expr::GroupingSet(given)] = &aggregate.group_expr[..] else {
        return Ok(LogicalPlan::Aggregate(aggregate));
    };
    let outputs: Vec<String> =
        aggregate.schema.fields().iter().map(|_| names.next("__set")).collect();
    let mut together: Option<LogicalPlanBuilder> = None;
    let sets = asked_for(sets(given), aggregate.input.schema());
    for (number, set) in sets.iter().enumerate() {
        let ordinal = sets[..number].iter().filter(|s| *s == set).count();
        let rows = one_set(&aggregate, &all, set, ordinal, &outputs)?;
        together = Some(match together {
            None => LogicalPlanBuilder::from(rows),
            Some(before) => before.union(rows)?,
        });
    }
    let together = together.unwrap_or_else(|| LogicalPlanBuilder::empty(false)).build()?;
    let columns = together.schema().columns().into_iter().zip(aggregate.schema.iter());
    let exprs = columns.map(|(column, (qualifier, field))| {
        Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
    });
    let exprs: Vec<Expr> = exprs.collect();
    LogicalPlanBuilder::from(together).project(exprs)?.build()
}

/// The columns of each set.
fn sets(given: &GroupingSet) -> Vec<Vec<Expr>> {
    match given {
        GroupingSet::GroupingSets(sets) => sets.clone(),
        GroupingSet::Rollup(exprs) => {
            (0..=exprs.len()).rev().map(|n| exprs[..n].to_vec()).collect()
        }
        GroupingSet::Cube(exprs) => (0..1usize << exprs.len())
            .rev()
            .map(|mask| {
                let kept = exprs.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
                kept.map(|(_, e)| e.clone()).collect()
            })
            .collect(),
    }
}

/// The sets without what the library's builder has added to the end of each: the columns that the
/// keys in all of them determine. Of these only such stay as no set names; those that one names are
/// null in the others.
fn asked_for(sets: Vec<Vec<Expr>>, input: &DFSchema) -> Vec<Vec<Expr>> {
    let Some(first) = sets.first() else { return sets };
    let ends_so = |n: usize| {
        let end = &first[first.len() - n..];
        sets.iter().all(|set| set.ends_with(end)) && is_implied(&sets, n, input)
    };
    let added = (1..=first.len()).rev().find(|&n| ends_so(n)).unwrap_or(0);
    let named = |e: &Expr| sets.iter().any(|set| set[..set.len() - added].contains(e));
    let short = |set: &Vec<Expr>| {
        let (asked, implied) = set.split_at(set.len() - added);
        let kept = implied.iter().filter(|e| !named(e));
        let mut exprs = Vec::with_capacity(set.len());
        for expr in asked.iter().chain(kept) {
            if !exprs.contains(expr) {
                exprs.push(expr.clone());
            }
        }
        exprs
    };
    sets.iter().map(short).collect()
}

/// Whether the last `n` of each set are what the others that all sets have determine.
fn is_implied(sets: &[Vec<Expr>], n: usize, input: &DFSchema) -> bool {
    let (others, last) = sets[0].split_at(sets[0].len() - n);
    let in_all = |e: &&Expr| sets.iter().all(|set| set[..set.len() - n].contains(e));
    let keys: Vec<String> =
        others.iter().filter(in_all).map(|e| e.schema_name().to_string()).collect();
    let Some(targets) = get_target_functional_dependencies(input, &keys) else { return false };
    let implied = targets.into_iter().map(|i| Expr::Column(Column::from(input.qualified_field(i))));
    implied.filter(|e| !keys.contains(&e.schema_name().to_string())).eq(last.iter().cloned())
}

/// The aggregation of one set, with nulls for the columns that it has not.
fn one_set(
    aggregate: &Aggregate,
    all: &[Expr],
    set: &[Expr],
    ordinal: usize,
    outputs: &[String],
) -> Result<LogicalPlan> {
    let mut values = aggregate.aggr_expr.clone();
    if set.is_empty() && values.is_empty() {
        values.push(count(lit(1i64)).alias("__rows"));
    }
    // Made without the library's builder, which adds the columns that a key in the set determines.
    let input = Arc::clone(&aggregate.input);
    let grouped = LogicalPlan::Aggregate(Aggregate::try_new(input, set.to_vec(), values)?);
    let fields = aggregate.schema.fields();
    let mut exprs = Vec::with_capacity(fields.len());
    let mut id: u64 = ordinal as u64;
    for (i, expr) in all.iter().enumerate() {
        let at = set.iter().position(|e| e == expr);
        id = id << 1 | u64::from(at.is_none());
        exprs.push(match at {
            Some(at) => Expr::Column(grouped.schema().columns().swap_remove(at)),
            None => cast(Expr::Literal(ScalarValue::Null, None), fields[i].data_type().clone()),
        });
    }
    let id_type = fields[all.len()].data_type().clone();
    exprs.push(Expr::Literal(ScalarValue::UInt64(Some(id)).cast_to(&id_type)?, None));
    let columns = grouped.schema().columns();
    let own = columns.into_iter().skip(set.len()).take(aggregate.aggr_expr.len());
    exprs.extend(own.map(Expr::Column));
    let exprs = exprs.into_iter().zip(outputs).map(|(e, name)| e.alias(name));
    let exprs: Vec<Expr> = exprs.collect();
    LogicalPlanBuilder::from(grouped).project(exprs)?.build()
}
