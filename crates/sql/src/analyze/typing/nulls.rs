//! Nulls that have no type of their own, and `nullif`.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{Expr, ExprSchemable, cast};

use crate::analyze::typing::align;

/// `nullif` has the type that its first argument has to `=`: its own, where there is an operator of the
/// two types.
pub(crate) fn null_if_aligned(mut given: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let types = given.args.iter().map(|arg| arg.get_type(schema)).collect::<Result<Vec<_>>>()?;
    align(&mut given.args, schema)?;
    let [first, second] = types.as_slice() else { return Ok(Expr::ScalarFunction(given)) };
    let is_moment = |ty: &DataType| matches!(ty, DataType::Date32 | DataType::Timestamp(..));
    let has_operator = (first.is_signed_integer() && second.is_signed_integer())
        || (is_moment(first) && is_moment(second));
    // Where both are alike the call has their type, which may be found only later: that of literals in a
    // derived table.
    let first = (has_operator && first != second).then(|| first.clone());
    let call = Expr::ScalarFunction(given);
    Ok(match first {
        Some(first) => cast(call, first),
        None => call,
    })
}

/// `abs` of a null that has no type is a double: of the types of numbers this one is preferred.
pub(crate) fn prefer_double(call: &mut ScalarFunction, schema: &DFSchema) -> Result<()> {
    if let ("abs", [value]) = (call.func.name(), call.args.as_mut_slice())
        && value.get_type(schema)? == DataType::Null
    {
        *value = cast(std::mem::take(value), DataType::Float64);
    }
    Ok(())
}

/// Of the types that have parts, of a null without a type, text is preferred.
pub(crate) fn prefer_text(call: &mut ScalarFunction, schema: &DFSchema) -> Result<()> {
    if let ("substr" | "substring", [value, ..]) = (call.func.name(), call.args.as_mut_slice())
        && value.get_type(schema)? == DataType::Null
    {
        *value = cast(std::mem::take(value), DataType::Utf8View);
    }
    Ok(())
}

/// Of two nulls without a type that are to be put together, text is preferred.
pub(crate) fn text_beside_null(sides: &mut [Expr; 2], schema: &DFSchema) -> Result<()> {
    for side in sides.iter() {
        if side.get_type(schema)? != DataType::Null {
            return Ok(());
        }
    }
    sides[0] = cast(std::mem::take(&mut sides[0]), DataType::Utf8View);
    Ok(())
}

/// What has no type has that of the other operand, if there is such an operator: a date less a date.
pub(crate) fn date_beside_date(sides: &mut [Expr; 2], schema: &DFSchema) -> Result<()> {
    let types = [sides[0].get_type(schema)?, sides[1].get_type(schema)?];
    for (side, [own, other]) in sides.iter_mut().zip([[0, 1], [1, 0]]) {
        if types[own] == DataType::Null && types[other] == DataType::Date32 {
            *side = cast(std::mem::take(side), DataType::Date32);
        }
    }
    Ok(())
}
