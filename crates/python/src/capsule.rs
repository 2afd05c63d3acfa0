//! Capsules of the Arrow C interfaces: how other libraries' vectors come in and ours go out, without a
//! copy. What comes in is what its producer promises: the interface has no way to check it.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::refused;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// Rows of another library.
pub(crate) enum Stream {
    Batches(Box<ArrowArrayStreamReader>),
    Batch(RecordBatch),
}

impl Stream {
    /// All rows. The interpreter's lock must not be held: whoever makes them may want it.
    ///
    /// # Errors
    /// What their producer says.
    pub fn read(self) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
        match self {
            Stream::Batch(batch) => Ok((batch.schema(), vec![batch])),
            Stream::Batches(reader) => {
                let schema = reader.schema();
                let batches = reader.collect::<Result<_, _>>().map_err(not_read)?;
                Ok((schema, batches))
            }
        }
    }
}

/// The stream of a capsule, which is empty afterwards.
pub(crate) fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let pointer = pointer(capsule, STREAM)?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name has a valid stream for as long as it lives, which is longer than
    // this call; moving it out leaves an empty one, as the interface wants. The interpreter's lock is
    // held, so nobody else moves it meanwhile.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
    reader.map(|reader| Stream::Batches(Box::new(reader))).map_err(not_read)
}

/// The array of a capsule, which is empty afterwards, with the schema of another one.
pub(crate) fn array(schema: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<Stream> {
    let schema = pointer(schema, SCHEMA)?.cast::<FFI_ArrowSchema>();
    let array = pointer(array, ARRAY)?.cast::<FFI_ArrowArray>();
    // SAFETY: as above: a valid array, moved out; the schema is only read, and released by its capsule.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.as_ptr());
        from_ffi(array, schema.as_ref())
    };
    let data = data.map_err(not_read)?;
    if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
        return Err(refused("0A000", "an Arrow array that is no table: its type is not struct"));
    }
    Ok(Stream::Batch(RecordBatch::from(StructArray::from(data))))
}

/// A capsule with a stream of batches.
pub(crate) fn of_reader<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// A capsule with a schema.
pub(crate) fn of_schema<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(not_read)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

fn pointer(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<c_void>> {
    capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))
}

fn not_read(error: ArrowError) -> PyErr {
    refused("22000", error.to_string())
}
