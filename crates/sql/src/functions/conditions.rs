//! A function that is its argument: conditions that the library plans as one.

use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::expr::{BinaryExpr, ScalarFunction};
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

/// No function that a statement can name.
const NAME: &str = "(conditions)";

static FUNCTION: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(Conditions::default())));

/// The condition behind the function.
pub(crate) fn as_one(condition: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![condition]))
}

/// The condition behind the function, if it is a call of it.
pub(crate) fn within(call: &ScalarFunction) -> Option<&Expr> {
    call.args.first().filter(|_| call.func.name() == NAME)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Conditions(Signature);

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions(Signature::exact(vec![DataType::Boolean], Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Conditions {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    /// A chain that has become something else needs the function no more.
    fn simplify(&self, args: Vec<Expr>, _info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_chain = |arg: &Expr| {
            matches!(arg, Expr::BinaryExpr(BinaryExpr { op: Operator::And | Operator::Or, .. }))
        };
        match <[Expr; 1]>::try_from(args) {
            Ok([arg]) if !is_chain(&arg) => Ok(ExprSimplifyResult::Simplified(arg)),
            Ok(args) => Ok(ExprSimplifyResult::Original(args.into())),
            Err(args) => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args.remove(0))
    }
}
