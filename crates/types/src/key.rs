//! Keys of trees: byte strings whose order is the order of the values (ascending, nulls last).
//!
//! The layout is specified in `docs/format/row.md`. Each encoding is prefix-free, so that the keys
//! that start with the encoding of some leading values are exactly those with these values.

use std::borrow::Cow;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType, UInt32Type,
};
use arrow_buffer::i256;

use self::hash::{HASH_BYTES, hash_of};
use crate::cells::Value;
use crate::equality::interval_length;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::logical::LogicalType;

pub mod hash;

const VALUE: u8 = 1;
const NULL: u8 = 2;

/// A column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Ordinal in the table; one past the last column for the hidden row id.
    pub ordinal: usize,
    /// The type.
    pub ty: LogicalType,
    /// Whether a byte tells null from value.
    pub nullable: bool,
    /// Whether the hash of the column's bytes stands before them.
    pub hashed: bool,
}

impl KeyColumn {
    /// The column's bytes in a key without their hash, of what [`split_columns`] gives for it.
    pub fn unhashed<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        if self.hashed { &bytes[HASH_BYTES..] } else { bytes }
    }
}

/// Encodes keys from vectors, a row at a time.
pub struct KeyEncoder {
    columns: Vec<(KeyColumn, ArrayRef)>,
}

impl KeyEncoder {
    /// An encoder for the leading columns of a key; `arrays` may be fewer than `columns`.
    ///
    /// # Panics
    /// If an array is not of its column's Arrow type: the caller's mistake.
    pub fn new(columns: &[KeyColumn], arrays: &[ArrayRef]) -> KeyEncoder {
        for (column, array) in columns.iter().zip(arrays) {
            assert_eq!(&column.ty.arrow(), array.data_type(), "key column {}", column.ordinal);
        }
        KeyEncoder { columns: columns.iter().copied().zip(arrays.iter().cloned()).collect() }
    }

    /// Appends the key of `row` to `out`.
    pub fn encode(&self, row: usize, out: &mut Vec<u8>) -> SqlResult<()> {
        for (column, array) in &self.columns {
            match column.hashed {
                true => encode_hashed(column, array, row, out)?,
                false => encode_value(column, array, row, out)?,
            }
        }
        Ok(())
    }

    /// Whether the row has a null among the columns.
    pub fn has_null(&self, row: usize) -> bool {
        self.columns.iter().any(|(_, array)| array.is_null(row))
    }
}

fn encode_hashed(
    column: &KeyColumn,
    array: &ArrayRef,
    row: usize,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    let start = out.len();
    out.resize(start + HASH_BYTES, 0);
    encode_value(column, array, row, out)?;
    let hash = hash_of(&out[start + HASH_BYTES..]);
    out[start..start + HASH_BYTES].copy_from_slice(&hash.to_be_bytes());
    Ok(())
}

fn encode_value(
    column: &KeyColumn,
    array: &ArrayRef,
    row: usize,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    if column.nullable {
        out.push(if array.is_null(row) { NULL } else { VALUE });
    }
    if array.is_null(row) {
        assert!(column.nullable, "null in key column {} that is not nullable", column.ordinal);
        return Ok(());
    }
    match column.ty.plain() {
        LogicalType::Bool => out.push(u8::from(array.as_boolean().value(row))),
        LogicalType::Int16 => push_i16(out, array.as_primitive::<Int16Type>().value(row)),
        LogicalType::Int32 => push_i32(out, array.as_primitive::<Int32Type>().value(row)),
        LogicalType::Oid => {
            out.extend_from_slice(&array.as_primitive::<UInt32Type>().value(row).to_be_bytes());
        }
        LogicalType::Date => push_i32(out, array.as_primitive::<Date32Type>().value(row)),
        LogicalType::Int64 => push_i64(out, array.as_primitive::<Int64Type>().value(row)),
        LogicalType::Time => {
            push_i64(out, array.as_primitive::<Time64MicrosecondType>().value(row))
        }
        LogicalType::Uuid => out.extend_from_slice(array.as_fixed_size_binary().value(row)),
        LogicalType::Bytea => push_bytes(out, array.as_binary_view().value(row)),
        LogicalType::Interval if column.hashed => {
            push_interval(out, array.as_primitive::<IntervalMonthDayNanoType>().value(row));
        }
        LogicalType::Interval | LogicalType::Rounded(..) | LogicalType::Array(_) => {
            return Err(SqlError::unsupported(format!("a key of type {}", column.ty)));
        }
        LogicalType::Timestamp | LogicalType::TimestampTz => {
            push_i64(out, array.as_primitive::<TimestampMicrosecondType>().value(row));
        }
        LogicalType::Float32 => push_f32(out, array.as_primitive::<Float32Type>().value(row)),
        LogicalType::Float64 => push_f64(out, array.as_primitive::<Float64Type>().value(row)),
        LogicalType::Decimal { precision, .. } => {
            push_decimal(out, array.as_primitive::<Decimal128Type>().value(row), precision);
        }
        LogicalType::Numeric => push_wide(out, array.as_primitive::<Decimal256Type>().value(row)),
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
            push_text(out, array.as_string_view().value(row).as_bytes())?;
        }
    }
    Ok(())
}

/// Appends a value to the bytes of a key, as [`KeyEncoder::encode`] does for a value of a vector.
///
/// # Errors
/// 22021 for a text with a zero byte; 0A000 for a type that no key has.
///
/// # Panics
/// If the value is null and the column is not nullable, or if it is not of the column's type.
pub fn encode_value_of(column: &KeyColumn, value: Value<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    if !column.hashed {
        return push_value(column, value, out);
    }
    let start = out.len();
    out.resize(start + HASH_BYTES, 0);
    push_value(column, value, out)?;
    let hash = hash_of(&out[start + HASH_BYTES..]);
    out[start..start + HASH_BYTES].copy_from_slice(&hash.to_be_bytes());
    Ok(())
}

fn push_value(column: &KeyColumn, value: Value<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    if column.nullable {
        out.push(if value.is_null() { NULL } else { VALUE });
    }
    match (value, column.ty.plain()) {
        (Value::Null, _) => {
            assert!(column.nullable, "null in key column {} that is not nullable", column.ordinal);
        }
        (Value::Word(word), ty) => push_word(out, ty, word)?,
        (Value::Bytes(bytes), LogicalType::Uuid) => out.extend_from_slice(bytes),
        (Value::Bytes(bytes), LogicalType::Bytea) => push_bytes(out, bytes),
        (
            Value::Bytes(bytes),
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_),
        ) => {
            push_text(out, bytes)?;
        }
        (Value::Bytes(bytes), LogicalType::Decimal { precision, .. }) => {
            push_decimal(out, i128::from_le_bytes(machine(bytes)), precision);
        }
        (Value::Bytes(bytes), LogicalType::Numeric) => {
            push_wide(out, i256::from_le_bytes(machine(bytes)));
        }
        (Value::Bytes(bytes), LogicalType::Interval) if column.hashed => {
            push_interval(out, interval(bytes));
        }
        (Value::Bytes(_), ty) => {
            return Err(SqlError::unsupported(format!("a key of type {ty}")));
        }
    }
    Ok(())
}

fn push_word(out: &mut Vec<u8>, ty: LogicalType, word: i64) -> SqlResult<()> {
    match ty {
        LogicalType::Bool => out.push(word as u8),
        LogicalType::Int16 => push_i16(out, word as i16),
        LogicalType::Int32 | LogicalType::Date => push_i32(out, word as i32),
        LogicalType::Oid => out.extend_from_slice(&(word as u32).to_be_bytes()),
        LogicalType::Int64
        | LogicalType::Time
        | LogicalType::Timestamp
        | LogicalType::TimestampTz => push_i64(out, word),
        LogicalType::Float32 => push_f32(out, f64::from_bits(word.cast_unsigned()) as f32),
        LogicalType::Float64 => push_f64(out, f64::from_bits(word.cast_unsigned())),
        LogicalType::Decimal { precision, .. } => push_decimal(out, word.into(), precision),
        other => return Err(SqlError::internal(format!("a word in a key of type {other}"))),
    }
    Ok(())
}

/// The bytes that the machine has for a value.
fn machine<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a value has the bytes of its type")
}

fn interval(bytes: &[u8]) -> IntervalMonthDayNano {
    let (months, rest) = bytes.split_at(4);
    let (days, nanoseconds) = rest.split_at(4);
    IntervalMonthDayNano::new(
        i32::from_le_bytes(machine(months)),
        i32::from_le_bytes(machine(days)),
        i64::from_le_bytes(machine(nanoseconds)),
    )
}

fn push_i16(out: &mut Vec<u8>, value: i16) {
    out.extend_from_slice(&((value as u16) ^ (1 << 15)).to_be_bytes());
}

fn push_i32(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&((value as u32) ^ (1 << 31)).to_be_bytes());
}

fn push_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&((value as u64) ^ (1 << 63)).to_be_bytes());
}

fn push_decimal(out: &mut Vec<u8>, value: i128, precision: u8) {
    if precision <= DECIMAL_NARROW_PRECISION {
        push_i64(out, i64::try_from(value).expect("value was checked against its precision"));
    } else {
        out.extend_from_slice(&((value as u128) ^ (1 << 127)).to_be_bytes());
    }
}

fn push_wide(out: &mut Vec<u8>, value: i256) {
    let mut bytes = value.to_be_bytes();
    bytes[0] ^= 1 << 7;
    out.extend_from_slice(&bytes);
}

/// Decimals of at most this precision fit 8 bytes.
pub(crate) const DECIMAL_NARROW_PRECISION: u8 = 18;

/// Total order as in PostgreSQL: -0 equals 0, NaN equals NaN and is greater than all.
fn push_f64(out: &mut Vec<u8>, value: f64) {
    let value = if value == 0.0 {
        0.0
    } else if value.is_nan() {
        f64::NAN
    } else {
        value
    };
    let bits = value.to_bits();
    let flipped = if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) };
    out.extend_from_slice(&flipped.to_be_bytes());
}

fn push_f32(out: &mut Vec<u8>, value: f32) {
    let value = if value == 0.0 {
        0.0
    } else if value.is_nan() {
        f32::NAN
    } else {
        value
    };
    let bits = value.to_bits();
    let flipped = if bits >> 31 == 1 { !bits } else { bits ^ (1 << 31) };
    out.extend_from_slice(&flipped.to_be_bytes());
}

/// Its length with months of 30 days and days of 24 hours: so long intervals are equal, whatever they
/// are made of. No value can be had back from it.
fn push_interval(out: &mut Vec<u8>, value: IntervalMonthDayNano) {
    let length = interval_length(value);
    out.extend_from_slice(&((length as u128) ^ (1 << 127)).to_be_bytes());
}

/// Text ends with a zero byte, which text itself never contains (as in PostgreSQL).
fn push_text(out: &mut Vec<u8>, value: &[u8]) -> SqlResult<()> {
    if value.contains(&0) {
        let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
        return Err(SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message));
    }
    out.extend_from_slice(value);
    out.push(0);
    Ok(())
}

/// A zero byte becomes 0, 255; two zero bytes end the value.
fn push_bytes(out: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        out.push(byte);
        if byte == 0 {
            out.push(u8::MAX);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The smallest byte string greater than all that start with `prefix`; `None` if there is none.
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&b| b != u8::MAX)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// Appends the byte below which the values of a nullable column that are not null lie, to exclude
/// nulls from a range without an upper bound.
pub fn push_null_bound(out: &mut Vec<u8>) {
    out.push(NULL);
}

/// A decoded value of a key, borrowing text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decoded<'a> {
    Null,
    /// Booleans, integers, dates, timestamps and decimals.
    Integer(i128),
    /// Numbers without a precision.
    Wide(i256),
    Float(f64),
    Text(&'a str),
    Bytes(Cow<'a, [u8]>),
}

/// Takes the value of `column` off the front of `key`.
///
/// # Panics
/// If the bytes are not such a key: pages are checksummed, so this is a bug.
pub(crate) fn take_value<'a>(column: &KeyColumn, key: &mut &'a [u8]) -> Decoded<'a> {
    if column.hashed {
        take::<HASH_BYTES>(key);
    }
    if column.nullable && take::<1>(key)[0] == NULL {
        return Decoded::Null;
    }
    match column.ty.plain() {
        LogicalType::Bool => Decoded::Integer(i128::from(take::<1>(key)[0])),
        LogicalType::Int16 => {
            Decoded::Integer((u16::from_be_bytes(take(key)) ^ (1 << 15)).cast_signed().into())
        }
        LogicalType::Int32 | LogicalType::Date => {
            Decoded::Integer((u32::from_be_bytes(take(key)) ^ (1 << 31)).cast_signed().into())
        }
        LogicalType::Oid => Decoded::Integer(u32::from_be_bytes(take(key)).into()),
        LogicalType::Int64
        | LogicalType::Timestamp
        | LogicalType::TimestampTz
        | LogicalType::Time => Decoded::Integer(take_i64(key)),
        LogicalType::Uuid => {
            let (uuid, rest) = key.split_at(16);
            *key = rest;
            Decoded::Bytes(Cow::Borrowed(uuid))
        }
        LogicalType::Bytea => Decoded::Bytes(Cow::Owned(take_bytes(key))),
        LogicalType::Interval if column.hashed => {
            Decoded::Integer((u128::from_be_bytes(take(key)) ^ (1 << 127)).cast_signed())
        }
        LogicalType::Interval | LogicalType::Rounded(..) | LogicalType::Array(_) => {
            unreachable!("the type was refused when the key was declared")
        }
        LogicalType::Decimal { precision, .. } if precision <= DECIMAL_NARROW_PRECISION => {
            Decoded::Integer(take_i64(key))
        }
        LogicalType::Decimal { .. } => {
            Decoded::Integer((u128::from_be_bytes(take(key)) ^ (1 << 127)).cast_signed())
        }
        LogicalType::Numeric => {
            let mut bytes = take::<32>(key);
            bytes[0] ^= 1 << 7;
            Decoded::Wide(i256::from_be_bytes(bytes))
        }
        LogicalType::Float64 => {
            let bits = u64::from_be_bytes(take(key));
            let bits = if bits >> 63 == 1 { bits ^ (1 << 63) } else { !bits };
            Decoded::Float(f64::from_bits(bits))
        }
        LogicalType::Float32 => {
            let bits = u32::from_be_bytes(take(key));
            let bits = if bits >> 31 == 1 { bits ^ (1 << 31) } else { !bits };
            Decoded::Float(f64::from(f32::from_bits(bits)))
        }
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
            Decoded::Text(take_text(key))
        }
    }
}

fn take<const N: usize>(key: &mut &[u8]) -> [u8; N] {
    let (head, tail) = key.split_first_chunk::<N>().expect("key is complete");
    *key = tail;
    *head
}

fn take_i64(key: &mut &[u8]) -> i128 {
    i128::from((u64::from_be_bytes(take(key)) ^ (1 << 63)).cast_signed())
}

fn take_text<'a>(key: &mut &'a [u8]) -> &'a str {
    let end = key.iter().position(|&b| b == 0).expect("text in a key is terminated");
    let text = std::str::from_utf8(&key[..end]).expect("text in a key is UTF-8");
    *key = &key[end + 1..];
    text
}

fn take_bytes(key: &mut &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = take::<1>(key)[0];
        if byte == 0 && take::<1>(key)[0] == 0 {
            return bytes;
        }
        bytes.push(byte);
    }
}

/// The bytes of each column in `key`, in key order.
///
/// # Panics
/// If the bytes are not such a key.
pub fn split_columns<'a>(columns: &[KeyColumn], key: &'a [u8]) -> Vec<&'a [u8]> {
    let mut rest = key;
    let piece = |column| {
        let before = rest;
        take_value(column, &mut rest);
        &before[..before.len() - rest.len()]
    };
    columns.iter().map(piece).collect()
}
