//! Values taken out of Arrow arrays in the form in which they are encoded.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, StringViewArray};
use arrow_buffer::{NullBuffer, i256};
use types::LogicalType;

use crate::class::Class;
use crate::error::{Error, Result};

/// The values of an array by their class. At null rows there is the value of a neighbour, which
/// costs least whatever the encoding.
pub(crate) enum Raw<'a> {
    Bits(Vec<bool>),
    Words16(Vec<u16>),
    Words32(Vec<u32>),
    Words64(Vec<u64>),
    Reals(Vec<u32>),
    Doubles(Vec<u64>),
    /// Decimals of 16 and 32 bytes.
    Decimals(Vec<i256>),
    Fixed(Vec<[u8; 16]>),
    Strings(Vec<&'a [u8]>),
}

impl<'a> Raw<'a> {
    /// The values of `array`, which has to be a vector of the stored type `ty`.
    pub fn of(ty: LogicalType, array: &'a dyn Array) -> Result<Raw<'a>> {
        if *array.data_type() != ty.arrow() {
            let found = array.data_type();
            return Err(Error::Mismatch(format!("a vector of {found} for a column of {ty}")));
        }
        let mut raw = Raw::with_any_nulls(ty, array);
        if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            raw.fill_nulls(&nulls);
        }
        Ok(raw)
    }

    fn with_any_nulls(ty: LogicalType, array: &'a dyn Array) -> Raw<'a> {
        match ty {
            LogicalType::Bool => Raw::Bits(array.as_boolean().values().iter().collect()),
            LogicalType::Int16 => Raw::Words16(each::<Int16Type, _>(array, i16::cast_unsigned)),
            LogicalType::Int32 => Raw::Words32(each::<Int32Type, _>(array, i32::cast_unsigned)),
            LogicalType::Date => Raw::Words32(each::<Date32Type, _>(array, i32::cast_unsigned)),
            LogicalType::Oid => Raw::Words64(each::<UInt32Type, _>(array, u64::from)),
            LogicalType::Time => {
                Raw::Words64(each::<Time64MicrosecondType, _>(array, i64::cast_unsigned))
            }
            LogicalType::Timestamp | LogicalType::TimestampTz => {
                Raw::Words64(each::<TimestampMicrosecondType, _>(array, i64::cast_unsigned))
            }
            LogicalType::Float32 => Raw::Reals(each::<Float32Type, _>(array, f32::to_bits)),
            LogicalType::Float64 => Raw::Doubles(each::<Float64Type, _>(array, f64::to_bits)),
            LogicalType::Decimal { .. } => Raw::of_decimals(ty, array),
            LogicalType::Numeric => Raw::Decimals(each::<Decimal256Type, _>(array, |v| v)),
            LogicalType::Interval => {
                Raw::Fixed(each::<IntervalMonthDayNanoType, _>(array, interval_bytes))
            }
            LogicalType::Uuid => Raw::Fixed(uuids(array)),
            LogicalType::Text => {
                let array = array.as_string_view();
                Raw::Strings((0..array.len()).map(|row| array.value(row).as_bytes()).collect())
            }
            LogicalType::Bytea => {
                let array = array.as_binary_view();
                Raw::Strings((0..array.len()).map(|row| array.value(row)).collect())
            }
            _ => Raw::Words64(each::<Int64Type, _>(array, i64::cast_unsigned)),
        }
    }

    /// Decimals; in 64 bits where their precision says that they fit and they do.
    fn of_decimals(ty: LogicalType, array: &'a dyn Array) -> Raw<'a> {
        match Class::of(ty) {
            Class::Words64 => Raw::Words64(each::<Decimal128Type, _>(array, |v| v as u64)),
            _ => Raw::Decimals(each::<Decimal128Type, _>(array, i256::from_i128)),
        }
    }

    fn fill_nulls(&mut self, nulls: &NullBuffer) {
        match self {
            Raw::Bits(values) => fill(values, nulls),
            Raw::Words16(values) => fill(values, nulls),
            Raw::Words32(values) | Raw::Reals(values) => fill(values, nulls),
            Raw::Words64(values) | Raw::Doubles(values) => fill(values, nulls),
            Raw::Decimals(values) => fill(values, nulls),
            Raw::Fixed(values) => fill(values, nulls),
            Raw::Strings(values) => empty(values, nulls),
        }
    }
}

/// Arrays in their text form, which is how rows store them too (`docs/format/row.md`).
pub(crate) fn lists_as_text(ty: LogicalType, array: &dyn Array) -> Result<ArrayRef> {
    if *array.data_type() != ty.arrow() {
        let found = array.data_type();
        return Err(Error::Mismatch(format!("a vector of {found} for a column of {ty}")));
    }
    let text = |row: usize| types::text::format_value(array, row);
    Ok(Arc::new(StringViewArray::from_iter((0..array.len()).map(text))))
}

/// Whether each decimal of at most 18 digits that is not null has no more digits than that.
///
/// Errors: [`Error::Mismatch`], if one of them is longer than its type allows.
pub(crate) fn check_digits(ty: LogicalType, array: &dyn Array) -> Result<()> {
    let (LogicalType::Decimal { .. }, Class::Words64) = (ty, Class::of(ty)) else { return Ok(()) };
    let longer = array
        .as_primitive::<Decimal128Type>()
        .iter()
        .flatten()
        .find(|value| i64::try_from(*value).is_err());
    match longer {
        Some(value) => Err(Error::Mismatch(format!("{value} in a column of {ty}"))),
        None => Ok(()),
    }
}

fn each<T: ArrowPrimitiveType, R>(array: &dyn Array, map: impl Fn(T::Native) -> R) -> Vec<R> {
    array.as_primitive::<T>().values().iter().map(|value| map(*value)).collect()
}

fn uuids(array: &dyn Array) -> Vec<[u8; 16]> {
    let array = array.as_fixed_size_binary();
    let bytes = |row| array.value(row).try_into().expect("a uuid has 16 bytes");
    (0..array.len()).map(bytes).collect()
}

fn interval_bytes(value: arrow_array::types::IntervalMonthDayNano) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&value.months.to_le_bytes());
    bytes[4..8].copy_from_slice(&value.days.to_le_bytes());
    bytes[8..].copy_from_slice(&value.nanoseconds.to_le_bytes());
    bytes
}

/// Gives null rows the value before them, the first ones the first value.
fn fill<T: Copy>(values: &mut [T], nulls: &NullBuffer) {
    let Some(first) = nulls.valid_indices().next() else { return };
    let mut last = values[first];
    for (row, value) in values.iter_mut().enumerate() {
        if nulls.is_null(row) {
            *value = last;
        }
        last = *value;
    }
}

fn empty(values: &mut [&[u8]], nulls: &NullBuffer) {
    for (row, value) in values.iter_mut().enumerate() {
        if nulls.is_null(row) {
            *value = &[];
        }
    }
}

/// The bytes of validity, or `None` when no row or every row is null.
pub(crate) fn validity_bytes(nulls: Option<&NullBuffer>) -> Option<Vec<u8>> {
    let nulls = nulls.filter(|n| n.null_count() > 0 && n.null_count() < n.len())?;
    let mut bytes = vec![0; nulls.len().div_ceil(64) * 8];
    nulls.valid_indices().for_each(|row| bytes[row / 8] |= 1 << (row % 8));
    Some(bytes)
}
