//! Bound frames of window functions, compiled.

use arrow_schema::{DataType, SortOptions};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{
    ExprSchemable, Operator, SortExpr, WindowFrame, WindowFrameBound, WindowFrameUnits,
    binary_expr, cast, lit,
};
use plan::expr::{Frame, FrameBound, FrameUnits};
use types::{SqlError, SqlResult, SqlState};

use crate::error::from_library;
use crate::expr::scalar;
use crate::functions::library::call;

/// Holds the sum of any two whole numbers.
const ROOMY: DataType = DataType::Decimal128(20, 0);

/// Compiles a frame of rows of `schema` in the order of these keys.
pub(crate) fn compile(
    frame: &WindowFrame,
    order: &[SortExpr],
    schema: &DFSchema,
) -> SqlResult<Frame> {
    let key = match order.first() {
        None => None,
        Some(s) => {
            let options = SortOptions { descending: !s.asc, nulls_first: s.nulls_first };
            Some((scalar::compile(&key_of(s, schema)?, schema)?, options))
        }
    };
    let ty = key.as_ref().map(|(key, _)| key.data_type().clone());
    let bound = |b: &WindowFrameBound| match (bound(b, frame.units, order, schema)?, &ty) {
        (FrameBound::Value(expr), Some(ty)) => Ok(FrameBound::Value(scalar::cast(expr, ty))),
        (bound, _) => Ok(bound),
    };
    let (start, end) = (bound(&frame.start_bound)?, bound(&frame.end_bound)?);
    let units = match frame.units {
        WindowFrameUnits::Rows => FrameUnits::Rows,
        WindowFrameUnits::Range => FrameUnits::Range,
        WindowFrameUnits::Groups => FrameUnits::Groups,
    };
    Ok(Frame { units, start, end, key })
}

/// The key by which distances are measured: whole numbers with room for what lies beyond the last
/// of them.
fn key_of(order: &SortExpr, schema: &DFSchema) -> SqlResult<datafusion_expr::Expr> {
    let key = order.expr.clone();
    Ok(match key.get_type(schema).map_err(from_library)?.is_integer() {
        true => cast(key, ROOMY),
        false => key,
    })
}

fn bound(
    bound: &WindowFrameBound,
    units: WindowFrameUnits,
    order: &[SortExpr],
    schema: &DFSchema,
) -> SqlResult<FrameBound> {
    let (value, sign) = match bound {
        WindowFrameBound::CurrentRow => return Ok(FrameBound::Current),
        WindowFrameBound::Preceding(v) if v.is_null() => return Ok(FrameBound::First),
        WindowFrameBound::Following(v) if v.is_null() => return Ok(FrameBound::Last),
        WindowFrameBound::Preceding(v) => (v, -1),
        WindowFrameBound::Following(v) => (v, 1),
    };
    if units != WindowFrameUnits::Range {
        return Ok(FrameBound::Distance(sign * row_count(value)?));
    }
    let [key] = order else {
        let message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
        return Err(SqlError::new(SqlState("42P20"), message));
    };
    if value.data_type().is_numeric() && matches!(value.arithmetic_negate(), Ok(n) if n > *value) {
        return Err(negative_offset());
    }
    let minus = (sign < 0) == key.asc;
    let op = if minus { Operator::Minus } else { Operator::Plus };
    let key = key_of(key, schema)?;
    let ty = key.get_type(schema).map_err(from_library)?;
    let value = match ty.is_numeric() && value.data_type().is_numeric() {
        true => value.cast_to(&ty).map_err(from_library)?,
        false => value.clone(),
    };
    let shifted = match (&ty, value.data_type()) {
        // By our arithmetic, which knows infinity.
        (DataType::Timestamp(..), DataType::Interval(_)) => {
            let name = if minus { "time_minus_span" } else { "time_plus_span" };
            call(name, vec![key, lit(value)]).map_err(from_library)?
        }
        _ => binary_expr(key, op, lit(value)),
    };
    Ok(FrameBound::Value(scalar::compile(&shifted, schema)?))
}

/// A constant of a frame's bound as a number of rows.
fn row_count(value: &ScalarValue) -> SqlResult<i64> {
    let count = value.cast_to(&DataType::Int64).map_err(from_library)?;
    match count {
        ScalarValue::Int64(Some(n)) if n >= 0 => Ok(n),
        _ => Err(negative_offset()),
    }
}

fn negative_offset() -> SqlError {
    SqlError::new(SqlState("22013"), "frame offset must not be negative")
}
