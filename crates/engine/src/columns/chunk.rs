//! A chunk in its part: the header in memory, the body where it lies until some of it is wanted.

use std::ops::Range;

use arrow_array::ArrayRef;
use columnar::{ChunkHeader, Mask, Piece, VECTOR_ROWS, Vector};
use runtime::IoCounters;
use storage::{LongValue, Tree};
use types::SqlResult;

use super::part::{Kind, block_error, damaged, key};
use crate::fault;

/// An open chunk.
pub(super) struct Chunk {
    pub(super) header: ChunkHeader,
    body: LongValue,
    pub(super) first_row: i64,
}

/// Bytes of a body that were read.
#[derive(Default)]
pub(super) struct Bytes {
    offset: u64,
    bytes: Vec<u8>,
}

impl Bytes {
    pub(super) fn pieces(&self) -> [Piece<'_>; 1] {
        [Piece { offset: self.offset, bytes: &self.bytes }]
    }
}

impl Chunk {
    /// Reads the header, and finds the body.
    ///
    /// # Errors
    /// XX001 when they are not there, or are not what a table of so many columns has.
    pub(super) async fn open(
        tree: &Tree,
        rows: Range<i64>,
        column_count: usize,
        io: &IoCounters,
    ) -> SqlResult<Chunk> {
        let first_row = rows.start;
        let header = tree.get(&key(first_row, Kind::Header), io, ChunkHeader::parse).await;
        let header = header.map_err(fault::storage)?;
        let header =
            header.ok_or_else(|| damaged("a chunk has no header"))?.map_err(block_error)?;
        let body =
            tree.long_value(&key(first_row, Kind::Body), io).await.map_err(fault::storage)?;
        let body = body.ok_or_else(|| damaged("a chunk has no body"))?;
        let is_whole = header.body_len() == body.len()
            && header.columns().len() == column_count
            && i64::try_from(header.row_count()).is_ok_and(|count| count == rows.end - rows.start);
        match is_whole {
            true => Ok(Chunk { header, body, first_row }),
            false => Err(damaged("a chunk is not what its header says")),
        }
    }

    /// Starts to read what some vectors of a column need, without waiting.
    pub(super) fn prefetch(&self, column: usize, vectors: &Range<usize>, io: &IoCounters) {
        self.body.prefetch(self.place(column, vectors), io);
    }

    /// Reads what some vectors of a column need.
    pub(super) async fn read(
        &self,
        column: usize,
        vectors: &Range<usize>,
        io: &IoCounters,
    ) -> SqlResult<Bytes> {
        let place = self.place(column, vectors);
        let offset = place.start as u64;
        let bytes = self.body.read(place, io).await.map_err(fault::storage)?;
        Ok(Bytes { offset, bytes })
    }

    /// Compares the body with its checksums, and decodes all of it.
    ///
    /// # Errors
    /// XX001 for damage.
    pub(super) async fn verify(&self, io: &IoCounters) -> SqlResult<()> {
        for (ordinal, column) in self.header.columns().iter().enumerate() {
            for segment in column.segments() {
                let place = segment.bytes.start as usize..segment.bytes.end as usize;
                let bytes = self.body.read(place, io).await.map_err(fault::storage)?;
                self.header.verify(segment.bytes.start, &bytes).map_err(block_error)?;
                let bytes = Bytes { offset: segment.bytes.start, bytes };
                for vector in segment.vectors.clone() {
                    let all = Mask::first(self.header.rows_of(vector));
                    self.take(ordinal, vector, &all, &bytes)?;
                    if runtime::need_preempt() {
                        runtime::yield_now().await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Where some vectors of a column lie in the body: they adjoin but for padding.
    fn place(&self, column: usize, vectors: &Range<usize>) -> Range<usize> {
        let vectors = &self.header.columns()[column].vectors()[vectors.clone()];
        let with_bytes = || vectors.iter().map(|v| &v.bytes).filter(|bytes| !bytes.is_empty());
        let start = with_bytes().map(|bytes| bytes.start).min().unwrap_or(0);
        let end = with_bytes().map(|bytes| bytes.end).max().unwrap_or(0);
        start as usize..end as usize
    }

    /// A vector of which these bytes were read.
    pub(super) fn vector<'a>(
        &'a self,
        column: usize,
        vector: usize,
        pieces: &'a [Piece<'a>],
    ) -> SqlResult<Vector<'a>> {
        Vector::new(&self.header, column, vector, pieces).map_err(block_error)
    }

    /// The selected rows of a vector.
    pub(super) fn take(
        &self,
        column: usize,
        vector: usize,
        selected: &Mask,
        bytes: &Bytes,
    ) -> SqlResult<ArrayRef> {
        let pieces = bytes.pieces();
        let values = self.vector(column, vector, &pieces)?;
        let taken = match selected.count() == values.rows() {
            true => values.decode(),
            false => values.take(&selected.positions()),
        };
        taken.map_err(block_error)
    }

    /// The id of the first row of a vector.
    pub(super) fn row_of(&self, vector: usize) -> i64 {
        self.first_row + (vector * VECTOR_ROWS) as i64
    }
}
