//! Values in the binary format of PostgreSQL's protocol and of `COPY`, both ways.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
mod array;

use crate::datetime::infinite::{is_finite, is_finite_date};
use crate::datetime::units::MICROS_PER_DAY;
use crate::datum::Datum;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::oid;

/// Appends a value behind its length.
pub fn sized(body: &mut Vec<u8>, value: &[u8]) {
    body.extend_from_slice(&(value.len() as i32).to_be_bytes());
    body.extend_from_slice(value);
}

/// Text that came from outside.
///
/// # Errors
/// 22021 for what is not UTF-8.
pub fn utf8(bytes: &[u8]) -> SqlResult<&str> {
    std::str::from_utf8(bytes)
        .map_err(|error| not_utf8(bytes.get(error.valid_up_to()).copied().unwrap_or_default()))
}

fn not_utf8(byte: u8) -> SqlError {
    let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
    SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
}

/// Days from 1970-01-01 to 2000-01-01, where the protocol's calendar begins.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400 * 1_000_000;

/// Decimal digits of a numeric's digit.
const DIGITS: u32 = 4;
const SIGN_NEGATIVE: u16 = 0x4000;

/// Writes the value at `row` with its length.
///
/// # Errors
/// 0A000 for a type without binary form.
pub fn encode(body: &mut Vec<u8>, array: &ArrayRef, row: usize) -> SqlResult<()> {
    // A vector without a type has no bitmap, and nothing but nulls.
    if array.is_null(row) || *array.data_type() == DataType::Null {
        body.extend_from_slice(&(-1i32).to_be_bytes());
        return Ok(());
    }
    match array.data_type() {
        DataType::Boolean => sized(body, &[u8::from(array.as_boolean().value(row))]),
        DataType::Int16 => sized(body, &array.as_primitive::<Int16Type>().value(row).to_be_bytes()),
        DataType::Int32 => sized(body, &array.as_primitive::<Int32Type>().value(row).to_be_bytes()),
        DataType::Int64 => sized(body, &array.as_primitive::<Int64Type>().value(row).to_be_bytes()),
        DataType::UInt32 => {
            sized(body, &array.as_primitive::<UInt32Type>().value(row).to_be_bytes());
        }
        DataType::Float32 => {
            sized(body, &array.as_primitive::<Float32Type>().value(row).to_be_bytes());
        }
        DataType::Float64 => {
            sized(body, &array.as_primitive::<Float64Type>().value(row).to_be_bytes());
        }
        DataType::Date32 => day(body, array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            moment(body, array.as_primitive::<TimestampMicrosecondType>().value(row));
        }
        DataType::Decimal128(..) | DataType::Decimal256(..) => {
            numeric(body, &crate::text::format_value(array, row).unwrap_or_default());
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            let micros = array.as_primitive::<Time64MicrosecondType>().value(row);
            sized(body, &micros.to_be_bytes());
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let mut bytes = (value.nanoseconds / 1000).to_be_bytes().to_vec();
            bytes.extend_from_slice(&value.days.to_be_bytes());
            bytes.extend_from_slice(&value.months.to_be_bytes());
            sized(body, &bytes);
        }
        DataType::BinaryView => sized(body, array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(16) => sized(body, array.as_fixed_size_binary().value(row)),
        DataType::List(_) => array::encode_list(body, array, row)?,
        // Text has the same form in both formats, and so has what is described as text.
        ty if oid::of(ty).oid == oid::TEXT => {
            let text = crate::text::format_value(array, row).unwrap_or_default();
            sized(body, text.as_bytes());
        }
        ty => return Err(SqlError::unsupported(format!("binary output of {ty}"))),
    }
    Ok(())
}

pub(crate) fn day(body: &mut Vec<u8>, days: i32) {
    let shown = if is_finite_date(days) { days - EPOCH_DAYS } else { days };
    sized(body, &shown.to_be_bytes());
}

pub(crate) fn moment(body: &mut Vec<u8>, micros: i64) {
    let shown = if is_finite(micros) { micros - EPOCH_MICROS } else { micros };
    sized(body, &shown.to_be_bytes());
}

/// A number in text as base 10,000 digits, the most significant first: count, weight, sign, scale,
/// digits.
pub(crate) fn numeric(body: &mut Vec<u8>, text: &str) {
    let (negative, plain) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
    // Both sides of the point are filled up to whole digits.
    let size = DIGITS as usize;
    let whole_digits = whole.len().div_ceil(size);
    let fraction_digits = fraction.len().div_ceil(size);
    let padded = format!(
        "{whole:0>whole_width$}{fraction:0<fraction_width$}",
        whole_width = whole_digits * size,
        fraction_width = fraction_digits * size
    );
    let value = |chunk: &[u8]| {
        chunk.iter().fold(0u16, |n, c| n * 10 + u16::from(c.wrapping_sub(b'0') % 10))
    };
    let all: Vec<u16> = padded.as_bytes().chunks(size).map(value).collect();
    let first = all.iter().position(|digit| *digit != 0).unwrap_or(all.len());
    let end = all.iter().rposition(|digit| *digit != 0).map_or(first, |last| last + 1);
    let digits = &all[first..end];
    let weight = if digits.is_empty() { 0 } else { whole_digits as i16 - 1 - first as i16 };
    let sign = if negative { SIGN_NEGATIVE } else { 0 };
    let mut value = Vec::with_capacity(8 + 2 * digits.len());
    value.extend_from_slice(&(digits.len() as i16).to_be_bytes());
    value.extend_from_slice(&weight.to_be_bytes());
    value.extend_from_slice(&sign.to_be_bytes());
    value.extend_from_slice(&(fraction.len() as i16).to_be_bytes());
    digits.iter().for_each(|digit| value.extend_from_slice(&digit.to_be_bytes()));
    sized(body, &value);
}

/// A parameter in binary format.
///
/// # Errors
/// 22P03 for bytes that are no value of the type, 22008 for a time that is none, 22021 for what is
/// no text, 0A000 for a type without binary form.
pub fn datum(oid: u32, bytes: &[u8]) -> SqlResult<Datum> {
    Ok(match oid {
        oid::BOOL => Datum::Bool(fixed::<1>(bytes)? != [0]),
        oid::INT2 => Datum::Int(i16::from_be_bytes(fixed(bytes)?).into()),
        oid::INT4 => Datum::Int(i32::from_be_bytes(fixed(bytes)?).into()),
        oid::INT8 => Datum::Int(i64::from_be_bytes(fixed(bytes)?)),
        // A relation, too, may be named by its number.
        oid::OID | oid::REGCLASS => Datum::Int(u32::from_be_bytes(fixed(bytes)?).into()),
        oid::FLOAT4 => Datum::Float(f32::from_be_bytes(fixed(bytes)?).into()),
        oid::FLOAT8 => Datum::Float(f64::from_be_bytes(fixed(bytes)?)),
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR | oid::UNKNOWN | 0 => {
            Datum::Text(text(bytes)?.to_owned())
        }
        oid::DATE => Datum::Date(date(i32::from_be_bytes(fixed(bytes)?))?),
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            Datum::Timestamp(timestamp(i64::from_be_bytes(fixed(bytes)?))?)
        }
        oid::NUMERIC => Datum::Text(numeric_text(bytes)?),
        oid::TIME => Datum::Time(time(i64::from_be_bytes(fixed(bytes)?))?),
        oid::INTERVAL => Datum::Interval(interval(bytes)?),
        oid::BYTEA => Datum::Bytes(bytes.to_vec()),
        oid::UUID => Datum::Uuid(fixed(bytes)?),
        array if oid::is_array(array) => Datum::Text(array::decode_list(bytes)?),
        other => {
            return Err(SqlError::unsupported(format!(
                "binary input of the type with OID {other}"
            )));
        }
    })
}

/// The text form of a value in binary format.
///
/// # Errors
/// As [`datum`].
pub fn decode(oid: u32, bytes: &[u8]) -> SqlResult<String> {
    let value = datum(oid, bytes)?;
    let text = value.text(oid::parameter(oid, None)).map(Cow::into_owned);
    Ok(text.unwrap_or_default())
}

/// Text that came from outside, as a value: no byte of it is zero.
///
/// # Errors
/// 22021 for what is no text.
pub fn text(bytes: &[u8]) -> SqlResult<&str> {
    match bytes.contains(&0) {
        true => Err(not_utf8(0)),
        false => utf8(bytes),
    }
}

fn date(days: i32) -> SqlResult<i32> {
    match is_finite_date(days) {
        true => days.checked_add(EPOCH_DAYS).filter(|days| is_finite_date(*days)),
        false => Some(days),
    }
    .ok_or_else(|| out_of_range("date"))
}

fn timestamp(micros: i64) -> SqlResult<i64> {
    match is_finite(micros) {
        true => micros.checked_add(EPOCH_MICROS).filter(|micros| is_finite(*micros)),
        false => Some(micros),
    }
    .ok_or_else(|| out_of_range("timestamp"))
}

/// Midnight may be that at the end of the day.
fn time(micros: i64) -> SqlResult<i64> {
    match (0..=MICROS_PER_DAY).contains(&micros) {
        true => Ok(micros),
        false => Err(out_of_range("time")),
    }
}

fn interval(bytes: &[u8]) -> SqlResult<IntervalMonthDayNano> {
    let bytes = fixed::<16>(bytes)?;
    let part = |at: usize| bytes[at..at + 4].try_into().expect("four bytes");
    let micros = i64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
    Ok(IntervalMonthDayNano {
        nanoseconds: micros.checked_mul(1000).ok_or_else(|| out_of_range("interval"))?,
        days: i32::from_be_bytes(part(8)),
        months: i32::from_be_bytes(part(12)),
    })
}

fn out_of_range(what: &str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
}

fn bad() -> SqlError {
    SqlError::new(SqlState::BAD_BINARY, "incorrect binary data format")
}

fn fixed<const N: usize>(bytes: &[u8]) -> SqlResult<[u8; N]> {
    bytes.try_into().map_err(|_| bad())
}

fn numeric_text(bytes: &[u8]) -> SqlResult<String> {
    let mut words = bytes.chunks(2).map(|pair| pair.try_into().map(u16::from_be_bytes));
    let mut word = || words.next().and_then(Result::ok).ok_or_else(bad);
    let (count, weight, sign, scale) = (word()?, word()? as i16, word()?, word()?);
    if sign > SIGN_NEGATIVE || count > 64 || scale > 64 || weight.unsigned_abs() > 64 {
        return Err(SqlError::unsupported("this numeric"));
    }
    let digits = (0..count).map(|_| word()).collect::<SqlResult<Vec<u16>>>()?;
    let is_longer = word().is_ok() || bytes.len() % 2 == 1;
    if is_longer || digits.iter().any(|digit| *digit > 9_999) {
        return Err(bad());
    }
    // Digit `i` counts 10,000^(weight - i).
    let at = |place: i32| {
        let index = i32::from(weight) - place;
        usize::try_from(index).ok().and_then(|i| digits.get(i)).copied().unwrap_or(0)
    };
    let whole: String =
        (0..=i32::from(weight).max(0)).rev().map(|p| format!("{:04}", at(p))).collect();
    let places = i32::from(scale.div_ceil(DIGITS as u16));
    let fraction: String = (1..=places).map(|p| format!("{:04}", at(-p))).collect();
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let sign = if sign == SIGN_NEGATIVE { "-" } else { "" };
    Ok(match scale {
        0 => format!("{sign}{whole}"),
        scale => format!("{sign}{whole}.{}", &fraction[..usize::from(scale)]),
    })
}
