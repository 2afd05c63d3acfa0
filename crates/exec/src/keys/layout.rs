//! Keys of several columns as bytes: equal keys have equal bytes. They have no order.
//!
//! A bit for each column says whether it is null; then come the columns, those of a fixed length as they
//! are and texts by their lengths; then the texts.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, ToByteSlice};
use arrow_schema::{DataType, TimeUnit};

use super::ByteKeys;

/// Bytes of the length of a text.
const LENGTH_BYTES: usize = 4;

/// Where each column stands in a key.
pub(crate) struct Layout {
    types: Vec<DataType>,
    offsets: Vec<usize>,
    /// Bytes before the texts.
    fixed_len: usize,
}

impl Layout {
    /// For keys of these types; `None` where one of them has no bytes that are equal for equal values.
    pub(crate) fn of(types: &[DataType]) -> Option<Layout> {
        let mut at = types.len().div_ceil(8);
        let mut offsets = Vec::with_capacity(types.len());
        for ty in types {
            offsets.push(at);
            at += fixed_len(ty)?;
        }
        Some(Layout { types: types.to_vec(), offsets, fixed_len: at })
    }

    /// The keys of the rows of some columns, of the layout's types.
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> ByteKeys {
        let rows = columns.first().map_or(0, |column| column.len());
        let mut lens = vec![self.fixed_len; rows];
        columns.iter().for_each(|column| add_text_lens(column, &mut lens));
        let mut end = 0;
        let mut starts = Vec::with_capacity(rows + 1);
        for len in &lens {
            starts.push(end);
            end += len;
        }
        let mut bytes = vec![0; end];
        for (i, column) in columns.iter().enumerate() {
            if let Some(nulls) = column.nulls().filter(|nulls| nulls.null_count() > 0) {
                let null_rows = starts.iter().enumerate().filter(|(row, _)| nulls.is_null(*row));
                null_rows.for_each(|(_, start)| bytes[start + i / 8] |= 1 << (i % 8));
            }
            self.write(i, column, &starts, &mut lens, &mut bytes);
        }
        // Each key ends where the next one starts.
        starts.push(end);
        starts.remove(0);
        ByteKeys { bytes, ends: starts }
    }

    /// Writes a column. `ends` is where the text of each row ends in its key, if the column has texts.
    fn write(
        &self,
        i: usize,
        column: &ArrayRef,
        starts: &[usize],
        ends: &mut [usize],
        bytes: &mut [u8],
    ) {
        let offset = self.offsets[i];
        macro_rules! numbers {
            ($t:ty) => {
                write_numbers::<$t>(column, offset, starts, bytes)
            };
        }
        match &self.types[i] {
            DataType::Int16 => numbers!(Int16Type),
            DataType::Int32 => numbers!(Int32Type),
            DataType::Int64 => numbers!(Int64Type),
            DataType::UInt32 => numbers!(UInt32Type),
            DataType::Date32 => numbers!(Date32Type),
            DataType::Time64(_) => numbers!(Time64MicrosecondType),
            DataType::Timestamp(..) => numbers!(TimestampMicrosecondType),
            DataType::Decimal128(..) => numbers!(Decimal128Type),
            DataType::Decimal256(..) => numbers!(Decimal256Type),
            DataType::Float32 => numbers!(Float32Type),
            DataType::Float64 => numbers!(Float64Type),
            DataType::Boolean => {
                let values = column.as_boolean();
                for_values(column, |row| {
                    bytes[starts[row] + offset] = u8::from(values.value(row));
                });
            }
            _ => {
                let texts = column.as_string_view();
                for_values(column, |row| {
                    let text = texts.value(row).as_bytes();
                    let at = starts[row] + offset;
                    let len = (text.len() as u32).to_le_bytes();
                    bytes[at..at + LENGTH_BYTES].copy_from_slice(&len);
                    // The texts of a key are written from its end on.
                    ends[row] -= text.len();
                    let at = starts[row] + ends[row];
                    bytes[at..at + text.len()].copy_from_slice(text);
                });
            }
        }
    }
}

impl Layout {
    /// The columns that keys were made of.
    pub(crate) fn decode(&self, keys: &ByteKeys) -> Vec<ArrayRef> {
        // Where the texts that have been read begin in each key, as its length from its start.
        let mut ends: Vec<usize> = (0..keys.len()).map(|i| keys.get(i).len()).collect();
        (0..self.types.len()).map(|i| self.read(i, keys, &mut ends)).collect()
    }

    fn read(&self, i: usize, keys: &ByteKeys, ends: &mut [usize]) -> ArrayRef {
        let (offset, ty) = (self.offsets[i], &self.types[i]);
        macro_rules! numbers {
            ($t:ty) => {
                self.read_numbers::<$t, { size_of::<<$t as ArrowPrimitiveType>::Native>() }>(
                    i,
                    keys,
                    <$t as ArrowPrimitiveType>::Native::from_le_bytes,
                )
            };
        }
        match ty {
            DataType::Int16 => numbers!(Int16Type),
            DataType::Int32 => numbers!(Int32Type),
            DataType::Int64 => numbers!(Int64Type),
            DataType::UInt32 => numbers!(UInt32Type),
            DataType::Date32 => numbers!(Date32Type),
            DataType::Time64(_) => numbers!(Time64MicrosecondType),
            DataType::Timestamp(..) => numbers!(TimestampMicrosecondType),
            DataType::Decimal128(..) => numbers!(Decimal128Type),
            DataType::Decimal256(..) => numbers!(Decimal256Type),
            DataType::Float32 => numbers!(Float32Type),
            DataType::Float64 => numbers!(Float64Type),
            DataType::Boolean => {
                let values: Vec<bool> = (0..keys.len()).map(|k| keys.get(k)[offset] == 1).collect();
                Arc::new(BooleanArray::new(values.into(), self.nulls(i, keys)))
            }
            _ => {
                let mut texts = StringViewBuilder::with_capacity(keys.len());
                for (k, end) in ends.iter_mut().enumerate() {
                    let key = keys.get(k);
                    if self.is_null(i, key) {
                        texts.append_null();
                        continue;
                    }
                    let mut len = [0; LENGTH_BYTES];
                    len.copy_from_slice(&key[offset..offset + LENGTH_BYTES]);
                    let start = *end - u32::from_le_bytes(len) as usize;
                    texts.append_value(std::str::from_utf8(&key[start..*end]).unwrap_or_default());
                    *end = start;
                }
                Arc::new(texts.finish())
            }
        }
    }

    fn read_numbers<T: ArrowPrimitiveType, const N: usize>(
        &self,
        i: usize,
        keys: &ByteKeys,
        of_bytes: impl Fn([u8; N]) -> T::Native,
    ) -> ArrayRef {
        let offset = self.offsets[i];
        let value = |k: usize| {
            let mut bytes = [0; N];
            bytes.copy_from_slice(&keys.get(k)[offset..offset + N]);
            of_bytes(bytes)
        };
        let values: Vec<T::Native> = (0..keys.len()).map(value).collect();
        let array = PrimitiveArray::<T>::new(values.into(), self.nulls(i, keys));
        Arc::new(array.with_data_type(self.types[i].clone()))
    }

    fn is_null(&self, i: usize, key: &[u8]) -> bool {
        key[i / 8] >> (i % 8) & 1 == 1
    }

    fn nulls(&self, i: usize, keys: &ByteKeys) -> Option<NullBuffer> {
        let valid: NullBuffer = (0..keys.len()).map(|k| !self.is_null(i, keys.get(k))).collect();
        Some(valid).filter(|valid| valid.null_count() > 0)
    }
}

/// Bytes before the texts that a column takes.
fn fixed_len(ty: &DataType) -> Option<usize> {
    Some(match ty {
        DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt32
        | DataType::Date32
        | DataType::Time64(TimeUnit::Microsecond)
        | DataType::Timestamp(TimeUnit::Microsecond, _)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Float32
        | DataType::Float64 => ty.primitive_width()?,
        DataType::Boolean => 1,
        DataType::Utf8View => LENGTH_BYTES,
        _ => return None,
    })
}

fn add_text_lens(column: &ArrayRef, lens: &mut [usize]) {
    if let Some(texts) = column.as_string_view_opt() {
        let views = texts.views();
        for_values(column, |row| lens[row] += views[row] as u32 as usize);
    }
}

/// Calls `work` with each row that is not null.
fn for_values(column: &ArrayRef, work: impl FnMut(usize)) {
    match column.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => (0..column.len()).for_each(work),
        Some(nulls) => nulls.valid_indices().for_each(work),
    }
}

fn write_numbers<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    offset: usize,
    starts: &[usize],
    bytes: &mut [u8],
) {
    let values = column.as_primitive::<T>().values();
    let width = size_of::<T::Native>();
    for_values(column, |row| {
        let at = starts[row] + offset;
        bytes[at..at + width].copy_from_slice(values[row].to_byte_slice());
    });
}
