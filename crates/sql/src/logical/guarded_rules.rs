//! Rules of the library that change what a query means, kept from the plans where they do.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{
    Column, DFSchema, ExprSchema, JoinType, NullEquality, Result, ScalarValue,
};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Volatility, cast};
use datafusion_optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion_optimizer::eliminate_group_by_constant::EliminateGroupByConstant;
use datafusion_optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::optimizer::ApplyOrder;
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};
use types::datetime::infinite::{is_finite, is_finite_date};

use super::{constants, dependencies};
use crate::functions::as_case::as_case;
use crate::walk::nodes::{Nodes, erased, erased_ref};

/// A rule of the library, and what is done around it.
pub(crate) struct Guarded<R> {
    rule: R,
    guard: Box<Guard<R>>,
}

/// The work around a rule.
type Guard<R> =
    dyn Fn(&R, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> + Send + Sync;

impl<R> Guarded<R> {
    /// A rule, and who asks it.
    pub(crate) fn new(
        rule: R,
        guard: impl Fn(&R, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>
        + Send
        + Sync
        + 'static,
    ) -> Guarded<R> {
        Guarded { rule, guard: Box::new(guard) }
    }
}

impl<R: OptimizerRule> std::fmt::Debug for Guarded<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Guarded({})", self.rule.name())
    }
}

impl<R: OptimizerRule> OptimizerRule for Guarded<R> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        (self.guard)(&self.rule, plan, config)
    }
}

/// [`ExtractEquijoinPredicate`] but for joins whose keys take nulls for equal: an equality that it made a
/// key of theirs would do so too.
pub(crate) fn equijoin_predicates() -> Guarded<ExtractEquijoinPredicate> {
    Guarded::new(ExtractEquijoinPredicate::new(), |rule, plan, config| {
        match is_equal_by_nulls(&plan) {
            true => Ok(Transformed::no(plan)),
            false => rule.rewrite(plan, config),
        }
    })
}

/// [`EliminateCrossJoin`] but for plans with inner joins whose keys take nulls for equal: it gives all
/// joins of a tree the manner of one.
pub(crate) fn cross_joins() -> Guarded<EliminateCrossJoin> {
    Guarded::new(EliminateCrossJoin::new(), |rule, plan, config| {
        let mut found = false;
        plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
            found |= is_inner(node) && is_equal_by_nulls(node);
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        }))?;
        match found {
            true => Ok(Transformed::no(plan)),
            false => rule.rewrite(plan, config),
        }
    })
}

/// [`OptimizeProjections`] over plans that say rightly which columns determine others: it drops
/// those from the columns of groups. Where a query below computes what has an effect, no column is
/// dropped: it has the effect whether it is read or not.
pub(crate) fn projections() -> Guarded<OptimizeProjections> {
    Guarded::new(OptimizeProjections::new(), |rule, plan, config| {
        let plan = dependencies::corrected(plan)?;
        match has_effects_below(&plan)? {
            true => Ok(Transformed::no(plan)),
            false => rule.rewrite(plan, config),
        }
    })
}

/// True if a projection computes something volatile that is not the one of the query itself, whose
/// columns are read.
fn has_effects_below(plan: &LogicalPlan) -> Result<bool> {
    let mut below = plan;
    loop {
        match below {
            LogicalPlan::Sort(sort) => below = &sort.input,
            LogicalPlan::Limit(limit) => below = &limit.input,
            LogicalPlan::Projection(own) => {
                below = &own.input;
                break;
            }
            _ => break,
        }
    }
    let is_volatile = |node: &LogicalPlan| match node {
        LogicalPlan::Projection(projection) => projection.expr.iter().any(has_effect),
        _ => false,
    };
    below.exists(|node| Ok(is_volatile(node)))
}

/// True if a call may have an effect. Series of numbers have none: they are not to be folded.
fn has_effect(expr: &Expr) -> bool {
    let is_call = |part: &Expr| match part {
        Expr::ScalarFunction(call) => {
            let volatility = call.func.signature().volatility;
            volatility == Volatility::Volatile && call.func.name() != "generate_series_array"
        }
        _ => false,
    };
    expr.exists(|part| Ok(is_call(part))).unwrap_or(true)
}

/// [`ReplaceDistinctWithAggregate`] over such plans: it drops a `DISTINCT` of columns that are a key.
pub(crate) fn distincts() -> Guarded<ReplaceDistinctWithAggregate> {
    Guarded::new(ReplaceDistinctWithAggregate::new(), |rule, plan, config| match plan {
        LogicalPlan::Distinct(_) => rule.rewrite(dependencies::corrected(plan)?, config),
        other => Ok(Transformed::no(other)),
    })
}

/// [`SimplifyExpressions`] but where an infinite date or moment stands beside a cast to one: the library
/// would compute it by its own casts, which know no infinity. What only this rule knows to run is put into
/// words there. Of all others what is constant is computed by us (`simplified.rs`).
pub(crate) fn simplified() -> Guarded<SimplifyExpressions> {
    Guarded::new(SimplifyExpressions::new(), |rule, plan, config| match casts_infinity(&plan)? {
        true => as_cases(plan),
        false => crate::logical::simplified::simplified(plan, constants::folded, |plan| {
            rule.rewrite(plan, config)
        }),
    })
}

/// The plan with `coalesce` and its kin as `CASE`.
fn as_cases(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(erased(&mut |expr: Expr| {
        let name = names.save(&expr);
        Ok(expr.transform_up(as_case)?.update_data(|expr| name.restore(expr)))
    }))
}

fn casts_infinity(plan: &LogicalPlan) -> Result<bool> {
    let (mut infinite, mut casts) = (false, false);
    plan.apply_expressions(erased_ref(&mut |expr: &Expr| {
        expr.apply(|e| {
            match e {
                Expr::Literal(value, _) => infinite |= is_infinite(value),
                Expr::Cast(cast) => casts |= is_moment(cast.field.data_type()),
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })
    }))?;
    Ok(infinite && casts)
}

fn is_infinite(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Date32(Some(days)) => !is_finite_date(*days),
        ScalarValue::TimestampMicrosecond(Some(micros), _) => !is_finite(*micros),
        _ => false,
    }
}

fn is_moment(ty: &DataType) -> bool {
    matches!(ty, DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_))
}

/// [`SingleDistinctToGroupBy`], whose sums of sums have the types of the sums that they stand for.
pub(crate) fn single_distinct() -> Guarded<SingleDistinctToGroupBy> {
    Guarded::new(SingleDistinctToGroupBy::new(), |rule, plan, config| {
        let schema = Arc::clone(plan.schema());
        let rewritten = rule.rewrite(plan, config)?;
        match with_types_of(&rewritten.data, &schema)? {
            Some(typed) => Ok(Transformed::yes(typed)),
            None => Ok(rewritten),
        }
    })
}

/// [`EliminateGroupByConstant`] but for what is computed from keys of which equal ones look different:
/// zeros with a sign, intervals of one length.
pub(crate) fn groups() -> Guarded<EliminateGroupByConstant> {
    Guarded::new(EliminateGroupByConstant::new(), |rule, plan, config| match &plan {
        LogicalPlan::Aggregate(aggregate) if computes_from_lookalikes(aggregate) => {
            Ok(Transformed::no(plan))
        }
        _ => rule.rewrite(plan, config),
    })
}

fn computes_from_lookalikes(aggregate: &Aggregate) -> bool {
    let schema = aggregate.input.schema();
    let is_lookalike = |column: &Column| {
        schema.field_from_column(column).is_ok_and(|field| {
            field.data_type().is_floating() || matches!(field.data_type(), DataType::Interval(_))
        })
    };
    let computed = aggregate.group_expr.iter().filter(|e| !matches!(e, Expr::Column(_)));
    computed.flat_map(Expr::column_refs).any(is_lookalike)
}

/// [`PushDownFilter`] but for what it would push where it counts for more rows or for none: a condition
/// above an aggregation without groups, whose row is there whatever the input has, and a volatile
/// condition, which is asked once for each row that it stands above.
pub(crate) fn filters() -> Guarded<PushDownFilter> {
    Guarded::new(PushDownFilter::new(), |rule, plan, config| match volatile_apart(plan)? {
        Transformed { data, transformed: true, .. } => Ok(Transformed::yes(data)),
        Transformed { data, .. } if is_volatile_filter(&data) => Ok(Transformed::no(data)),
        Transformed { data, .. } if is_above_one_row(&data) => Ok(Transformed::no(data)),
        Transformed { data, .. } => rule.rewrite(one_after_the_other(data), config),
    })
}

/// Filters above each other as one, the lower condition first: it keeps rows from the upper one,
/// which the library would ask first.
pub(crate) fn one_after_the_other(mut plan: LogicalPlan) -> LogicalPlan {
    while let LogicalPlan::Filter(upper) = &plan
        && let LogicalPlan::Filter(lower) = upper.input.as_ref()
    {
        let mut joined = upper.clone();
        joined.predicate = lower.predicate.clone().and(upper.predicate.clone());
        joined.input = Arc::clone(&lower.input);
        plan = LogicalPlan::Filter(joined);
    }
    plan
}

/// Filters above each other of which some are volatile, as two of them, the volatile one above.
fn volatile_apart(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let (mut conditions, mut input, mut filters) = (vec![], &plan, 0);
    while let LogicalPlan::Filter(filter) = input {
        conditions.push(split_conjunction_owned(filter.predicate.clone()));
        input = filter.input.as_ref();
        filters += 1;
    }
    let conditions = conditions.into_iter().rev().flatten();
    let (volatile, others): (Vec<_>, Vec<_>) = conditions.partition(Expr::is_volatile);
    let is_apart = is_volatile_filter(&plan) && filters <= 2;
    match (conjunction(volatile), conjunction(others)) {
        (Some(volatile), Some(others)) if !is_apart => LogicalPlanBuilder::from(input.clone())
            .filter(others)?
            .filter(volatile)?
            .build()
            .map(Transformed::yes),
        _ => Ok(Transformed::no(plan)),
    }
}

/// Whether all conditions of a filter are volatile.
fn is_volatile_filter(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else { return false };
    split_conjunction(&filter.predicate).into_iter().all(Expr::is_volatile)
}

/// Whether filters alone stand between this one and an aggregation without groups.
fn is_above_one_row(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else { return false };
    match filter.input.as_ref() {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        below => is_above_one_row(below),
    }
}

/// The plan with its columns cast to the types of `schema`; `None` where they have them.
fn with_types_of(plan: &LogicalPlan, schema: &DFSchema) -> Result<Option<LogicalPlan>> {
    let fields = plan.schema().fields().iter().zip(schema.fields());
    if fields.into_iter().all(|(new, old)| new.data_type() == old.data_type()) {
        return Ok(None);
    }
    let columns = plan.schema().columns();
    let typed = columns.into_iter().zip(schema.iter()).map(|(column, (qualifier, field))| {
        cast(Expr::Column(column), field.data_type().clone())
            .alias_qualified(qualifier.cloned(), field.name())
    });
    let typed: Vec<Expr> = typed.collect();
    LogicalPlanBuilder::from(plan.clone()).project(typed)?.build().map(Some)
}

fn is_equal_by_nulls(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull)
}

fn is_inner(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner)
}
