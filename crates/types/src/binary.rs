//! Values in the binary format of PostgreSQL's protocol and of `COPY`, both ways.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, IntervalMonthDayNanoArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
mod array;

use crate::datetime::infinite::{is_finite, is_finite_date};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::logical::UTC;
use crate::{oid, zone};

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
    std::str::from_utf8(bytes).map_err(|error| {
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
        SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
    })
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
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            let shown = if is_finite_date(days) { days - EPOCH_DAYS } else { days };
            sized(body, &shown.to_be_bytes());
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            let shown = if is_finite(micros) { micros - EPOCH_MICROS } else { micros };
            sized(body, &shown.to_be_bytes());
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

/// A number in text as base 10,000 digits, the most significant first: count, weight, sign, scale,
/// digits.
fn numeric(body: &mut Vec<u8>, text: &str) {
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

/// The text form of a parameter in binary format.
///
/// # Errors
/// 22P03 for bytes that are no value of the type, 0A000 for a type without binary form.
pub fn decode(oid: u32, bytes: &[u8]) -> SqlResult<String> {
    Ok(match oid {
        oid::BOOL => (if fixed::<1>(bytes)? == [0] { "f" } else { "t" }).to_owned(),
        oid::INT2 => i16::from_be_bytes(fixed(bytes)?).to_string(),
        oid::INT4 => i32::from_be_bytes(fixed(bytes)?).to_string(),
        oid::INT8 => i64::from_be_bytes(fixed(bytes)?).to_string(),
        // A relation, too, may be named by its number.
        oid::OID | oid::REGCLASS => u32::from_be_bytes(fixed(bytes)?).to_string(),
        oid::FLOAT4 => f32::from_be_bytes(fixed(bytes)?).to_string(),
        oid::FLOAT8 => f64::from_be_bytes(fixed(bytes)?).to_string(),
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR | oid::UNKNOWN | 0 => {
            utf8(bytes)?.to_owned()
        }
        oid::DATE => {
            let days = i32::from_be_bytes(fixed(bytes)?);
            let days = match is_finite_date(days) {
                true => days.checked_add(EPOCH_DAYS).filter(|days| is_finite_date(*days)),
                false => Some(days),
            };
            let array = Date32Array::from(vec![days.ok_or_else(bad)?]);
            crate::text::format_value(&array, 0).unwrap_or_default()
        }
        oid::TIMESTAMP => timestamp_text(bytes, None)?,
        // With its distance from UTC: whoever reads the text may live in another zone.
        oid::TIMESTAMPTZ => timestamp_text(bytes, Some(UTC))?,
        oid::NUMERIC => numeric_text(bytes)?,
        oid::TIME => {
            let array = Time64MicrosecondArray::from(vec![i64::from_be_bytes(fixed(bytes)?)]);
            crate::text::format_value(&array, 0).unwrap_or_default()
        }
        oid::INTERVAL => interval_text(bytes)?,
        oid::BYTEA => hex(bytes, &[]),
        oid::UUID => hex(&fixed::<16>(bytes)?, &[4, 6, 8, 10]),
        array if oid::is_array(array) => array::decode_list(bytes)?,
        other => {
            return Err(SqlError::unsupported(format!(
                "binary input of the type with OID {other}"
            )));
        }
    })
}

/// A timestamp as text, an instant in UTC.
fn timestamp_text(bytes: &[u8], zone: Option<&str>) -> SqlResult<String> {
    let micros = i64::from_be_bytes(fixed(bytes)?);
    let micros = match is_finite(micros) {
        true => micros.checked_add(EPOCH_MICROS).filter(|micros| is_finite(*micros)),
        false => Some(micros),
    };
    let micros = micros.ok_or_else(bad)?;
    let array = TimestampMicrosecondArray::from(vec![micros]).with_timezone_opt(zone);
    let _entered = zone::enter(zone::Context::default());
    Ok(crate::text::format_value(&array, 0).unwrap_or_default())
}

fn interval_text(bytes: &[u8]) -> SqlResult<String> {
    let bytes = fixed::<16>(bytes)?;
    let part = |at: usize| bytes[at..at + 4].try_into().expect("four bytes");
    let micros = i64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
    let value = IntervalMonthDayNano {
        nanoseconds: micros.checked_mul(1000).ok_or_else(bad)?,
        days: i32::from_be_bytes(part(8)),
        months: i32::from_be_bytes(part(12)),
    };
    let array = IntervalMonthDayNanoArray::from(vec![value]);
    Ok(crate::text::format_value(&array, 0).unwrap_or_default())
}

/// Bytes as hexadecimal digits: behind `\x`, or as a UUID with dashes before these positions.
fn hex(bytes: &[u8], dashes: &[usize]) -> String {
    let mut text = String::from(if dashes.is_empty() { "\\x" } else { "" });
    for (i, byte) in bytes.iter().enumerate() {
        if dashes.contains(&i) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
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
    if digits.iter().any(|digit| *digit > 9_999) {
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
