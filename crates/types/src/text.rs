//! Values as text, the way PostgreSQL prints them: one definition for the shell, CSV, the test
//! harness and the reference answers.

mod interval;
#[cfg(test)]
mod tests;
pub(crate) mod written;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::array::{format_array, format_bytes, format_uuid};
use crate::datetime::infinite::{self, is_finite, is_finite_date};
use crate::datetime::units::MICROS_PER_SECOND;
use crate::numeric::{FREE_DIGITS, format_free, format_wide};
use crate::zone;

pub use interval::IntervalStyle;

/// From this decimal exponent on, PostgreSQL prints a `double precision` in scientific notation
/// (and a `real` from the second): the digits that every value of the type is certain to hold.
const FLOAT64_EXPONENT_MAX: i32 = 15;
const FLOAT32_EXPONENT_MAX: i32 = 6;
/// Below this exponent both are printed in scientific notation.
const FLOAT_EXPONENT_MIN: i32 = -4;

/// The value at `row`, as PostgreSQL prints it; `None` for null.
pub fn format_value(array: &dyn Array, row: usize) -> Option<String> {
    let mut text = vec![];
    let is_value = write_value(array, row, &mut text);
    is_value.then(|| String::from_utf8(text).expect("values are written in UTF-8"))
}

/// Appends the text of the value at `row`, as PostgreSQL prints it, in UTF-8; false for null, of
/// which nothing is written.
pub fn write_value(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> bool {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return false;
    }
    match array.data_type() {
        DataType::Boolean => out.push(if array.as_boolean().value(row) { b't' } else { b'f' }),
        DataType::Int8 => whole::<Int8Type>(array, row, out),
        DataType::Int16 => whole::<Int16Type>(array, row, out),
        DataType::Int32 => whole::<Int32Type>(array, row, out),
        DataType::Int64 => whole::<Int64Type>(array, row, out),
        DataType::UInt8 => whole::<UInt8Type>(array, row, out),
        DataType::UInt16 => whole::<UInt16Type>(array, row, out),
        DataType::UInt32 => whole::<UInt32Type>(array, row, out),
        DataType::UInt64 => whole::<UInt64Type>(array, row, out),
        DataType::Decimal128(_, scale) if *scale >= 0 => {
            let scale = usize::from(scale.unsigned_abs());
            written::decimal(value::<Decimal128Type>(array, row), scale, out);
        }
        DataType::Utf8 => out.extend_from_slice(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => {
            out.extend_from_slice(array.as_string::<i64>().value(row).as_bytes());
        }
        DataType::Utf8View => out.extend_from_slice(array.as_string_view().value(row).as_bytes()),
        DataType::Date32 => day(value::<Date32Type>(array, row), out),
        DataType::Timestamp(unit, zone) => {
            moment(micros(array, row, *unit), zone.is_some(), out);
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            time(value::<Time64MicrosecondType>(array, row), out);
        }
        _ => out.extend_from_slice(formatted(array, row).as_bytes()),
    }
    true
}

/// The text of a value that is not null, of a type of which a result has few.
fn formatted(array: &dyn Array, row: usize) -> String {
    match array.data_type() {
        DataType::Float32 => float32(value::<Float32Type>(array, row)),
        DataType::Float64 => float64(value::<Float64Type>(array, row)),
        DataType::Decimal128(_, scale) => decimal(value::<Decimal128Type>(array, row), *scale),
        DataType::Decimal256(FREE_DIGITS, scale) => {
            format_free(value::<Decimal256Type>(array, row), *scale)
        }
        DataType::Decimal256(_, scale) => format_wide(value::<Decimal256Type>(array, row), *scale),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let v = value::<IntervalMonthDayNanoType>(array, row);
            interval::postgres(v.months, v.days, v.nanoseconds / 1_000)
        }
        DataType::Binary => format_bytes(array.as_binary::<i32>().value(row)),
        DataType::BinaryView => format_bytes(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(16) => format_uuid(array.as_fixed_size_binary().value(row)),
        DataType::List(_) => format_array(&array.as_list::<i32>().value(row)),
        _ => other(array, row),
    }
}

fn value<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn whole<T: ArrowPrimitiveType>(array: &dyn Array, row: usize, out: &mut Vec<u8>)
where
    T::Native: Into<i128>,
{
    written::whole(value::<T>(array, row).into(), out);
}

/// A day, counted from 1970-01-01.
pub(crate) fn day(days: i32, out: &mut Vec<u8>) {
    match is_finite_date(days) {
        true => date(i64::from(days), out),
        false => out.extend_from_slice(infinite::shown(days > 0).as_bytes()),
    }
}

/// Microseconds since 1970-01-01 00:00:00, as an instant or as what a clock shows.
pub(crate) fn moment(micros: i64, is_instant: bool, out: &mut Vec<u8>) {
    match is_instant {
        _ if !is_finite(micros) => out.extend_from_slice(infinite::shown(micros > 0).as_bytes()),
        true => instant(micros, out),
        false => timestamp(micros, out),
    }
}

pub(crate) fn time(micros: i64, out: &mut Vec<u8>) {
    written::time(micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND, out);
}

/// Types that no column can have: the vector library's own form.
fn other(array: &dyn Array, row: usize) -> String {
    let options = FormatOptions::default();
    match ArrayFormatter::try_new(array, &options) {
        Ok(formatter) => formatter.value(row).to_string(),
        Err(error) => error.to_string(),
    }
}

/// `unscaled` / 10^`scale`, with all `scale` digits after the point.
pub fn decimal(unscaled: i128, scale: i8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs().to_string();
    let Ok(scale) = usize::try_from(scale) else {
        let zeros = if unscaled == 0 { 0 } else { usize::from(scale.unsigned_abs()) };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    };
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// A number in as few digits as tell it from all others.
pub fn format_float(v: f64) -> String {
    float64(v)
}

pub(crate) fn float64(v: f64) -> String {
    float(format!("{v:e}"), v.is_finite(), FLOAT64_EXPONENT_MAX)
}

pub(crate) fn float32(v: f32) -> String {
    float(format!("{v:e}"), v.is_finite(), FLOAT32_EXPONENT_MAX)
}

/// Turns Rust's shortest scientific form, `-1.25e-7`, into PostgreSQL's choice of notation.
fn float(shortest: String, finite: bool, exponent_max: i32) -> String {
    if !finite {
        return shortest.replace("inf", "Infinity");
    }
    let (sign, rest) = match shortest.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", shortest.as_str()),
    };
    let (mantissa, exponent) = rest.split_once('e').unwrap_or((rest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");
    if (FLOAT_EXPONENT_MIN..exponent_max).contains(&exponent) {
        return format!("{sign}{}", positional(&digits, exponent));
    }
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{mantissa}e{mark}{:02}", exponent.unsigned_abs())
}

/// The number `d.ddd × 10^exponent` without an exponent.
fn positional(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("0.{zeros}{digits}");
    }
    let whole_len = exponent as usize + 1;
    if digits.len() <= whole_len {
        return format!("{digits}{}", "0".repeat(whole_len - digits.len()));
    }
    let (whole, fraction) = digits.split_at(whole_len);
    format!("{whole}.{fraction}")
}

/// Days since 1970-01-01 as `YYYY-MM-DD`, years before 1 with ` BC`.
fn date(days: i64, out: &mut Vec<u8>) {
    if written::date(days, out) {
        out.extend_from_slice(b" BC");
    }
}

/// Microseconds since 1970-01-01 00:00:00.
fn timestamp(micros: i64, out: &mut Vec<u8>) {
    if written::timestamp(micros, out) {
        out.extend_from_slice(b" BC");
    }
}

fn micros(array: &dyn Array, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => {
            value::<TimestampSecondType>(array, row).saturating_mul(MICROS_PER_SECOND)
        }
        TimeUnit::Millisecond => {
            value::<TimestampMillisecondType>(array, row).saturating_mul(1_000)
        }
        TimeUnit::Microsecond => value::<TimestampMicrosecondType>(array, row),
        TimeUnit::Nanosecond => value::<TimestampNanosecondType>(array, row).div_euclid(1_000),
    }
}

/// An instant in the zone of the session.
fn instant(micros: i64, out: &mut Vec<u8>) {
    let offset = zone::current().zone.offset_at(micros);
    let is_before = written::timestamp(micros.saturating_add(offset), out);
    match offset {
        0 => out.extend_from_slice(b"+00"),
        offset => out.extend_from_slice(zone::shown_offset(offset).as_bytes()),
    }
    if is_before {
        out.extend_from_slice(b" BC");
    }
}
