//! The header of a chunk: what it holds, where it lies, and what need not be read of it.

mod parse;
mod write;

pub(crate) use write::{ColumnParts, write};

use std::ops::Range;

use types::LogicalType;

use crate::class::Class;
use crate::encoding::Encoding;
use crate::error::{Damage, Error, Part, Result};
use crate::layout::{SECTOR_BYTES, VECTOR_ROWS};
use crate::shared::Shared;
use crate::zone::Zone;

/// Bytes before the columns.
const FIXED_BYTES: usize = 32;

/// Bytes of a column before its zone.
const COLUMN_BYTES: usize = 24;

/// Bytes of a segment in the header.
const SEGMENT_ENTRY_BYTES: usize = 8;

/// Bytes of a vector in the header, before its zone.
const VECTOR_ENTRY_BYTES: usize = 12;

/// Bytes of a column's shared part at most.
const SHARED_BYTES_MAX: usize = 64 << 10;

const MAGIC: [u8; 4] = *b"DVCK";
const VERSION: u8 = 1;

/// The header of a chunk.
#[derive(Clone, Debug)]
pub struct ChunkHeader {
    pub(crate) row_count: usize,
    pub(crate) body_len: usize,
    pub(crate) columns: Vec<ColumnHeader>,
    /// Of each sector of the body.
    pub(crate) checksums: Vec<u32>,
}

/// A column of a chunk.
#[derive(Clone, Debug)]
pub struct ColumnHeader {
    pub(crate) ty: LogicalType,
    pub(crate) null_count: usize,
    pub(crate) zone: Option<Zone>,
    pub(crate) shared: Shared,
    pub(crate) segments: Vec<Segment>,
    pub(crate) vectors: Vec<VectorHeader>,
}

/// A run of vectors that is read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Bytes of the body, whole sectors.
    pub bytes: Range<u64>,
    /// Numbers of the vectors of the column that lie there.
    pub vectors: Range<usize>,
}

/// What the header knows of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorHeader {
    /// Bytes of the body; none for vectors that the header alone describes.
    pub bytes: Range<u64>,
    /// How it is stored.
    pub encoding: Encoding,
    /// Number of nulls.
    pub null_count: usize,
    /// Least and greatest value, unless all rows are null or the type has no order.
    pub zone: Option<Zone>,
}

impl ChunkHeader {
    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Bytes of the body.
    pub fn body_len(&self) -> usize {
        self.body_len
    }

    /// The columns, in the table's order.
    pub fn columns(&self) -> &[ColumnHeader] {
        &self.columns
    }

    /// Number of vectors of each column.
    pub fn vector_count(&self) -> usize {
        self.row_count.div_ceil(VECTOR_ROWS)
    }

    /// Rows of a vector.
    pub fn rows_of(&self, vector: usize) -> usize {
        self.row_count.saturating_sub(vector * VECTOR_ROWS).min(VECTOR_ROWS)
    }

    /// The head of a vector of strings that have bytes of their own, if it is long: what all rows need of it,
    /// which lies in one sector (`docs/format/block.md`, section 1). `None` for any other, which is read whole.
    pub fn head(&self, column: usize, vector: usize) -> Option<Range<u64>> {
        let column = self.columns.get(column)?;
        let VectorHeader { bytes, encoding, .. } = column.vectors.get(vector)?;
        let sector = SECTOR_BYTES as u64;
        let has_own = Class::of(column.ty) == Class::Strings
            && matches!(encoding, Encoding::Plain | Encoding::Symbols);
        let is_long = bytes.end - bytes.start > 2 * sector;
        (has_own && is_long).then(|| bytes.start..(bytes.start / sector + 1) * sector)
    }

    /// Compares whole sectors of the body, from `offset` on, with their checksums.
    ///
    /// Errors: [`Error::Damage`] with the first sector that differs, [`Error::Mismatch`] if these
    /// are not whole sectors of the body.
    pub fn verify(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let first = usize::try_from(offset).unwrap_or(usize::MAX);
        let whole = first.is_multiple_of(SECTOR_BYTES) && bytes.len().is_multiple_of(SECTOR_BYTES);
        let end = first.checked_add(bytes.len()).filter(|end| *end <= self.body_len);
        if !whole || end.is_none() {
            let len = bytes.len();
            return Err(Error::Mismatch(format!("no sectors of the body: {len} at {offset}")));
        }
        let checksums = &self.checksums[first / SECTOR_BYTES..];
        for (sector, (bytes, expected)) in bytes.chunks(SECTOR_BYTES).zip(checksums).enumerate() {
            if crc32c::crc32c(bytes) != *expected {
                let offset = offset + (sector * SECTOR_BYTES) as u64;
                let reason = "the checksum of the sector differs";
                return Err(Error::Damage(Damage { part: Part::Body, offset, reason }));
            }
        }
        Ok(())
    }
}

impl ColumnHeader {
    /// The type, without limits of length and digits.
    pub fn ty(&self) -> LogicalType {
        self.ty
    }

    /// Number of nulls.
    pub fn null_count(&self) -> usize {
        self.null_count
    }

    /// Least and greatest value, unless all rows are null or the type has no order.
    pub fn zone(&self) -> Option<Zone> {
        self.zone
    }

    /// The segments, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The vectors, in order.
    pub fn vectors(&self) -> &[VectorHeader] {
        &self.vectors
    }
}
