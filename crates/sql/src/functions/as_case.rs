//! Functions that the library has as a `CASE` only.

use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};

/// A function that the library has as a `CASE` only, which its optimiser makes of it.
pub(crate) fn as_case(expr: datafusion_expr::Expr) -> Result<Transformed<datafusion_expr::Expr>> {
    let datafusion_expr::Expr::ScalarFunction(call) = expr else {
        return Ok(Transformed::no(expr));
    };
    if !matches!(call.func.name(), "coalesce" | "nvl" | "nvl2") {
        return Ok(Transformed::no(datafusion_expr::Expr::ScalarFunction(call)));
    }
    let simplified = call.func.simplify(call.args, &SimplifyContext::default())?;
    Ok(Transformed::yes(match simplified {
        ExprSimplifyResult::Simplified(case) => case,
        ExprSimplifyResult::Original(args) => {
            datafusion_expr::Expr::ScalarFunction(ScalarFunction::new_udf(call.func, args))
        }
    }))
}
