//! Numbers whose scale is chosen per value, as PostgreSQL chooses it for quotients and averages.
//!
//! A quotient has 16 significant digits or more. Vectors have one scale for all values, so quotients
//! are kept with [`QUOTIENT_SCALE`] digits in 256 bits, and printed with as many as PostgreSQL has.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, Decimal256Array};
use arrow_buffer::i256;
use arrow_schema::DataType;
use num_bigint::{BigInt, Sign};

use crate::error::{SqlError, SqlResult, SqlState};

/// Digits after the point of a stored quotient: those of a quotient between 10^-4 and 1.
pub const QUOTIENT_SCALE: i8 = 20;

/// The vector type of quotients.
pub const QUOTIENT: DataType = DataType::Decimal256(76, QUOTIENT_SCALE);

/// Digits of a number without a precision.
pub const FREE_DIGITS: u8 = 75;

/// The vector type of numbers without a precision; one digit less than a quotient tells them apart.
/// They are printed without zeros at the end.
pub const FREE: DataType = DataType::Decimal256(FREE_DIGITS, QUOTIENT_SCALE);

/// Significant digits that PostgreSQL wants of a quotient, and the digits of its "digits".
const SIGNIFICANT_DIGITS: i32 = 16;
const DIGITS_PER_WORD: i32 = 4;

/// `left / right`, both decimals of any width, as quotients. Errors: 22012, 22003.
pub fn divide(left: &dyn Array, right: &dyn Array) -> SqlResult<ArrayRef> {
    let (left, left_scale) = wide(left)?;
    let (right, right_scale) = wide(right)?;
    let shift = i32::from(QUOTIENT_SCALE) - i32::from(left_scale) + i32::from(right_scale);
    let quotient = |row: usize| -> SqlResult<Option<i256>> {
        if left.is_null(row) || right.is_null(row) {
            return Ok(None);
        }
        quotient(left.value(row), right.value(row), shift).map(Some)
    };
    let values = (0..left.len()).map(quotient).collect::<SqlResult<Decimal256Array>>()?;
    Ok(Arc::new(values.with_data_type(QUOTIENT)))
}

/// The whole part of `left / right`, both decimals of any width. Errors: 22012, 22003.
pub fn divide_whole(left: &dyn Array, right: &dyn Array) -> SqlResult<ArrayRef> {
    let (left, left_scale) = wide(left)?;
    let (right, right_scale) = wide(right)?;
    let shift = i32::from(right_scale) - i32::from(left_scale);
    let quotient = |row: usize| -> SqlResult<Option<i256>> {
        if left.is_null(row) || right.is_null(row) {
            return Ok(None);
        }
        whole_quotient(left.value(row), right.value(row), shift).map(Some)
    };
    let values = (0..left.len()).map(quotient).collect::<SqlResult<Decimal256Array>>()?;
    Ok(Arc::new(values.with_data_type(DataType::Decimal256(76, 0))))
}

/// `left / right * 10^shift`, cut off; between, it may be of any size.
fn whole_quotient(left: i256, right: i256, shift: i32) -> SqlResult<i256> {
    if right == i256::ZERO {
        return Err(SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    let [left, right] = [left, right].map(|v| BigInt::from_signed_bytes_le(&v.to_le_bytes()));
    let unit = BigInt::from(10).pow(shift.unsigned_abs());
    let whole: BigInt = if shift >= 0 { left * unit / right } else { left / (right * unit) };
    let bytes = whole.to_signed_bytes_le();
    match bytes.len() <= size_of::<i256>() {
        true => Ok(from_short(&bytes)),
        false => Err(overflow()),
    }
}

/// `left / right * 10^shift`, rounded half away from zero.
fn quotient(left: i256, right: i256, shift: i32) -> SqlResult<i256> {
    if right == i256::ZERO {
        return Err(SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    let ten = i256::from_i128(10);
    let factor = ten.checked_pow(shift.unsigned_abs()).ok_or_else(overflow)?;
    let (left, right) = match shift >= 0 {
        true => (left.checked_mul(factor).ok_or_else(overflow)?, right),
        false => (left, right.checked_mul(factor).ok_or_else(overflow)?),
    };
    let whole = left.checked_div(right).ok_or_else(overflow)?;
    let rest = left.checked_rem(right).ok_or_else(overflow)?;
    let up = rest.wrapping_abs() >= right.wrapping_abs().wrapping_sub(rest.wrapping_abs());
    if !up || rest == i256::ZERO {
        return Ok(whole);
    }
    let same_sign = rest.is_negative() == right.is_negative();
    let one = if same_sign { i256::ONE } else { i256::MINUS_ONE };
    whole.checked_add(one).ok_or_else(overflow)
}

/// Most digits after the point that a product keeps: two quotients multiply exactly.
pub const PRODUCT_SCALE: i8 = 2 * QUOTIENT_SCALE;

/// `left * right`, both decimals of any width, rounded to `scale` digits after the point. Errors: 22003.
pub fn multiply(left: &dyn Array, right: &dyn Array, scale: i8) -> SqlResult<ArrayRef> {
    let (left, left_scale) = wide(left)?;
    let (right, right_scale) = wide(right)?;
    let digits = u32::try_from(i32::from(left_scale) + i32::from(right_scale) - i32::from(scale));
    let digits = digits.map_err(|_| SqlError::internal("a product of fewer digits"))?;
    let product = |row: usize| -> SqlResult<Option<i256>> {
        if left.is_null(row) || right.is_null(row) {
            return Ok(None);
        }
        product(left.value(row), right.value(row), digits).map(Some)
    };
    let values = (0..left.len()).map(product).collect::<SqlResult<Decimal256Array>>()?;
    Ok(Arc::new(values.with_data_type(DataType::Decimal256(76, scale))))
}

/// `left * right` without its last `digits`, rounded half away from zero; between, it may be of any size.
fn product(left: i256, right: i256, digits: u32) -> SqlResult<i256> {
    let unit = i256::from_i128(10).checked_pow(digits);
    if let (Some(product), Some(unit)) = (left.checked_mul(right), unit) {
        return quotient(product, unit, 0);
    }
    let [left, right] = [left, right].map(|v| BigInt::from_signed_bytes_le(&v.to_le_bytes()));
    let (product, unit) = (left * right, BigInt::from(10).pow(digits));
    let half = if product.sign() == Sign::Minus { -&unit / 2 } else { &unit / 2 };
    let rounded: BigInt = (product + half) / unit;
    let rounded = rounded.to_signed_bytes_le();
    match rounded.len() <= size_of::<i256>() {
        true => Ok(from_short(&rounded)),
        false => Err(overflow()),
    }
}

fn overflow() -> SqlError {
    SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow")
}

/// Largest exponent of a number in text: beyond it no decimal has a digit.
const EXPONENT_MAX: i32 = 80;

/// `1.5e3` as `1500`; text without an exponent as it is. `None` for an exponent out of bounds.
pub fn without_exponent(text: &str) -> Option<Cow<'_, str>> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return Some(Cow::Borrowed(text));
    };
    let exponent: i32 = exponent.parse().ok().filter(|e: &i32| e.abs() <= EXPONENT_MAX)?;
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let point = whole.len() as i32 + exponent;
    let mut digits = format!("{whole}{fraction}");
    if point <= 0 {
        digits.insert_str(0, &"0".repeat(1 + point.unsigned_abs() as usize));
    }
    let point = point.max(1) as usize;
    if point > digits.len() {
        digits.push_str(&"0".repeat(point - digits.len()));
    }
    let (whole, fraction) = digits.split_at_checked(point)?;
    let dot = if fraction.is_empty() { "" } else { "." };
    Some(Cow::Owned(format!("{sign}{whole}{dot}{fraction}")))
}

/// A decimal vector in 256 bits, with its scale.
pub fn wide(array: &dyn Array) -> SqlResult<(Decimal256Array, i8)> {
    match array.data_type() {
        DataType::Decimal256(_, scale) => {
            Ok((array.as_primitive::<Decimal256Type>().clone(), *scale))
        }
        DataType::Decimal128(_, scale) => {
            let narrow = array.as_primitive::<Decimal128Type>();
            Ok((narrow.unary::<_, Decimal256Type>(i256::from_i128), *scale))
        }
        other => Err(SqlError::internal(format!("{other} is no decimal"))),
    }
}

/// Rounds to `digits` after the point, half away from zero (or cuts off); the scale stays.
pub fn round(value: i256, scale: i8, digits: i32, cut: bool) -> i256 {
    let drop = i32::from(scale).saturating_sub(digits);
    if drop <= 0 {
        return value;
    }
    let Some(unit) = i256::from_i128(10).checked_pow(drop as u32) else { return i256::ZERO };
    let (Some(whole), Some(rest)) = (value.checked_div(unit), value.checked_rem(unit)) else {
        return value;
    };
    let half = unit.checked_div(i256::from_i128(2)).unwrap_or(i256::ZERO);
    let up = !cut && rest.wrapping_abs() >= half;
    let step = if value.is_negative() { i256::MINUS_ONE } else { i256::ONE };
    let whole = if up { whole.wrapping_add(step) } else { whole };
    whole.checked_mul(unit).unwrap_or(value)
}

/// A decimal in 256 bits as text; a quotient with the digits that PostgreSQL prints.
pub(crate) fn format_wide(value: i256, scale: i8) -> String {
    let shown = match scale >= QUOTIENT_SCALE {
        false => scale,
        true => {
            let extra = i32::from(scale - QUOTIENT_SCALE);
            let digits = SIGNIFICANT_DIGITS - weight(value, scale) * DIGITS_PER_WORD + extra;
            i8::try_from(digits.clamp(0, i32::from(scale))).unwrap_or(scale)
        }
    };
    let rounded = round(value, scale, i32::from(shown), false);
    let text = rounded.to_string();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) if rounded != i256::ZERO => ("-", digits),
        _ => ("", text.as_str()),
    };
    let scale = usize::try_from(scale).unwrap_or(0);
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    match usize::try_from(shown).unwrap_or(0) {
        0 => format!("{sign}{whole}"),
        shown => format!("{sign}{whole}.{}", &fraction[..shown]),
    }
}

/// A number without a precision as text: as many digits after the point as it needs.
pub(crate) fn format_free(value: i256, scale: i8) -> String {
    let scale = usize::try_from(scale).unwrap_or(0);
    let sign = if value.is_negative() { "-" } else { "" };
    let digits = value.wrapping_abs().to_string();
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

/// Appends the number, the last byte first, without the bytes that only repeat its sign.
pub(crate) fn push_short(out: &mut Vec<u8>, value: i256) {
    let bytes = value.to_le_bytes();
    let filler = if value.is_negative() { u8::MAX } else { 0 };
    let mut length = bytes.iter().rposition(|b| *b != filler).map_or(0, |last| last + 1);
    // The sign is that of the last byte that is kept.
    if length == 0 || (bytes[length - 1] ^ filler) >> 7 == 1 {
        length += 1;
    }
    out.extend_from_slice(&bytes[..length]);
}

/// The number that `push_short` wrote.
pub(crate) fn from_short(short: &[u8]) -> i256 {
    let negative = short.last().is_some_and(|last| last >> 7 == 1);
    let mut bytes = [if negative { u8::MAX } else { 0 }; 32];
    bytes[..short.len()].copy_from_slice(short);
    i256::from_le_bytes(bytes)
}

/// The power of 10,000 of a number's first digit in base 10,000.
fn weight(value: i256, scale: i8) -> i32 {
    if value == i256::ZERO {
        return -1;
    }
    let digits = value.wrapping_abs().to_string().len() as i32;
    // The decimal exponent of the first digit, rounded down to whole words.
    (digits - 1 - i32::from(scale)).div_euclid(DIGITS_PER_WORD)
}
