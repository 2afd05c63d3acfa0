//! Calls of `generate_series` whose values are made as they are wanted.

use std::sync::Arc;

use arrow_schema::{DataType, IntervalUnit};
use datafusion_common::ScalarValue;
use datafusion_physical_expr::ScalarFunctionExpr;
use plan::expr::Expr;

use crate::expr::library::{as_node, physical};
use crate::expr::scalar::{as_type, cast, literal};
use crate::parse::set_functions::SERIES;

/// First value, last value and distance, where `expr` is the array of a series.
pub(crate) fn bounds(expr: &Expr) -> Option<[Expr; 3]> {
    let physical = physical(expr);
    let call = as_node::<ScalarFunctionExpr>(&physical).filter(|call| call.name() == SERIES)?;
    let DataType::List(element) = expr.data_type() else { return None };
    let ty = element.data_type();
    let argument = |i: usize, ty: &DataType| {
        let physical = Arc::clone(call.args().get(i)?);
        let text = physical.to_string();
        let own = Expr::new(expr.form().clone(), ty.clone(), &text, expr.costs());
        Some(as_type(own, physical, ty))
    };
    let step_type = match ty {
        DataType::Timestamp(..) => &DataType::Interval(IntervalUnit::MonthDayNano),
        other => other,
    };
    let step = match argument(2, step_type) {
        Some(step) => step,
        None => cast(literal(ScalarValue::Int32(Some(1))), ty),
    };
    Some([argument(0, ty)?, argument(1, ty)?, step])
}
