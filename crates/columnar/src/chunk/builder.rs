//! Cuts a stream of rows into chunks of a wanted size.
//!
//! All columns of a chunk have the same rows, and how many bytes these take is known only when they
//! are encoded; so each chunk tells how many rows the next one takes (AnyBlob paper, section 4.4).

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;
use types::LogicalType;

use super::{Chunk, encode};
use crate::error::{Error, Result};
use crate::layout::VECTOR_ROWS;

/// Rows of a chunk at most, whatever they take: what waits in memory is not encoded.
const ROWS_MAX: usize = 1 << 20;

/// Rows of the first chunk at 8 MiB: some 32 bytes for each encoded row, as rows of orders take.
const BYTES_PER_ROW: usize = 32;

/// Collects rows and encodes them, a chunk at a time.
pub struct ChunkBuilder {
    types: Vec<LogicalType>,
    bytes_target: usize,
    rows_target: usize,
    waiting: Vec<Vec<ArrayRef>>,
    waiting_rows: usize,
}

impl ChunkBuilder {
    /// A builder of chunks of these columns, with bodies of about `bytes_target` bytes (2 to 16 MiB
    /// are meant).
    pub fn new(types: Vec<LogicalType>, bytes_target: usize) -> ChunkBuilder {
        let rows_target = whole_vectors(bytes_target / BYTES_PER_ROW);
        let waiting = vec![Vec::new(); types.len()];
        ChunkBuilder { types, bytes_target, rows_target, waiting, waiting_rows: 0 }
    }

    /// Adds rows, and returns the chunks that they complete.
    ///
    /// Errors: as [`encode`]; the rows that wait are lost then.
    pub fn push(&mut self, columns: &[ArrayRef]) -> Result<Vec<Chunk>> {
        let rows = columns.first().map_or(0, |column| column.len());
        if columns.len() != self.types.len() || columns.iter().any(|c| c.len() != rows) {
            return Err(Error::Mismatch("arrays that are no rows of the columns".to_string()));
        }
        let (mut chunks, mut at) = (Vec::new(), 0);
        while at < rows {
            let take = (self.rows_target - self.waiting_rows).min(rows - at);
            for (waiting, column) in self.waiting.iter_mut().zip(columns) {
                waiting.push(column.slice(at, take));
            }
            (self.waiting_rows, at) = (self.waiting_rows + take, at + take);
            if self.waiting_rows == self.rows_target {
                chunks.push(self.encode_waiting()?);
            }
        }
        Ok(chunks)
    }

    /// The last chunk, if rows wait.
    ///
    /// Errors: as [`encode`].
    pub fn finish(mut self) -> Result<Option<Chunk>> {
        match self.waiting_rows {
            0 => Ok(None),
            _ => self.encode_waiting().map(Some),
        }
    }

    fn encode_waiting(&mut self) -> Result<Chunk> {
        let rows = std::mem::take(&mut self.waiting_rows);
        let columns = self.waiting.iter_mut().map(|waiting| {
            let parts = std::mem::take(waiting);
            let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
            concat(&parts).map_err(|error| Error::Mismatch(error.to_string()))
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let chunk = encode(&self.types, &columns)?;
        let fitting = self.bytes_target as u128 * rows as u128 / chunk.body.len().max(1) as u128;
        self.rows_target = whole_vectors(usize::try_from(fitting).unwrap_or(ROWS_MAX));
        Ok(chunk)
    }
}

/// `rows` as whole vectors, within bounds.
fn whole_vectors(rows: usize) -> usize {
    (rows / VECTOR_ROWS * VECTOR_ROWS).clamp(VECTOR_ROWS, ROWS_MAX)
}
