//! A batch as bytes: the stream format of the vector library, one batch a stream.

use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use types::{SqlError, SqlResult, SqlState};

use crate::batch;

/// The bytes of `rows`.
pub(crate) fn encode(rows: &RecordBatch) -> SqlResult<Vec<u8>> {
    // Views are written with all buffers that they point into.
    let rows = batch::compact(rows.clone());
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).map_err(batch::arrow)?;
    writer.write(&rows).map_err(batch::arrow)?;
    writer.into_inner().map_err(batch::arrow)
}

/// The bytes that all batches of a schema begin with.
pub(crate) fn opening(schema: &Schema) -> SqlResult<Vec<u8>> {
    let mut bytes = Vec::new();
    StreamWriter::try_new(&mut bytes, schema).map_err(batch::arrow)?;
    Ok(bytes)
}

/// The batch in `bytes`; checked, since a disk has had them.
pub(crate) fn decode(bytes: &[u8]) -> SqlResult<RecordBatch> {
    let damaged = |what: String| {
        let message = format!("a temporary file is damaged: {what}");
        SqlError::new(SqlState::DATA_CORRUPTED, message)
    };
    let mut reader = StreamReader::try_new(Cursor::new(bytes), None)
        .map_err(|error| damaged(error.to_string()))?;
    match reader.next() {
        Some(Ok(rows)) => Ok(rows),
        Some(Err(error)) => Err(damaged(error.to_string())),
        None => Err(damaged("it ends too early".into())),
    }
}
