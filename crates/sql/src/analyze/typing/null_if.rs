//! `nullif`, whose values are compared as `=` compares them.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, ExprSchemable, Operator, cast};

use crate::analyze::typing::operator;

/// `nullif` of two values that `=` compares. What is no float becomes one beside one, and stays it.
pub(crate) fn null_if_equal(mut args: Vec<Expr>, schema: &DFSchema) -> Result<Expr> {
    let (Some(other), Some(value)) = (args.pop(), args.pop()) else {
        return Err(DataFusionError::Internal("nullif has two arguments".into()));
    };
    let (ty, beside) = (value.get_type(schema)?, other.get_type(schema)?);
    let is_brought = beside.is_floating() && ty.is_numeric() && !ty.is_floating();
    let value = if is_brought { cast(value, DataType::Float64) } else { value };
    let equal = BinaryExpr::new(Box::new(value.clone()), Operator::Eq, Box::new(other));
    let null = Expr::Literal(ScalarValue::try_from(value.get_type(schema)?)?, None);
    datafusion_expr::when(operator(equal, schema)?, null).otherwise(value)
}
