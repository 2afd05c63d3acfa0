//! How much memory rows take.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// A batch's own overhead: its vectors of columns and the headers of their buffers.
const COLUMN_BYTES: usize = 128;

/// Small batches wait for company until they have so many bytes: rows that are large are few.
pub(crate) const WAITING_BYTES: usize = 1 << 20;

/// Bytes that the rows of `batch` take. Buffers that it shares with other batches count for what it
/// uses of them, so that the parts of a batch that was cut add up to the whole.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(column_bytes).sum()
}

/// Bytes that the values of a column take, by the same measure.
pub(crate) fn column_bytes(column: &ArrayRef) -> usize {
    let nulls = column.nulls().map_or(0, |_| column.len().div_ceil(8));
    let values = match column.data_type() {
        DataType::Utf8View => {
            column.len() * size_of::<u128>() + column.as_string_view().total_buffer_bytes_used()
        }
        DataType::BinaryView => {
            column.len() * size_of::<u128>() + column.as_binary_view().total_buffer_bytes_used()
        }
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            let (first, last) = (lists.value_offsets()[0], lists.value_offsets()[lists.len()]);
            let elements = lists.values().slice(first as usize, (last - first) as usize);
            lists.len() * size_of::<i32>() + column_bytes(&elements)
        }
        // A type without a fixed layout is taken for what its buffers are.
        other => match other.primitive_width() {
            Some(width) => column.len() * width,
            None => column
                .to_data()
                .get_slice_memory_size()
                .unwrap_or_else(|_| column.get_buffer_memory_size()),
        },
    };
    values + nulls + COLUMN_BYTES
}
