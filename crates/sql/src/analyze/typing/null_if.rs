//! Zero and minus zero: equal, but not the same.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::{BinaryExpr, InList};
use datafusion_expr::{Expr, ExprSchemable, Operator, cast};

use crate::analyze::typing::operator;

/// Whether some are floats, of which two are equal that are not the same: 0 and -0. What the library does
/// other than by `=` tells them apart.
pub(crate) fn has_floats<'a>(
    exprs: impl IntoIterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> Result<bool> {
    for expr in exprs {
        if expr.get_type(schema)?.is_floating() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A list for floats that has a zero has both of them.
pub(crate) fn with_both_zeros(list: &mut InList, schema: &DFSchema) -> Result<()> {
    let zero = |e: &Expr| match e {
        Expr::Literal(value, _) if value.data_type().is_numeric() => {
            ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero == *value)
        }
        _ => false,
    };
    if list.list.iter().any(zero)
        && has_floats(std::iter::once(&*list.expr).chain(&list.list), schema)?
    {
        list.list.extend([0.0, -0.0].map(|zero: f64| Expr::Literal(ScalarValue::from(zero), None)));
    }
    Ok(())
}

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
