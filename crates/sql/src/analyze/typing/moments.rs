//! Dates beside moments.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::{Expr, ExprSchemable, cast};
use types::datetime::infinite::{day_of, is_finite};

use crate::analyze::typing::is_constant;
use crate::expr::scalar;

/// A constant timestamp at midnight beside a date is that date: an index on dates can find it.
pub(crate) fn settle_dates(exprs: &mut [Expr], schema: &DFSchema) -> Result<()> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    if !types.contains(&DataType::Date32) {
        return Ok(());
    }
    for (expr, ty) in exprs.iter_mut().zip(types) {
        if matches!(ty, DataType::Timestamp(_, None))
            && is_constant(expr)
            && let Ok(ScalarValue::TimestampMicrosecond(Some(micros), None)) =
                scalar::constant(expr)
            && (micros % MICROS_PER_DAY == 0 || !is_finite(micros))
        {
            *expr = Expr::Literal(ScalarValue::Date32(Some(day_of(micros))), None);
        }
    }
    dates_as_moments(exprs, schema)
}

/// Dates beside moments are moments too: of microseconds, which hold all of them and infinity.
fn dates_as_moments(exprs: &mut [Expr], schema: &DFSchema) -> Result<()> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let mut moments = types.iter().filter(|ty| matches!(ty, DataType::Timestamp(..)));
    let Some(first) = moments.clone().next() else { return Ok(()) };
    let zoned = moments.find(|ty| matches!(ty, DataType::Timestamp(_, Some(_))));
    let common = zoned.unwrap_or(first).clone();
    for (expr, ty) in exprs.iter_mut().zip(&types) {
        if *ty == DataType::Date32 {
            *expr = cast(std::mem::take(expr), common.clone());
        }
    }
    Ok(())
}

const MICROS_PER_DAY: i64 = 86_400_000_000;
