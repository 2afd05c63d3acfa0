//! Numbers of different types beside each other.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::{Expr, ExprSchemable, Operator, binary_expr, cast};
use types::numeric::{FREE, QUOTIENT};

use crate::functions::library::call;

/// Digits of the widest vectors of numbers.
const DIGITS_MAX: i16 = 76;

/// Gives numbers of different types one type, so that what is around them sees it: double precision
/// beside anything, `real` beside what is exact, decimals with the digits of all.
pub(crate) fn unify(exprs: &mut [Expr], schema: &DFSchema) -> Result<()> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let known: Vec<&DataType> = types.iter().filter(|t| **t != DataType::Null).collect();
    if let Some(common) = common_number(&known) {
        convert(exprs, &types, &common);
    }
    Ok(())
}

/// The type for numbers of these types; `None` where they are of one, or not all numbers.
pub(crate) fn common_number(known: &[&DataType]) -> Option<DataType> {
    let mixed = known.windows(2).any(|pair| pair[0] != pair[1]);
    // An oid is no number: beside numbers it is left to the library, which finds a type for all of both.
    let numbers = known.iter().all(|t| t.is_numeric() && !t.is_unsigned_integer());
    if !mixed || !numbers {
        return None;
    }
    Some(match known.iter().find(|t| t.is_floating()) {
        Some(_) if known.contains(&&DataType::Float64) => DataType::Float64,
        Some(_) => DataType::Float32,
        None if known.iter().any(|t| is_decimal(t)) => exact(known),
        None if known.contains(&&DataType::Int64) => DataType::Int64,
        None => DataType::Int32,
    })
}

/// The decimal for values of these types, one of which is decimal.
fn exact(known: &[&DataType]) -> DataType {
    let scale = known.iter().map(|t| scale(t)).max().unwrap_or(0);
    if known.contains(&&FREE) && !known.contains(&&QUOTIENT) {
        return FREE;
    }
    if known.iter().any(|t| matches!(t, DataType::Decimal256(..))) {
        return DataType::Decimal256(76, scale);
    }
    let one = known.iter().find(|t| is_decimal(t)).map(|t| (*t).clone());
    let others = known.iter().all(|t| !is_decimal(t) || Some(*t) == one.as_ref());
    match one {
        // Digits enough for any integer: the decimals stay as they are.
        Some(DataType::Decimal128(p, s)) if others && i32::from(p) - i32::from(s) >= 19 => {
            DataType::Decimal128(p, s)
        }
        _ => DataType::Decimal128(38, scale),
    }
}

/// Gives numbers that are compared or added one type where the library has none for them or another one:
/// beside floats all are double precision, for the library makes exact numbers of floats, which have no
/// infinity; and together they may have more digits than the widest, so that those before the point must do
/// with what is left.
pub(crate) fn align(exprs: &mut [Expr], schema: &DFSchema) -> Result<()> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let known: Vec<&DataType> = types.iter().filter(|t| **t != DataType::Null).collect();
    let common = common_number(&known);
    if let Some(common) = common.filter(DataType::is_floating) {
        let is_single = |(e, t): (&Expr, &DataType)| *t == DataType::Float32 || is_single(e);
        let single = common == DataType::Float32 && exprs.iter().zip(&types).all(is_single);
        let common = if single { DataType::Float32 } else { DataType::Float64 };
        convert(exprs, &types, &common);
        return Ok(());
    }
    let scale = known.iter().map(|t| scale(t)).max().unwrap_or(0);
    let whole = known.iter().map(|t| whole_digits(t)).max().unwrap_or(0);
    let is_exact = |t: &&DataType| is_decimal(t) || t.is_integer();
    if known.iter().all(is_exact) && i16::from(scale) + whole > DIGITS_MAX {
        convert(exprs, &types, &DataType::Decimal256(76, scale));
    }
    Ok(())
}

/// The same for a value and those of a list, which have one type: `real` beside what is exact.
pub(crate) fn align_list(exprs: &mut [Expr], schema: &DFSchema) -> Result<()> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let known: Vec<&DataType> = types.iter().filter(|t| **t != DataType::Null).collect();
    match common_number(&known).filter(DataType::is_floating) {
        Some(common) => convert(exprs, &types, &common),
        None => align(exprs, schema)?,
    }
    Ok(())
}

/// Whether it is a constant that `real` has, too: an index on a column of that type can find it.
fn is_single(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else { return false };
    let double = value.cast_to(&DataType::Float64);
    matches!(double, Ok(ScalarValue::Float64(Some(double))) if f64::from(double as f32) == double)
}

/// Whether there are exact numbers beside those that are not.
pub(crate) fn is_mixed(exprs: &[Expr], schema: &DFSchema) -> Result<bool> {
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    Ok(types.iter().any(DataType::is_floating) && types.iter().any(is_decimal))
}

/// `left * right`. The library widens both sides first where one is wide, and the digits after the point
/// of all factors soon are too many.
pub(crate) fn product(left: Expr, right: Expr, l: &DataType, r: &DataType) -> Result<Expr> {
    let exact = [l, r].into_iter().all(|t| is_decimal(t) || t.is_integer());
    let wide = [l, r].into_iter().any(|t| matches!(t, DataType::Decimal256(..)));
    let long = i16::from(scale(l)) + i16::from(scale(r)) > 38;
    match exact && (wide || long) {
        true => call("numeric_mul", vec![left, right]),
        false => Ok(binary_expr(left, Operator::Multiply, right)),
    }
}

fn convert(exprs: &mut [Expr], types: &[DataType], to: &DataType) {
    for (expr, ty) in exprs.iter_mut().zip(types) {
        if ty != to && *ty != DataType::Null {
            *expr = cast(std::mem::take(expr), to.clone());
        }
    }
}

fn is_decimal(ty: &DataType) -> bool {
    matches!(ty, DataType::Decimal128(..) | DataType::Decimal256(..))
}

pub(crate) fn scale(ty: &DataType) -> i8 {
    match ty {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => *scale,
        _ => 0,
    }
}

/// Digits before the point.
fn whole_digits(ty: &DataType) -> i16 {
    match ty {
        DataType::Decimal128(digits, scale) | DataType::Decimal256(digits, scale) => {
            i16::from(*digits) - i16::from(*scale)
        }
        DataType::Int64 => 20,
        _ => 10,
    }
}
