//! Cuts fragments out of a plan: the largest subtree over one of our tables that is right by
//! partition (scan, filter, projection, partial aggregation) becomes one node of ours. It runs
//! after the library's rules and before it distributes the plan. An aggregate over a fragment that
//! is none of ours is an error, not the library's.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, not_impl_datafusion_err, not_impl_err};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;

use crate::fragment::{Aggregate, Fragment, Function, Partial, Scalar, Step};
use crate::node::FragmentExec;

/// The rule.
#[derive(Debug)]
pub struct Cut;

impl PhysicalOptimizerRule for Cut {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| match grown(&plan)? {
            Some(grown) => Ok(Transformed::yes(grown)),
            None => Ok(Transformed::no(plan)),
        })
        .map(|cut| cut.data)
    }

    fn name(&self) -> &str {
        "dovetail fragments"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The node as part of the fragment below it; `None` if it stays above it.
fn grown(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let children = plan.children();
    let [below] = children.as_slice() else { return Ok(None) };
    let Some(below) = below.downcast_ref::<FragmentExec>() else { return Ok(None) };
    let fragment = below.fragment();
    if fragment.is_partial() {
        return Ok(None);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return filtered(below, filter).map(Some);
    }
    let longer = if let Some(project) = plan.downcast_ref::<ProjectionExec>() {
        let exprs = project.expr().iter().map(|projected| Arc::clone(&projected.expr)).collect();
        fragment.then(Step::Project(exprs, plan.schema()))
    } else if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        fragment.then(Step::Aggregate(partial(aggregate)?))
    } else {
        return Ok(None);
    };
    Ok(Some(Arc::new(below.with(longer)?)))
}

/// A filter may project its columns, and end after some rows: the limit of each partition stays
/// above.
fn filtered(below: &FragmentExec, filter: &FilterExec) -> Result<Arc<dyn ExecutionPlan>> {
    let mut fragment = below.fragment().then(Step::Filter(Arc::clone(filter.predicate())));
    if let Some(kept) = filter.projection() {
        fragment = columns(&fragment, kept, filter);
    }
    let node = Arc::new(below.with(fragment)?);
    Ok(match filter.fetch() {
        Some(fetch) => Arc::new(LocalLimitExec::new(node, fetch)),
        None => node,
    })
}

fn columns(fragment: &Fragment, kept: &[usize], filter: &FilterExec) -> Fragment {
    let from = fragment.schema();
    let column = |at: &usize| Arc::new(Column::new(from.field(*at).name(), *at)) as Scalar;
    fragment.then(Step::Project(kept.iter().map(column).collect(), filter.schema()))
}

/// The aggregation of one partition.
fn partial(aggregate: &AggregateExec) -> Result<Partial> {
    if *aggregate.mode() != AggregateMode::Partial {
        return not_impl_err!("an aggregation of a whole table in one place is not distributed");
    }
    let by = aggregate.group_expr();
    if !by.is_true_no_grouping() && !by.is_single() {
        return not_impl_err!("GROUPING SETS are not computed in fragments");
    }
    let groups = by.input_exprs();
    let calls = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    let states = calls.map(|(call, filter)| states(call, filter.as_ref()));
    let states = states.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    Ok(Partial { groups, states, schema: aggregate.schema() })
}

/// The columns of the state of an aggregate, as aggregates.
fn states(call: &AggregateFunctionExpr, filter: Option<&Scalar>) -> Result<Vec<Aggregate>> {
    let name = call.fun().name();
    let refused = || not_impl_datafusion_err!("{} is not computed in fragments", call.name());
    let functions: &[Function] = match name {
        _ if call.is_distinct() || !call.order_bys().is_empty() => return Err(refused()),
        "count" => &[Function::Count],
        "sum" => &[Function::Sum],
        "min" => &[Function::Min],
        "max" => &[Function::Max],
        "avg" => &[Function::Count, Function::Sum],
        _ => return Err(refused()),
    };
    let (args, fields) = (call.expressions(), call.state_fields()?);
    let [arg] = args.as_slice() else { return Err(refused()) };
    if fields.len() != functions.len() {
        return Err(refused());
    }
    let state = |(function, field): (&Function, &arrow_schema::FieldRef)| {
        let (function, arg) = match is_rows(*function, arg) {
            true => (Function::Rows, None),
            false => (*function, Some(Arc::clone(arg))),
        };
        Aggregate { function, arg, filter: filter.cloned(), ty: field.data_type().clone() }
    };
    Ok(functions.iter().zip(&fields).map(state).collect())
}

/// `count(*)` is the library's count of a constant.
fn is_rows(function: Function, arg: &Scalar) -> bool {
    let literal = arg.downcast_ref::<Literal>();
    function == Function::Count && literal.is_some_and(|literal| !literal.value().is_null())
}
