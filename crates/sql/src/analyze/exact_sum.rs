//! `sum` over `bigint` is `numeric`, as in PostgreSQL: the library's would wrap around.

use arrow_schema::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, WindowFunctionDefinition, cast};
use datafusion_optimizer::AnalyzerRule;

use crate::walk::nodes::{Nodes, erased};

/// Widens the argument of `sum` where 64 bits may not hold the result. Runs before coercion.
#[derive(Debug)]
pub(crate) struct ExactSum;

/// Digits of the largest 64-bit integer.
const BIGINT_DIGITS: u8 = 19;

impl AnalyzerRule for ExactSum {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(erased(&mut |node| {
            let schema = match &node {
                LogicalPlan::Aggregate(aggregate) => aggregate.input.schema().clone(),
                LogicalPlan::Window(window) => window.input.schema().clone(),
                _ => return Ok(Transformed::yes(node.recompute_schema()?)),
            };
            let preserver = NamePreserver::new(&node);
            let widened = node.map_expressions(erased(&mut |expr: Expr| {
                let name = preserver.save(&expr);
                Ok(Transformed::yes(name.restore(widen_sums(expr, &schema)?)))
            }))?;
            Ok(Transformed::yes(widened.data.recompute_schema()?))
        }))?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "exact_sum"
    }
}

/// Widens all sums within an expression over rows of `schema`.
pub(crate) fn widen_sums(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(expr.transform_up(|e| widen(e, schema))?.data)
}

fn widen(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::AggregateFunction(mut call)
            if call.func.name() == "sum"
                && call.params.args.len() == 1
                && may_overflow(&call.params.args[0], schema) =>
        {
            let arg = call.params.args.remove(0);
            call.params.args.push(cast(arg, DataType::Decimal128(BIGINT_DIGITS, 0)));
            Ok(Transformed::yes(Expr::AggregateFunction(call)))
        }
        Expr::WindowFunction(mut window)
            if matches!(&window.fun, WindowFunctionDefinition::AggregateUDF(f) if f.name() == "sum")
                && window.params.args.len() == 1
                && may_overflow(&window.params.args[0], schema) =>
        {
            let arg = window.params.args.remove(0);
            window.params.args.push(cast(arg, DataType::Decimal128(BIGINT_DIGITS, 0)));
            Ok(Transformed::yes(Expr::WindowFunction(window)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether the values may need more than 32 bits, so that 2^31 of them may overflow.
fn may_overflow(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        // Small whole numbers are integer by now.
        Expr::Literal(value, _) => matches!(value, ScalarValue::Int64(Some(_))),
        Expr::Case(case) => {
            case.when_then_expr.iter().any(|(_, then)| may_overflow(then, schema))
                || case.else_expr.as_deref().is_some_and(|e| may_overflow(e, schema))
        }
        other => other.get_type(schema).is_ok_and(|t| t == DataType::Int64),
    }
}
