//! Decoded values as Arrow arrays.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::types::{
    ArrowPrimitiveType, BinaryViewType, ByteViewType, Date32Type, Decimal128Type, Decimal256Type,
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, StringViewType, Time64MicrosecondType, TimestampMicrosecondType,
    UInt32Type,
};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, GenericByteViewArray, PrimitiveArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer, i256};
use types::parse::ColumnParser;
use types::{Column, LogicalType};

use crate::strings::Texts;

/// Bytes of a string that lies wholly in its view.
const MAX_INLINE_VIEW_LEN: u32 = 12;

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
            LogicalType::Text => byte_views::<StringViewType>(texts, nulls, is_text)?,
            _ => byte_views::<BinaryViewType>(texts, nulls, |_| true)?,
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
            _ => Some(std::str::from_utf8(texts.get(number)).map_err(|_| "text is not UTF-8")?),
        };
        parser.push(text).map_err(|_| "text is no array of its column's type")?;
    }
    Ok(parser.finish())
}

/// Views of strings in one buffer, of which `is_valid` has accepted all that `T` asks for.
fn byte_views<T: ByteViewType>(
    texts: Texts,
    nulls: Option<NullBuffer>,
    is_valid: impl Fn(&Texts) -> bool,
) -> Result<ArrayRef, &'static str> {
    if !is_valid(&texts) {
        return Err("text is not UTF-8");
    }
    let view = |&(offset, len): &(u32, u32)| view_of(&texts.buffer, offset, len);
    let mut views: Vec<u128> = texts.spans.iter().map(view).collect();
    if let Some(codes) = &texts.codes {
        views = codes.iter().map(|code| views[usize::from(*code)]).collect();
    }
    if nulls.as_ref().is_some_and(|nulls| nulls.len() != views.len()) {
        return Err("validity of another number of rows");
    }
    // SAFETY: each view was made by `view_of` for a string that lies in the only buffer, has its
    // prefix or its bytes, and zeros after them; `is_valid` has looked at the strings; the nulls
    // are as many as the views.
    let array = unsafe {
        GenericByteViewArray::<T>::new_unchecked(views.into(), vec![texts.buffer], nulls)
    };
    Ok(Arc::new(array))
}

/// The view of one string.
#[inline]
fn view_of(buffer: &[u8], offset: u32, len: u32) -> u128 {
    let start = offset as usize;
    match buffer.get(start..start + MAX_INLINE_VIEW_LEN as usize) {
        // The same for short and long strings, without a call to copy some bytes.
        Some(first) if len <= MAX_INLINE_VIEW_LEN => {
            let mut bytes = [0; 16];
            bytes[4..].copy_from_slice(first);
            let kept = u128::MAX >> (8 * (MAX_INLINE_VIEW_LEN - len));
            (u128::from_le_bytes(bytes) & kept) | u128::from(len)
        }
        Some(first) => {
            let prefix = u128::from(u32::from_le_bytes([first[0], first[1], first[2], first[3]]));
            u128::from(len) | prefix << 32 | u128::from(offset) << 96
        }
        None => make_view(&buffer[start..][..len as usize], 0, offset),
    }
}

/// Whether each string is UTF-8: the buffer is, and no string begins or ends within a character.
fn is_text(texts: &Texts) -> bool {
    if texts.buffer.is_ascii() {
        return true;
    }
    let Ok(text) = std::str::from_utf8(&texts.buffer) else { return false };
    texts.spans.iter().all(|&(offset, len)| {
        text.is_char_boundary(offset as usize) && text.is_char_boundary((offset + len) as usize)
    })
}
