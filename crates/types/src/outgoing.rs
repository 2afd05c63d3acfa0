//! Values of rows on their way to clients, in both formats, without vectors.

use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};

use crate::array::{format_bytes, format_uuid};
use crate::binary::{self, numeric, sized};
use crate::cells::{Value, float, has_form};
use crate::numeric::{FREE_DIGITS, format_free, format_wide};
use crate::text::{day, float32, float64, moment, time, written};

/// True if [`write_cell`] writes values of this type.
pub fn has_cell_text(ty: &DataType) -> bool {
    match ty {
        DataType::Decimal128(_, scale) => *scale >= 0,
        // Its text depends on a setting.
        DataType::Interval(_) => false,
        // The result of an aggregate becomes a text before a client sees it.
        DataType::LargeUtf8 => false,
        _ => has_form(ty),
    }
}

/// Appends the text of a value of this type, as [`crate::text::write_value`] does of a vector's;
/// false for null, of which nothing is written.
///
/// # Panics
/// For a type that [`has_cell_text`] does not have, and for a value of another one.
pub fn write_cell(value: Value<'_>, ty: &DataType, out: &mut Vec<u8>) -> bool {
    match value {
        Value::Null => return false,
        Value::Word(word) => write_word(word, ty, out),
        Value::Bytes(bytes) => write_bytes(bytes, ty, out),
    }
    true
}

fn write_word(word: i64, ty: &DataType, out: &mut Vec<u8>) {
    match ty {
        DataType::Boolean => out.push(if word == 1 { b't' } else { b'f' }),
        DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::UInt32 => {
            written::whole(word.into(), out);
        }
        DataType::Float32 => out.extend_from_slice(float32(float(word) as f32).as_bytes()),
        DataType::Float64 => out.extend_from_slice(float64(float(word)).as_bytes()),
        DataType::Decimal128(_, scale) => {
            written::decimal(word.into(), usize::from(scale.unsigned_abs()), out);
        }
        DataType::Date32 => day(word as i32, out),
        DataType::Timestamp(_, zone) => moment(word, zone.is_some(), out),
        DataType::Time64(TimeUnit::Microsecond) => time(word, out),
        ty => unreachable!("{word} as {ty}"),
    }
}

fn write_bytes(bytes: &[u8], ty: &DataType, out: &mut Vec<u8>) {
    match ty {
        DataType::Utf8View => out.extend_from_slice(bytes),
        DataType::BinaryView => out.extend_from_slice(format_bytes(bytes).as_bytes()),
        DataType::FixedSizeBinary(16) => out.extend_from_slice(format_uuid(bytes).as_bytes()),
        DataType::Decimal128(_, scale) => {
            let digits = i128::from_le_bytes(machine(bytes));
            written::decimal(digits, usize::from(scale.unsigned_abs()), out);
        }
        DataType::Decimal256(FREE_DIGITS, scale) => {
            let text = format_free(i256::from_le_bytes(machine(bytes)), *scale);
            out.extend_from_slice(text.as_bytes());
        }
        DataType::Decimal256(_, scale) => {
            let text = format_wide(i256::from_le_bytes(machine(bytes)), *scale);
            out.extend_from_slice(text.as_bytes());
        }
        ty => unreachable!("{} bytes as {ty}", bytes.len()),
    }
}

fn machine<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a number has the machine's bytes")
}

/// True if [`encode_cell`] writes values of this type.
pub fn has_cell_binary(ty: &DataType) -> bool {
    has_cell_text(ty)
}

/// Appends a value of this type with its length, as [`crate::binary::encode`] does of a vector's.
///
/// # Panics
/// For a type that [`has_cell_binary`] does not have, and for a value of another one.
pub fn encode_cell(body: &mut Vec<u8>, value: Value<'_>, ty: &DataType) {
    match value {
        Value::Null => body.extend_from_slice(&(-1i32).to_be_bytes()),
        _ if matches!(ty, DataType::Decimal128(..) | DataType::Decimal256(..)) => {
            let mut text = vec![];
            write_cell(value, ty, &mut text);
            numeric(body, std::str::from_utf8(&text).expect("digits are UTF-8"));
        }
        Value::Word(word) => encode_word(body, word, ty),
        Value::Bytes(bytes) => sized(body, bytes),
    }
}

fn encode_word(body: &mut Vec<u8>, word: i64, ty: &DataType) {
    match ty {
        DataType::Boolean => sized(body, &[u8::from(word == 1)]),
        DataType::Int16 => sized(body, &(word as i16).to_be_bytes()),
        DataType::Int32 => sized(body, &(word as i32).to_be_bytes()),
        DataType::UInt32 => sized(body, &(word as u32).to_be_bytes()),
        DataType::Int64 | DataType::Time64(TimeUnit::Microsecond) => {
            sized(body, &word.to_be_bytes());
        }
        DataType::Float32 => sized(body, &(float(word) as f32).to_be_bytes()),
        DataType::Float64 => sized(body, &float(word).to_be_bytes()),
        DataType::Date32 => binary::day(body, word as i32),
        DataType::Timestamp(..) => binary::moment(body, word),
        ty => unreachable!("{word} as {ty}"),
    }
}
