//! Literals of numbers, with the types that PostgreSQL gives them.

use datafusion_common::metadata::FieldMetadata;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::Expr;

use crate::analyze::typing::too_large;

/// A literal as the library has read it, with PostgreSQL's type.
///
/// # Errors
/// 22003 for a whole number with an exponent that is too large.
pub(crate) fn typed(value: ScalarValue, meta: Option<FieldMetadata>) -> Result<Expr> {
    let value = match value {
        ScalarValue::Int64(Some(v)) => match i32::try_from(v) {
            Ok(v) => ScalarValue::Int32(Some(v)),
            Err(_) => ScalarValue::Int64(Some(v)),
        },
        ScalarValue::UInt64(Some(v)) => ScalarValue::Decimal128(Some(i128::from(v)), 20, 0),
        // One million is written `1e6`: a whole number all the same.
        ScalarValue::Decimal128(Some(v), _, scale @ i8::MIN..=-1) => {
            let factor = 10i128.checked_pow(u32::from(scale.unsigned_abs()));
            match factor.and_then(|f| v.checked_mul(f)) {
                Some(v) => ScalarValue::Decimal128(Some(v), 38, 0),
                None => return Err(DataFusionError::External(Box::new(too_large()))),
            }
        }
        other => other,
    };
    Ok(Expr::Literal(value, meta))
}

/// An expression behind a sign.
pub(crate) fn negative(inner: Expr) -> Expr {
    match inner {
        // Without this, the smallest integers could not be written.
        Expr::Literal(ScalarValue::Int64(Some(v)), meta) if v == 1 << 31 => {
            Expr::Literal(ScalarValue::Int32(Some(i32::MIN)), meta)
        }
        // The smallest integers without their sign are of the next larger type.
        Expr::Literal(ScalarValue::Int32(Some(i32::MIN)), meta) => {
            Expr::Literal(ScalarValue::Int64(Some(1 << 31)), meta)
        }
        Expr::Literal(ScalarValue::Int64(Some(i64::MIN)), meta) => {
            Expr::Literal(ScalarValue::Decimal128(Some(1 << 63), 20, 0), meta)
        }
        other => Expr::Negative(Box::new(other)),
    }
}
