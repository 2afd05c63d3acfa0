//! Rows as bytes between nodes: the form of temporary files, of one schema that both ends know.
//!
//! The bytes begin with the message of the schema, which is compared and not read: what comes from
//! another process decides nothing but values. The ranges of the other message are checked before
//! the library takes them, since it trusts them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_message};
use arrow_schema::{Field, Schema, SchemaRef};
use types::{SqlError, SqlResult, SqlState};

use super::bounds;
use super::frame::violation;
use crate::batch;
use crate::spill::codec;

/// The most bytes of a batch: a value has a gibibyte at most, and rows are cut at the size of a
/// buffer.
pub(crate) const BATCH_BYTES_MAX: usize = 1 << 31;

/// The bytes before the length of each message.
const MARKER: [u8; 4] = [0xFF; 4];

/// The mark of the end of a batch.
const CLOSING: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// How the rows of one schema are written and read.
pub(crate) struct Wire {
    /// The rows as they are handed on.
    schema: SchemaRef,
    /// The same types without names.
    plain: SchemaRef,
    /// The message of that schema, as each batch begins.
    opening: Vec<u8>,
}

impl Wire {
    /// For rows of `schema`.
    ///
    /// # Errors
    /// 0A000: a type that cannot be checked when it comes from another node.
    pub(crate) fn new(schema: &SchemaRef) -> SqlResult<Wire> {
        if let Some(field) = schema.fields().iter().find(|f| !bounds::is_known(f.data_type())) {
            return Err(SqlError::unsupported(format!("an exchange of {}", field.data_type())));
        }
        let field =
            |(i, f): (usize, &Arc<Field>)| Field::new(format!("c{i}"), f.data_type().clone(), true);
        let fields = schema.fields().iter().enumerate().map(field);
        let plain = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let opening = codec::opening(&plain)?;
        Ok(Wire { schema: batch::relaxed(schema), plain, opening })
    }

    /// The rows as they are handed on.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The bytes of `rows`.
    ///
    /// # Errors
    /// 54000 when they are more than a batch may have; XX000 when the rows are of another schema.
    pub(crate) fn encode(&self, rows: &RecordBatch) -> SqlResult<Vec<u8>> {
        let bytes = codec::encode(&batch::retitle(rows, &self.plain)?)?;
        if bytes.len() > BATCH_BYTES_MAX {
            let message = format!("a row of {} bytes cannot go to another node", bytes.len());
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        match bytes.starts_with(&self.opening) {
            true => Ok(bytes),
            false => Err(SqlError::internal("rows of another schema than their exchange")),
        }
    }

    /// The rows in `bytes`, which become their memory.
    ///
    /// # Errors
    /// 08P01: rows of another schema, or none.
    pub(crate) fn decode(&self, bytes: Vec<u8>) -> SqlResult<RecordBatch> {
        if !bytes.starts_with(&self.opening) {
            return Err(violation("rows of another schema"));
        }
        let message = bytes[self.opening.len()..].strip_suffix(&CLOSING);
        check(&self.plain, message.ok_or_else(|| violation("a batch that does not end"))?)?;
        let mut bytes = Buffer::from_vec(bytes);
        let mut decoder = StreamDecoder::new();
        let rows = decoder.decode(&mut bytes).map_err(violation)?;
        let rows = rows.ok_or_else(|| violation("a batch without rows"))?;
        if bytes.len() != CLOSING.len() {
            return Err(violation("bytes after the rows of a batch"));
        }
        batch::retitle(&rows, &self.schema)
    }
}

/// Checks that the message of rows in `bytes` lies within them.
fn check(schema: &Schema, bytes: &[u8]) -> SqlResult<()> {
    let wrong = || violation("rows that lie outside of their batch");
    let (marker, rest) = bytes.split_at_checked(MARKER.len()).ok_or_else(wrong)?;
    let (len, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
    let len = u32::from_le_bytes(*len) as usize;
    let (head, body) = rest.split_at_checked(len).ok_or_else(wrong)?;
    if marker != MARKER || len == 0 {
        return Err(wrong());
    }
    let message = root_as_message(head).map_err(|_| violation("a message that is none"))?;
    let rows = (message.header_type() == MessageHeader::RecordBatch)
        .then(|| message.header_as_record_batch())
        .flatten()
        .filter(|rows| rows.compression().is_none())
        .ok_or_else(|| violation("a message that has no rows"))?;
    let is_whole = usize::try_from(message.bodyLength()).is_ok_and(|len| len == body.len());
    match is_whole && bounds::hold(schema, &rows, body.len()) {
        true => Ok(()),
        false => Err(wrong()),
    }
}
