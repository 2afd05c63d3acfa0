//! A morsel: some vectors of a chunk, scanned by one coroutine.
//!
//! First the restricted columns are read, as far as the bounds of vectors leave a choice, and answer
//! on encoded values which rows qualify; then the other columns are read, only for vectors with such
//! rows, and of these only the rows (late materialisation). What a step of this reads is asked for
//! at once, so a coroutine has several requests in flight, and a worker as many coroutines as it has
//! permits (Umbra paper, section 3.1).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use columnar::{Mask, Verdict};
use exec::{Access, Depth};
use types::SqlResult;

use super::chunk::{Bytes, Chunk};
use super::deleted::Deleted;
use super::restricted::Restricted;
use crate::dml::internal;

/// Rows of a batch, about: enough that a batch costs little, few enough that the columns of one stay
/// in a core's cache.
const BATCH_ROWS: usize = 4096;

/// What all morsels of a scan have in common.
pub(super) struct Wanted {
    /// Ordinals of the columns that are produced; one past the last column is the row id.
    pub(super) columns: Vec<usize>,
    /// The number of the table's columns.
    pub(super) column_count: usize,
    pub(super) restricted: Vec<Restricted>,
    pub(super) schema: SchemaRef,
    pub(super) deleted: Deleted,
}

/// Some vectors of a chunk.
pub(super) struct Morsel {
    chunk: Arc<Chunk>,
    vectors: Range<usize>,
}

/// A morsel whose qualifying rows are known and whose columns have been read.
pub(super) struct Selected {
    chunk: Arc<Chunk>,
    first: usize,
    /// The rows of each vector, from `first` on.
    masks: Vec<Mask>,
    /// For each produced column what was read of it.
    bytes: Vec<Bytes>,
    /// Vectors that have been produced.
    done: usize,
}

impl Morsel {
    pub(super) fn new(chunk: Arc<Chunk>, vectors: Range<usize>) -> Morsel {
        Morsel { chunk, vectors }
    }

    /// Finds the rows that qualify, and reads their columns; `None` when there are none.
    ///
    /// # Errors
    /// Those of storage; XX001 for damage.
    pub(super) async fn select(
        self,
        wanted: &Wanted,
        access: Access<'_>,
    ) -> SqlResult<Option<Selected>> {
        let Morsel { chunk, vectors } = self;
        let rows = chunk.row_of(vectors.start)
            ..chunk.row_of(vectors.end).min(chunk.first_row + chunk.header.row_count() as i64);
        let mut masks = wanted.deleted.remaining(rows, access.io).await?;
        let mut tested = Tested { chunk: &chunk, vectors: &vectors, access, read: 0 };
        tested.ask_bounds(wanted, &mut masks);
        if access.depth == Depth::Many {
            wanted.restricted.iter().for_each(|restricted| tested.prefetch(restricted, &masks));
        }
        for restricted in &wanted.restricted {
            tested.test(restricted, &mut masks).await?;
        }
        let bytes = tested.read_columns(wanted, &masks).await?;
        let all = vectors.len() * (wanted.restricted.len() + bytes.len());
        let read = tested.read;
        access.skips.vectors.fetch_add(all as u64, Relaxed);
        access.skips.vectors_skipped.fetch_add(all.saturating_sub(read) as u64, Relaxed);
        let found = masks.iter().any(|mask| !mask.is_empty());
        Ok(found.then_some(Selected { chunk, first: vectors.start, masks, bytes, done: 0 }))
    }
}

/// The vectors of a morsel while it is found out which rows qualify.
struct Tested<'a> {
    chunk: &'a Chunk,
    vectors: &'a Range<usize>,
    access: Access<'a>,
    /// Vectors that were read, those of one column counted.
    read: usize,
}

impl Tested<'_> {
    fn verdict(&self, restricted: &Restricted, at: usize) -> Verdict {
        let vector = self.vectors.start + at;
        let header = &self.chunk.header.columns()[restricted.column].vectors()[vector];
        restricted.of_vector(self.chunk.header.rows_of(vector), header)
    }

    /// Leaves no rows of vectors whose bounds say that none qualify.
    fn ask_bounds(&self, wanted: &Wanted, masks: &mut [Mask]) {
        for (at, mask) in masks.iter_mut().enumerate() {
            let is_none = |r: &Restricted| self.verdict(r, at) == Verdict::None;
            if wanted.restricted.iter().any(is_none) {
                *mask = Mask::NONE;
            }
        }
    }

    /// The vectors, as numbers of the chunk's, for which `is_needed`: from the first to the last.
    fn needed(&self, masks: &[Mask], is_needed: impl Fn(usize) -> bool) -> Range<usize> {
        let is_needed = |at: &usize| !masks[*at].is_empty() && is_needed(*at);
        let first = (0..masks.len()).find(is_needed);
        let last = (0..masks.len()).rev().find(is_needed);
        match first.zip(last) {
            Some((first, last)) => self.vectors.start + first..self.vectors.start + last + 1,
            None => self.vectors.start..self.vectors.start,
        }
    }

    fn undecided(&self, restricted: &Restricted, masks: &[Mask]) -> Range<usize> {
        self.needed(masks, |at| self.verdict(restricted, at) == Verdict::Some)
    }

    fn prefetch(&self, restricted: &Restricted, masks: &[Mask]) {
        let vectors = self.undecided(restricted, masks);
        self.chunk.prefetch(restricted.column, &vectors, self.access.io);
    }

    /// Leaves the rows that a restriction leaves.
    async fn test(&mut self, restricted: &Restricted, masks: &mut [Mask]) -> SqlResult<()> {
        let vectors = self.undecided(restricted, masks);
        self.read += vectors.len();
        let bytes = self.chunk.read(restricted.column, &vectors, self.access.io).await?;
        let pieces = bytes.pieces();
        for vector in vectors {
            let mask = &mut masks[vector - self.vectors.start];
            if !mask.is_empty() {
                let values = self.chunk.vector(restricted.column, vector, &pieces)?;
                *mask = restricted.select(&values, mask)?;
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Ok(())
    }

    /// What the produced columns need for the rows that are left.
    async fn read_columns(&mut self, wanted: &Wanted, masks: &[Mask]) -> SqlResult<Vec<Bytes>> {
        let vectors = self.needed(masks, |_| true);
        let is_stored = |column: &&usize| **column < wanted.column_count;
        let (chunk, io) = (self.chunk, self.access.io);
        if self.access.depth == Depth::Many {
            let stored = wanted.columns.iter().filter(is_stored);
            stored.for_each(|column| chunk.prefetch(*column, &vectors, io));
        }
        let mut bytes = vec![];
        for column in &wanted.columns {
            bytes.push(match is_stored(&column) {
                true => chunk.read(*column, &vectors, io).await?,
                false => Bytes::default(),
            });
            self.read += vectors.len();
        }
        Ok(bytes)
    }
}

impl Selected {
    /// The next rows, and whether there are more.
    ///
    /// # Errors
    /// XX001 for damage.
    pub(super) async fn next(&mut self, wanted: &Wanted) -> SqlResult<(RecordBatch, bool)> {
        let mut parts: Vec<Vec<ArrayRef>> = vec![vec![]; wanted.columns.len()];
        let mut rows = 0;
        while rows < BATCH_ROWS && self.done < self.masks.len() {
            let (mask, vector) = (self.masks[self.done], self.first + self.done);
            self.done += 1;
            if mask.is_empty() {
                continue;
            }
            rows += mask.count();
            for ((part, &column), bytes) in parts.iter_mut().zip(&wanted.columns).zip(&self.bytes) {
                part.push(match column < wanted.column_count {
                    true => self.chunk.take(column, vector, &mask, bytes)?,
                    false => row_ids(self.chunk.row_of(vector), &mask),
                });
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        let left = self.masks[self.done..].iter().any(|mask| !mask.is_empty());
        let columns = parts.iter().map(|part| joined(part)).collect::<SqlResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(wanted.schema.clone(), columns, &options);
        Ok((batch.map_err(internal)?, left))
    }
}

fn joined(arrays: &[ArrayRef]) -> SqlResult<ArrayRef> {
    if let [array] = arrays {
        return Ok(array.clone());
    }
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| array.as_ref()).collect();
    arrow_select::concat::concat(&arrays).map_err(internal)
}

/// The ids of the selected rows of a vector.
fn row_ids(first: i64, selected: &Mask) -> ArrayRef {
    let ids = selected.positions().into_iter().map(|row| first + i64::from(row));
    Arc::new(Int64Array::from_iter_values(ids))
}
