//! Bound window functions, compiled.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::DFSchema;
use datafusion_expr::expr::{AggregateFunction, NullTreatment, WindowFunction as Call};
use datafusion_expr::{Expr as Logical, ExprSchemable, WindowFunctionDefinition};
use plan::expr::{Expr, SortKey, WindowExpr, WindowFunction};
use types::{SqlError, SqlResult, SqlState};

use crate::error::from_library;
use crate::expr::scalar::{cast, compile as scalar};
use crate::expr::{aggregate, frame};

/// Compiles a bound and coerced window function over rows of `schema`; EXPLAIN shows it as
/// `shown`.
pub(crate) fn compile(expr: &Logical, shown: &Logical, schema: &DFSchema) -> SqlResult<WindowExpr> {
    let mut bare = expr;
    while let Logical::Alias(alias) = bare {
        bare = &alias.expr;
    }
    let Logical::WindowFunction(call) = bare else {
        return Err(SqlError::internal(format!("not a window function: {bare}")));
    };
    let compile = |e: &Logical| scalar(e, schema);
    let params = &call.params;
    if params.null_treatment == Some(NullTreatment::IgnoreNulls) {
        return Err(SqlError::unsupported("IGNORE NULLS"));
    }
    // Of a constant all rows are peers, as without it.
    let keys = params.order_by.iter().filter(|s| !matches!(s.expr, Logical::Literal(..)));
    let order_by = keys.map(|s| {
        let expr = compile(&s.expr)?;
        Ok(SortKey { expr, descending: !s.asc, nulls_first: s.nulls_first })
    });
    let order_by = order_by.collect::<SqlResult<Vec<_>>>()?;
    let (_, field) = bare.to_field(schema).map_err(from_library)?;
    let function = function(call, schema)?;
    let ty = match &function {
        WindowFunction::Aggregate(aggregate) => aggregate.data_type(),
        _ => field.data_type().clone(),
    };
    let args = params.args.iter().map(compile).collect::<SqlResult<Vec<_>>>()?;
    let args = inputs(&function, &args)?;
    let frame = frame::compile(&params.window_frame, &params.order_by, schema)?;
    let partition_by = params.partition_by.iter().map(compile).collect::<SqlResult<_>>()?;
    let text = crate::render::expression(shown);
    Ok(WindowExpr::new(function, args, (partition_by, order_by), frame, ty, &text))
}

/// The arguments of a function in the types that it reads.
fn inputs(function: &WindowFunction, args: &[Expr]) -> SqlResult<Vec<Expr>> {
    let missing = || SqlError::new(SqlState::UNDEFINED_FUNCTION, "an argument is missing");
    let arg = |at: usize| args.get(at).cloned().ok_or_else(missing);
    let integer = |at: usize| arg(at).map(|arg| cast(arg, &DataType::Int64));
    Ok(match function {
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => vec![],
        WindowFunction::Ntile => vec![integer(0)?],
        WindowFunction::Shift(_) => {
            let value = arg(0)?;
            let ty = value.data_type().clone();
            let mut inputs = vec![value];
            if args.len() > 1 {
                inputs.push(integer(1)?);
            }
            if args.len() > 2 {
                inputs.push(cast(arg(2)?, &ty));
            }
            inputs
        }
        WindowFunction::First | WindowFunction::Last => vec![arg(0)?],
        WindowFunction::Nth => vec![arg(0)?, integer(1)?],
        WindowFunction::Aggregate(call) => call.args.iter().chain(&call.filter).cloned().collect(),
    })
}

fn function(call: &Call, schema: &DFSchema) -> SqlResult<WindowFunction> {
    let name = match &call.fun {
        WindowFunctionDefinition::WindowUDF(function) => function.name().to_owned(),
        WindowFunctionDefinition::AggregateUDF(function) => match function.name() {
            "first_value" | "last_value" | "nth_value" => function.name().to_owned(),
            _ => {
                let params = &call.params;
                let aggregate = Logical::AggregateFunction(AggregateFunction::new_udf(
                    Arc::clone(function),
                    params.args.clone(),
                    params.distinct,
                    params.filter.clone(),
                    vec![],
                    None,
                ));
                let aggregate = aggregate::compile(&aggregate, schema)?;
                return Ok(WindowFunction::Aggregate(Box::new(aggregate)));
            }
        },
    };
    Ok(match name.as_str() {
        "row_number" => WindowFunction::RowNumber,
        "rank" => WindowFunction::Rank,
        "dense_rank" => WindowFunction::DenseRank,
        "percent_rank" => WindowFunction::PercentRank,
        "cume_dist" => WindowFunction::CumeDist,
        "ntile" => WindowFunction::Ntile,
        "lag" => WindowFunction::Shift(-1),
        "lead" => WindowFunction::Shift(1),
        "first_value" => WindowFunction::First,
        "last_value" => WindowFunction::Last,
        "nth_value" => WindowFunction::Nth,
        other => return Err(SqlError::unsupported(format!("the window function {other}"))),
    })
}
