//! Makes chunks of Arrow arrays.

mod builder;
mod column;

pub use builder::ChunkBuilder;

use arrow_array::{Array, ArrayRef};
use types::LogicalType;

use crate::class::stored_type;
use crate::error::{Error, Result};
use crate::header::{BODY_BYTES_MAX, write};

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
    let row_count = u32::try_from(rows).map_err(|_| Error::TooLarge)?;
    if types.len() > usize::from(u16::MAX) {
        return Err(Error::TooLarge);
    }
    let (mut body, mut columns) = (Vec::new(), Vec::with_capacity(types.len()));
    for (ty, array) in types.iter().zip(arrays) {
        columns.push(column::encode(stored_type(*ty)?, array, &mut body)?);
        if body.len() > BODY_BYTES_MAX {
            return Err(Error::TooLarge);
        }
    }
    Ok(Chunk { header: write(row_count, &columns, &body), body })
}
