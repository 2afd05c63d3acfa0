//! Aggregate functions with their arguments, `FILTER`, `DISTINCT` and order.

mod function;

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::DFSchema;
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{AggregateUDF, ExprSchemable};
use datafusion_functions_aggregate::count::count_udaf;
use datafusion_physical_expr::aggregate::{
    AggregateExprBuilder, AggregateFunctionExpr, LoweredAggregateBuilder,
};
use plan::expr::{AggregateExpr, AggregateKind, Expr, Total};
use types::equality::has_lookalikes;
use types::{SqlError, SqlResult};

use crate::error::from_library;
use crate::expr::scalar;
use crate::functions::library::call;
use crate::functions::total::Total as Sum;
use function::Function;

/// Aggregates that make a list of their values.
const LISTS: [&str; 2] = ["array_agg", "string_agg"];

/// Whether the value of a call depends on the order in which its rows come.
pub(crate) fn follows_input(call: &AggregateFunction) -> bool {
    let is_list = LISTS.contains(&call.func.name());
    is_list && call.params.order_by.is_empty() && !call.params.distinct
}

/// Compiles a bound and coerced aggregate over rows of `schema`.
pub(crate) fn compile(expr: &datafusion_expr::Expr, schema: &DFSchema) -> SqlResult<AggregateExpr> {
    let mut bare = expr;
    while let datafusion_expr::Expr::Alias(alias) = bare {
        bare = &alias.expr;
    }
    let datafusion_expr::Expr::AggregateFunction(call) = bare else {
        return Err(SqlError::internal(format!("not an aggregate: {bare}")));
    };
    let text: Arc<str> = crate::render::expression(bare).into();
    let mut call = in_order_that_shows(call.clone());
    if call.params.distinct {
        distinct_by_form(&mut call, schema)?;
    }
    if !call.params.distinct && !call.func.supports_within_group_clause() {
        let order = call.params.order_by.iter_mut().map(|sort| &mut sort.expr);
        by_form(order, schema)?;
    }
    let filter = call.params.filter.as_deref().map(|f| scalar::compile(f, schema)).transpose()?;
    if counts_rows(&call) {
        return Ok(AggregateExpr {
            args: vec![],
            filter,
            kind: AggregateKind::Rows,
            follows_input: false,
            ty: DataType::Int64,
            text,
        });
    }
    let mut args = call
        .params
        .args
        .iter()
        .map(|a| scalar::compile(a, schema))
        .collect::<SqlResult<Vec<_>>>()?;
    // The values that order the input travel behind the arguments, each once, whatever its names.
    let mut keys: Vec<Expr> = vec![];
    for sort in &call.params.order_by {
        let key = scalar::compile(&sort.expr, schema)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    args.extend(keys);
    let lowered = lower(&datafusion_expr::Expr::AggregateFunction(call.clone()), schema)?;
    let ty = lowered.field().data_type().clone();
    let kind = match &ty {
        DataType::Decimal256(..) if call.func.name() == "avg" => average(&lowered, &args, schema)?,
        _ => {
            let total = total(&lowered, &args);
            AggregateKind::Foreign { function: Arc::new(Function(lowered)), total }
        }
    };
    let follows_input = follows_input(&call);
    Ok(AggregateExpr { args, filter, kind, follows_input, ty, text })
}

/// The call without an order of its rows that its value does not depend on. The library hands the values
/// that order them to such a function as well, which takes them for arguments.
fn in_order_that_shows(mut call: AggregateFunction) -> AggregateFunction {
    let shows = LISTS.contains(&call.func.name())
        || matches!(call.func.name(), "first_value" | "last_value" | "nth_value")
        || call.func.supports_within_group_clause();
    if !shows {
        call.params.order_by.clear();
    }
    call
}

/// Has a function of distinct values see those that are equal as the same one. Lists show their
/// values.
fn distinct_by_form(distinct: &mut AggregateFunction, schema: &DFSchema) -> SqlResult<()> {
    if LISTS.contains(&distinct.func.name()) || matches!(distinct.func.name(), "min" | "max") {
        return Ok(());
    }
    by_form(distinct.params.args.iter_mut(), schema)
}

/// The values in the form that equal ones share.
fn by_form<'a>(
    values: impl Iterator<Item = &'a mut datafusion_expr::Expr>,
    schema: &DFSchema,
) -> SqlResult<()> {
    for value in values {
        if has_lookalikes(&value.get_type(schema).map_err(from_library)?) {
            *value = call("equality_form", vec![std::mem::take(value)]).map_err(from_library)?;
        }
    }
    Ok(())
}

/// `count(*)` reaches us as the count of a constant that is not null.
fn counts_rows(call: &AggregateFunction) -> bool {
    let AggregateFunctionParams { args, distinct, .. } = &call.params;
    let constant = |e: &datafusion_expr::Expr| matches!(e, datafusion_expr::Expr::Literal(v, _) if !v.is_null());
    call.func.name() == "count" && !distinct && args.iter().all(constant)
}

fn lower(expr: &datafusion_expr::Expr, schema: &DFSchema) -> SqlResult<Arc<AggregateFunctionExpr>> {
    let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    let lowered =
        LoweredAggregateBuilder::new(expr, schema, schema.as_arrow(), &props, &context).build();
    Ok(lowered.map_err(from_library)?.aggregate)
}

/// The function as one of the plan's own, over all values of one argument.
fn total(function: &AggregateFunctionExpr, args: &[Expr]) -> Option<Total> {
    let [arg] = args else { return None };
    let is_plain = !function.is_distinct() && !function.ignore_nulls();
    let is_plain = is_plain && function.order_bys().is_empty();
    let field = function.field();
    let total = || Total::of(function.fun().name(), arg.data_type(), field.data_type());
    is_plain.then(total).flatten()
}

fn average(
    avg: &AggregateFunctionExpr,
    args: &[Expr],
    schema: &DFSchema,
) -> SqlResult<AggregateKind> {
    let build = |function, name: &str| {
        AggregateExprBuilder::new(function, avg.expressions())
            .schema(schema.inner().clone())
            .alias(name)
            .with_distinct(avg.is_distinct())
            .build()
            .map(Arc::new)
            .map_err(from_library)
    };
    let sum = build(Arc::new(AggregateUDF::from(Sum::default())), "sum")?;
    let total = total(&sum, args).and_then(Total::average);
    let count = Arc::new(Function(build(count_udaf(), "count")?));
    Ok(AggregateKind::Average { sum: Arc::new(Function(sum)), count, total })
}
