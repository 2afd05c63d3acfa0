//! Functions of double precision that refuse what has no value, and say when a value does not fit,
//! where the library would answer with NaN or infinity.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::overload::{Args, Functions, Ty};
use crate::functions::scalar::returns::double;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("exp", &[Ty::Float], double, |a| {
        one(a, |v| fits(v.exp(), v.is_infinite(), v == f64::NEG_INFINITY))
    });
    functions.strict("ln", &[Ty::Float], double, |a| one(a, |v| Ok(logarithm(v)?.ln())));
    for name in ["log", "log10"] {
        functions.strict(name, &[Ty::Float], double, |a| one(a, |v| Ok(logarithm(v)?.log10())));
    }
    functions.strict("log", &[Ty::Float, Ty::Float], double, |args| {
        two(args, |base, v| {
            let (base, v) = (logarithm(base)?.ln(), logarithm(v)?.ln());
            if base == 0.0 { Err(crate::error::division_by_zero()) } else { Ok(v / base) }
        })
    });
    functions.strict("sqrt", &[Ty::Float], double, |a| one(a, square_root));
    for name in ["power", "pow"] {
        functions.strict(name, &[Ty::Float, Ty::Float], double, |args| two(args, power));
    }
    functions.strict("asin", &[Ty::Float], double, |a| one(a, |v| Ok(within(v, 1.0)?.asin())));
    functions.strict("acos", &[Ty::Float], double, |a| one(a, |v| Ok(within(v, 1.0)?.acos())));
    functions.strict("atanh", &[Ty::Float], double, |a| one(a, |v| Ok(within(v, 1.0)?.atanh())));
    functions.strict("sinh", &[Ty::Float], double, |a| one(a, |v| Ok(v.sinh())));
    functions.strict("cosh", &[Ty::Float], double, |a| one(a, |v| Ok(v.cosh())));
}

fn one(args: &Args<'_>, f: fn(f64) -> SqlResult<f64>) -> SqlResult<ArrayRef> {
    Ok(Arc::new(args.each::<_, Float64Array>(|row| f(args.float(0, row)).map(Some))?))
}

fn two(args: &Args<'_>, f: fn(f64, f64) -> SqlResult<f64>) -> SqlResult<ArrayRef> {
    let value = |row| f(args.float(0, row), args.float(1, row)).map(Some);
    Ok(Arc::new(args.each::<_, Float64Array>(value)?))
}

/// A result that is infinite although no argument is has overflowed, one that is zero without reason is
/// too small to be told from it.
fn fits(value: f64, may_be_infinite: bool, may_be_zero: bool) -> SqlResult<f64> {
    match value {
        v if v.is_infinite() && !may_be_infinite => {
            Err(out_of_range("value out of range: overflow"))
        }
        0.0 if !may_be_zero => Err(out_of_range("value out of range: underflow")),
        v => Ok(v),
    }
}

fn out_of_range(message: &str) -> SqlError {
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

fn logarithm(value: f64) -> SqlResult<f64> {
    let refused = |message| Err(SqlError::new(SqlState("2201E"), message));
    match value {
        0.0 => refused("cannot take logarithm of zero"),
        v if v < 0.0 => refused("cannot take logarithm of a negative number"),
        v => Ok(v),
    }
}

fn square_root(value: f64) -> SqlResult<f64> {
    match value < 0.0 {
        true => Err(no_power("cannot take square root of a negative number")),
        false => Ok(value.sqrt()),
    }
}

fn no_power(message: &str) -> SqlError {
    SqlError::new(SqlState("2201F"), message)
}

fn power(base: f64, exponent: f64) -> SqlResult<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Err(no_power("zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(no_power(message));
    }
    let infinite = base.is_infinite() || exponent.is_infinite();
    fits(base.powf(exponent), infinite, infinite || base == 0.0)
}

fn within(value: f64, limit: f64) -> SqlResult<f64> {
    match value.abs() > limit {
        true => Err(out_of_range("input is out of range")),
        false => Ok(value),
    }
}
