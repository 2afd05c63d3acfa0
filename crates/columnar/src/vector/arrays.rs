//! Decoded values as Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, BinaryViewType, Date32Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    StringViewType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer, i256};
use types::parse::ColumnParser;
use types::{Column, LogicalType};

use super::views::{Views, is_text};
use crate::strings::Texts;

/// What is wrong with a text that is none.
pub(super) const NO_TEXT: &str = "text is not UTF-8";

/// Values by the way in which they were stored.
pub(super) enum Values {
    Bits(Vec<bool>),
    Words16(Vec<u16>),
    Words32(Vec<u32>),
    Words64(Vec<u64>),
    Bytes16(Vec<[u8; 16]>),
    Bytes32(Vec<[u8; 32]>),
    Texts(Texts),
}

/// The array of a stored type; an error says what is wrong with its bytes.
pub(super) fn array_of(
    ty: LogicalType,
    values: Values,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, &'static str> {
    Ok(match values {
        Values::Bits(bits) => Arc::new(BooleanArray::new(BooleanBuffer::from(bits), nulls)),
        Values::Words16(words) => primitive::<Int16Type, _>(ty, words, nulls),
        Values::Words32(words) => match ty {
            LogicalType::Float32 => primitive::<Float32Type, _>(ty, words, nulls),
            LogicalType::Date => primitive::<Date32Type, _>(ty, words, nulls),
            _ => primitive::<Int32Type, _>(ty, words, nulls),
        },
        Values::Words64(words) => array_of_words(ty, words, nulls),
        Values::Bytes16(bytes) => match ty {
            LogicalType::Uuid => uuids(bytes, nulls),
            LogicalType::Interval => {
                let values: Vec<_> = bytes.into_iter().map(interval).collect();
                Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(values.into(), nulls))
            }
            _ => {
                let values: Vec<i128> = bytes.into_iter().map(i128::from_le_bytes).collect();
                primitive::<Decimal128Type, _>(ty, values, nulls)
            }
        },
        Values::Bytes32(bytes) => {
            let values: Vec<i256> = bytes.into_iter().map(i256::from_le_bytes).collect();
            primitive::<Decimal256Type, _>(ty, values, nulls)
        }
        Values::Texts(texts) => match ty {
            LogicalType::Array(_) => lists(ty, &texts, nulls)?,
            LogicalType::Text if !is_text(&texts) => return Err(NO_TEXT),
            LogicalType::Text => views_of(texts).into_array::<StringViewType>(nulls)?,
            _ => views_of(texts).into_array::<BinaryViewType>(nulls)?,
        },
    })
}

fn array_of_words(ty: LogicalType, words: Vec<u64>, nulls: Option<NullBuffer>) -> ArrayRef {
    match ty {
        LogicalType::Float64 => primitive::<Float64Type, _>(ty, words, nulls),
        LogicalType::Time => primitive::<Time64MicrosecondType, _>(ty, words, nulls),
        LogicalType::Timestamp | LogicalType::TimestampTz => {
            primitive::<TimestampMicrosecondType, _>(ty, words, nulls)
        }
        LogicalType::Oid => {
            let values: Vec<u32> = words.into_iter().map(|word| word as u32).collect();
            primitive::<UInt32Type, _>(ty, values, nulls)
        }
        LogicalType::Decimal { .. } => {
            let wide = |word: u64| i128::from(word.cast_signed());
            let values: Vec<i128> = words.into_iter().map(wide).collect();
            primitive::<Decimal128Type, _>(ty, values, nulls)
        }
        _ => primitive::<Int64Type, _>(ty, words, nulls),
    }
}

/// An array over the same memory: `N` has the size of the array's values.
fn primitive<T: ArrowPrimitiveType, N: ArrowNativeType>(
    ty: LogicalType,
    values: Vec<N>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let len = values.len();
    let values = ScalarBuffer::<T::Native>::new(Buffer::from_vec(values), 0, len);
    Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(ty.arrow()))
}

fn uuids(bytes: Vec<[u8; 16]>, nulls: Option<NullBuffer>) -> ArrayRef {
    let bytes = Buffer::from_vec(bytes.into_flattened());
    Arc::new(FixedSizeBinaryArray::new(16, bytes, nulls))
}

fn interval(bytes: [u8; 16]) -> IntervalMonthDayNano {
    let value = u128::from_le_bytes(bytes);
    IntervalMonthDayNano {
        months: value as i32,
        days: (value >> 32) as i32,
        nanoseconds: (value >> 64) as i64,
    }
}

/// Arrays from their text form.
fn lists(
    ty: LogicalType,
    texts: &Texts,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, &'static str> {
    let mut parser = ColumnParser::new(&Column { name: String::new(), ty, nullable: true });
    let rows = texts.codes.as_ref().map_or(texts.spans.len(), Vec::len);
    for row in 0..rows {
        let number = texts.codes.as_ref().map_or(row, |codes| usize::from(codes[row]));
        let text = match &nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(std::str::from_utf8(texts.get(number)).map_err(|_| NO_TEXT)?),
        };
        parser.push(text).map_err(|_| "text is no array of its column's type")?;
    }
    Ok(parser.finish())
}

fn views_of(texts: Texts) -> Views {
    let mut views = Views::default();
    views.push(texts);
    views
}
