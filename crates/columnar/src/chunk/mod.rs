//! Makes chunks of Arrow arrays.

mod builder;
mod column;

pub use builder::ChunkBuilder;
pub use column::ColumnEncoder;

use arrow_array::{Array, ArrayRef};
use types::LogicalType;

use crate::class::stored_type;
use crate::error::{Error, Result};
use crate::header::{ColumnParts, write};
use crate::layout::BODY_BYTES_MAX;

/// An encoded chunk: two byte strings that are kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What [`crate::ChunkHeader::parse`] reads.
    pub header: Vec<u8>,
    /// The segments, in whole sectors.
    pub body: Vec<u8>,
}

/// Encodes a run of rows: one array of the same length for each of the types.
///
/// Errors: [`Error::Mismatch`] if an array is of another type or length, or holds a decimal with
/// more digits than its type; [`Error::Unsupported`] for types that are not stored in blocks;
/// [`Error::TooLarge`] above 2^30 bytes or 2^32 rows.
pub fn encode(types: &[LogicalType], arrays: &[ArrayRef]) -> Result<Chunk> {
    let rows = arrays.first().map_or(0, |array| array.len());
    if types.len() != arrays.len() || arrays.iter().any(|array| array.len() != rows) {
        return Err(Error::Mismatch("arrays that are no rows of the columns".to_string()));
    }
    let mut chunk = ChunkEncoder::new(rows)?;
    for (ty, array) in types.iter().zip(arrays) {
        let mut column = chunk.column(*ty, array)?;
        while column.step()? {}
        column.finish();
    }
    chunk.finish()
}

/// Encodes a chunk bit by bit, for who may not compute for long.
pub struct ChunkEncoder {
    row_count: u32,
    body: Vec<u8>,
    columns: Vec<ColumnParts>,
}

impl ChunkEncoder {
    /// Begins a chunk of so many rows.
    ///
    /// Errors: [`Error::TooLarge`] above 2^32 rows.
    pub fn new(rows: usize) -> Result<ChunkEncoder> {
        let row_count = u32::try_from(rows).map_err(|_| Error::TooLarge)?;
        Ok(ChunkEncoder { row_count, body: Vec::new(), columns: Vec::new() })
    }

    /// Begins the next column, whose vectors are then encoded one after the other.
    ///
    /// Errors: as [`encode`].
    pub fn column<'a>(
        &'a mut self,
        ty: LogicalType,
        array: &'a ArrayRef,
    ) -> Result<ColumnEncoder<'a>> {
        if array.len() != self.row_count as usize {
            return Err(Error::Mismatch("arrays that are no rows of the columns".to_string()));
        }
        if self.body.len() > BODY_BYTES_MAX || self.columns.len() >= usize::from(u16::MAX) {
            return Err(Error::TooLarge);
        }
        let ty = stored_type(ty)?;
        ColumnEncoder::new(ty, array, &mut self.body, &mut self.columns)
    }

    /// The chunk.
    ///
    /// Errors: [`Error::TooLarge`] above 2^30 bytes.
    pub fn finish(self) -> Result<Chunk> {
        let ChunkEncoder { row_count, body, columns } = self;
        if body.len() > BODY_BYTES_MAX {
            return Err(Error::TooLarge);
        }
        Ok(Chunk { header: write(row_count, &columns, &body), body })
    }
}
