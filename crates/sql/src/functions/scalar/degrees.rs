//! Trigonometry in degrees. Results are scaled by what the same steps give where they are known, so that
//! they are exact there: at 30, 45, 60 and 90 degrees and their multiples.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::overload::{Args, Functions, Ty};
use crate::functions::scalar::returns::double;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("sind", &[Ty::Float], double, |args| angles(args, sine));
    functions.strict("cosd", &[Ty::Float], double, |args| angles(args, cosine));
    functions.strict("tand", &[Ty::Float], double, |args| angles(args, tangent));
    functions.strict("cotd", &[Ty::Float], double, |args| angles(args, cotangent));
    functions.strict("asind", &[Ty::Float], double, |args| ratios(args, arcsine));
    functions.strict("acosd", &[Ty::Float], double, |args| ratios(args, arccosine));
    functions.strict("atand", &[Ty::Float], double, |args| {
        each(args, |row| Ok(args.float(0, row).atan() / 1f64.atan() * 45.0))
    });
    functions.strict("atan2d", &[Ty::Float, Ty::Float], double, |args| {
        let angle = |row| args.float(0, row).atan2(args.float(1, row));
        each(args, |row| Ok(angle(row) / 1f64.atan() * 45.0))
    });
}

fn each(args: &Args<'_>, f: impl Fn(usize) -> SqlResult<f64>) -> SqlResult<ArrayRef> {
    Ok(Arc::new(args.each::<_, Float64Array>(|row| f(row).map(Some))?))
}

/// Of an angle, which is finite.
fn angles(args: &Args<'_>, f: fn(f64) -> f64) -> SqlResult<ArrayRef> {
    each(args, |row| match args.float(0, row) {
        angle if angle.is_infinite() => Err(out_of_range()),
        angle if angle.is_nan() => Ok(angle),
        angle => Ok(f(angle)),
    })
}

/// Of a sine or cosine, which is between -1 and 1.
fn ratios(args: &Args<'_>, f: fn(f64) -> f64) -> SqlResult<ArrayRef> {
    each(args, |row| match args.float(0, row) {
        ratio if ratio.abs() > 1.0 => Err(out_of_range()),
        ratio if ratio.is_nan() => Ok(ratio),
        ratio => Ok(f(ratio)),
    })
}

fn out_of_range() -> SqlError {
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

/// Of an angle up to 30 degrees.
fn small_sine(angle: f64) -> f64 {
    angle.to_radians().sin() / 30f64.to_radians().sin() / 2.0
}

/// Of an angle up to 60 degrees.
fn small_cosine(angle: f64) -> f64 {
    let below_one = |angle: f64| 1.0 - angle.to_radians().cos();
    1.0 - below_one(angle) / below_one(60.0) / 2.0
}

/// Of an angle up to 90 degrees.
fn first_sine(angle: f64) -> f64 {
    if angle <= 30.0 { small_sine(angle) } else { small_cosine(90.0 - angle) }
}

/// Of an angle up to 90 degrees.
fn first_cosine(angle: f64) -> f64 {
    if angle <= 60.0 { small_cosine(angle) } else { small_sine(90.0 - angle) }
}

/// The angle from 0 to 180 degrees that has the same cosine.
fn unsigned(angle: f64) -> f64 {
    let angle = (angle % 360.0).abs();
    if angle > 180.0 { 360.0 - angle } else { angle }
}

/// The sign of the angle's sine.
fn side(angle: f64) -> f64 {
    let angle = angle % 360.0;
    if (angle < 0.0) != (angle.abs() > 180.0) { -1.0 } else { 1.0 }
}

fn sine(angle: f64) -> f64 {
    let turned = unsigned(angle);
    side(angle) * first_sine(if turned > 90.0 { 180.0 - turned } else { turned })
}

fn cosine(angle: f64) -> f64 {
    match unsigned(angle) {
        angle if angle > 90.0 => -first_cosine(180.0 - angle),
        angle => first_cosine(angle),
    }
}

/// Of the first quarter, with the sign of the one that the angle is in; without minus zero.
fn by_quarter(angle: f64, f: fn(f64) -> f64) -> f64 {
    let turned = unsigned(angle);
    let value = match turned > 90.0 {
        true => -side(angle) * f(180.0 - turned),
        false => side(angle) * f(turned),
    };
    if value == 0.0 { 0.0 } else { value }
}

fn tangent(angle: f64) -> f64 {
    by_quarter(angle, first_tangent) / first_tangent(45.0)
}

fn cotangent(angle: f64) -> f64 {
    by_quarter(angle, first_cotangent) / first_cotangent(45.0)
}

fn first_tangent(angle: f64) -> f64 {
    first_sine(angle) / first_cosine(angle)
}

fn first_cotangent(angle: f64) -> f64 {
    first_cosine(angle) / first_sine(angle)
}

fn arcsine(ratio: f64) -> f64 {
    if ratio < 0.0 { -first_arcsine(-ratio) } else { first_arcsine(ratio) }
}

fn arccosine(ratio: f64) -> f64 {
    if ratio < 0.0 { 90.0 + first_arcsine(-ratio) } else { first_arccosine(ratio) }
}

/// Of a ratio from 0 on.
fn first_arcsine(ratio: f64) -> f64 {
    match ratio <= 0.5 {
        true => ratio.asin() / 0.5f64.asin() * 30.0,
        false => 90.0 - ratio.acos() / 0.5f64.acos() * 60.0,
    }
}

/// Of a ratio from 0 on.
fn first_arccosine(ratio: f64) -> f64 {
    match ratio <= 0.5 {
        true => 90.0 - ratio.asin() / 0.5f64.asin() * 30.0,
        false => ratio.acos() / 0.5f64.acos() * 60.0,
    }
}
