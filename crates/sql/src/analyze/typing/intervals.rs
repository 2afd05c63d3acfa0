//! Intervals compare by their length, a month as 30 days and a day as 24 hours; the library compares months
//! first.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result};
use datafusion_expr::expr::Sort;
use datafusion_expr::{Expr, ExprSchemable, WindowFrame, WindowFrameBound};

use crate::functions::library::call;

/// Whether some are intervals, and the others null.
pub(crate) fn are_all(exprs: &[Expr], schema: &DFSchema) -> Result<bool> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let interval = |ty: &DataType| matches!(ty, DataType::Interval(_));
    Ok(types.iter().any(interval) && types.iter().all(|ty| interval(ty) || ty.is_null()))
}

/// Intervals that are compared with each other as their lengths.
pub(crate) fn compare_by_length(exprs: &mut [Expr], schema: &DFSchema) -> Result<()> {
    if !are_all(exprs, schema)? {
        return Ok(());
    }
    exprs.iter_mut().try_for_each(to_length)
}

/// Keys that are intervals as their lengths.
pub(crate) fn sort_by_length(keys: &mut [Sort], schema: &DFSchema) -> Result<()> {
    for key in keys {
        if matches!(key.expr.get_type(schema)?, DataType::Interval(_)) {
            to_length(&mut key.expr)?;
        }
    }
    Ok(())
}

fn to_length(expr: &mut Expr) -> Result<()> {
    *expr = call("interval_length", vec![std::mem::take(expr)])?;
    Ok(())
}

/// Whether a bound of the frame is some distance away from the row.
pub(crate) fn has_distance(frame: &WindowFrame) -> bool {
    let far = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(n) | WindowFrameBound::Following(n) => !n.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    far(&frame.start_bound) || far(&frame.end_bound)
}
