//! Parameters whose values come when a plan runs, in plans that are kept for all values.
//!
//! While the plan is made each has the value of the execution that it is made for, by which access
//! paths are priced. To all but those that ask here it is a function without arguments, of whose
//! value nothing is known.

use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use plan::limits;

use crate::walk::nodes::Nodes;

/// A parameter, by its number among the values of an execution.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RuntimeParameter {
    signature: Signature,
    name: String,
    number: usize,
    value: ScalarValue,
}

/// The parameter with this number, planned for this value.
pub(crate) fn parameter(number: usize, value: ScalarValue) -> Expr {
    let signature = Signature::nullary(Volatility::Stable);
    let name = format!("${}", number + 1);
    let function = ScalarUDF::from(RuntimeParameter { signature, name, number, value });
    Expr::ScalarFunction(ScalarFunction::new_udf(function.into(), vec![]))
}

/// The parameter that an expression is.
fn of(expr: &Expr) -> Option<&RuntimeParameter> {
    let Expr::ScalarFunction(call) = expr else { return None };
    call.func.inner().downcast_ref()
}

/// True if an expression is nothing but such a parameter.
pub(crate) fn is_one(expr: &Expr) -> bool {
    of(expr).is_some()
}

/// The number of such a parameter.
pub(crate) fn number(expr: &Expr) -> Option<usize> {
    of(expr).map(|parameter| parameter.number)
}

/// Values of run-time parameters: those of an execution, or those that each was planned for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Valued<'a>(pub(crate) Option<&'a [ScalarValue]>);

impl<'a> Valued<'a> {
    /// The value of an expression that is a constant or such a parameter.
    pub(crate) fn value(self, expr: &'a Expr) -> Option<&'a ScalarValue> {
        match expr {
            Expr::Literal(value, _) => Some(value),
            other => {
                let parameter = of(other)?;
                let given = self.0.and_then(|values| values.get(parameter.number));
                Some(given.unwrap_or(&parameter.value))
            }
        }
    }
}

/// The value of an expression that is a constant or such a parameter, as it was planned for.
pub(crate) fn value(expr: &Expr) -> Option<&ScalarValue> {
    Valued::default().value(expr)
}

/// True if there is such a parameter in it.
pub(crate) fn is_within(expr: &Expr) -> bool {
    expr.exists(|part| Ok(of(part).is_some())).unwrap_or(true)
}

/// The expression with constants in the places of such parameters: these values, or those that it
/// was planned for.
pub(crate) fn with_values(expr: &Expr, values: Option<&[ScalarValue]>) -> Result<Expr> {
    let valued = |part: Expr| {
        let Some(parameter) = of(&part) else { return Ok(Transformed::no(part)) };
        let given = values.and_then(|values| values.get(parameter.number));
        let value = given.unwrap_or(&parameter.value).clone();
        Ok(Transformed::yes(Expr::Literal(value, None)))
    };
    expr.clone().transform_down(valued).data()
}

impl RuntimeParameter {
    /// Its number among the values of an execution.
    pub(super) fn number(&self) -> usize {
        self.number
    }
}

impl ScalarUDFImpl for RuntimeParameter {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[arrow_schema::DataType]) -> Result<arrow_schema::DataType> {
        Ok(self.value.data_type())
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match limits::parameter(self.number) {
            Ok(value) => Ok(ColumnarValue::Scalar(value)),
            Err(error) => Err(DataFusionError::External(Box::new(error))),
        }
    }
}
