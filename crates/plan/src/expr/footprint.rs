//! How much memory computed values take.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, types::ByteViewType};
use arrow_schema::DataType;

/// Bytes of buffers that are not worth a look at each value.
const SMALL_BYTES: usize = 16 << 10;

/// Bytes of values whose types have values of any size; values of one size are never many.
pub fn value_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8View => view_bytes(array.as_string_view()),
        DataType::BinaryView => view_bytes(array.as_binary_view()),
        DataType::Utf8 => array.as_string::<i32>().value_data().len(),
        DataType::Binary => array.as_binary::<i32>().value_data().len(),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let offsets = lists.value_offsets();
            let (first, last) = (offsets[0] as usize, offsets[lists.len()] as usize);
            let elements = lists.values().slice(first, last - first);
            let fixed = elements.data_type().primitive_width().unwrap_or(size_of::<u128>());
            elements.len() * fixed + value_bytes(&elements)
        }
        _ => 0,
    }
}

/// Buffers may be shared with other columns: the values count that are here.
fn view_bytes<T: ByteViewType>(views: &GenericByteViewArray<T>) -> usize {
    let held: usize = views.data_buffers().iter().map(|buffer| buffer.len()).sum();
    if held < SMALL_BYTES { held } else { views.total_buffer_bytes_used() }
}
