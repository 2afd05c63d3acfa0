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
        // What has no fixed layout (a list of views) is taken for what its buffers are.
        _ => column
            .to_data()
            .get_slice_memory_size()
            .unwrap_or_else(|_| column.get_buffer_memory_size()),
    };
    values + nulls + COLUMN_BYTES
}
