//! A morsel: some vectors of a chunk, scanned by one coroutine.
//!
//! First the restricted columns are read, as far as the bounds of vectors leave a choice, and answer
//! on encoded values which rows qualify; then the keys of joins whose other side is finished, which leave
//! the rows that may have a partner; then the other columns are read, only for vectors with such
//! rows, and of these only the rows (late materialisation). What a step of this reads is asked for
//! at once, so a coroutine has several requests in flight, and a worker as many coroutines as it has
//! permits (Umbra paper, section 3.1).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use columnar::{Gather, Mask, Verdict};
use exec::{Access, Depth};
use types::SqlResult;

use super::chunk::{Bytes, Chunk};
use super::deleted::Deleted;
use super::joined::Joined;
use super::remote::fetch::Download;
use super::restricted::Restricted;
use crate::fault::{block as block_error, internal};
use crate::objects::room::Room;
use crate::objects::stores::Bucket;

/// Rows of a batch, about: enough that a batch costs little, few enough that the columns of one stay
/// in a core's cache.
const BATCH_ROWS: usize = 4096;

/// Bytes of columns that are downloaded with those that restrictions are compared with: what comes while
/// a second request is on its way.
const ALONG_BYTES: usize = 512 << 10;

/// What all morsels of a scan have in common.
pub(crate) struct Wanted {
    /// Ordinals of the columns that are produced; one past the last column is the row id.
    pub(crate) columns: Vec<usize>,
    /// The number of the table's columns.
    pub(crate) column_count: usize,
    pub(crate) restricted: Vec<Restricted>,
    /// Filters of joins.
    pub(crate) joined: Vec<Joined>,
    pub(crate) schema: SchemaRef,
    /// Whether decimals are given as words of 64 bits; the schema has them so.
    pub(crate) as_words: bool,
    pub(crate) deleted: Deleted,
    /// Where chunks are downloaded from, if they are.
    pub(crate) bucket: Option<Bucket>,
    /// The memory for that; without one a single morsel is in work.
    pub(crate) room: Option<Arc<Room>>,
}

/// Some vectors of a chunk.
pub(crate) struct Morsel {
    chunk: Arc<Chunk>,
    vectors: Range<usize>,
}

/// A morsel whose qualifying rows are known and whose columns have been read.
pub(crate) struct Selected {
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
    pub(crate) fn new(chunk: Arc<Chunk>, vectors: Range<usize>) -> Morsel {
        Morsel { chunk, vectors }
    }

    /// Finds the rows that qualify, and reads their columns; `None` when there are none. Where it would have to
    /// wait for memory and `instead` gives something to do, that and the morsel come back.
    ///
    /// # Errors
    /// Those of storage; XX001 for damage.
    pub(crate) async fn select<T>(
        self,
        wanted: &Wanted,
        access: Access<'_>,
        instead: impl FnMut() -> Option<T>,
    ) -> SqlResult<Result<Option<Selected>, (Morsel, T)>> {
        let Morsel { chunk, vectors } = self;
        let rows = chunk.row_of(vectors.start)
            ..chunk.row_of(vectors.end).min(chunk.first_row + chunk.header.row_count() as i64);
        let mut masks = wanted.deleted.remaining(rows, access.io).await?;
        let download = chunk.download(wanted.bucket.as_ref())?;
        // What is downloaded for a filter is what it is applied to.
        let joined: Vec<&Joined> =
            wanted.joined.iter().filter(|joined| joined.filter.is_useful()).collect();
        let mut tested =
            Tested { chunk: &chunk, vectors: &vectors, joined, access, read: 0, download };
        tested.ask_bounds(wanted, &mut masks);
        if let Some(other) = tested.download_first(wanted, &masks, instead).await? {
            drop(tested);
            return Ok(Err((Morsel { chunk, vectors }, other)));
        }
        if access.depth == Depth::Many {
            wanted.restricted.iter().for_each(|restricted| tested.prefetch(restricted, &masks));
        }
        for restricted in &wanted.restricted {
            tested.test(restricted, &mut masks).await?;
        }
        tested.sift(&mut masks).await?;
        let bytes = tested.read_columns(wanted, &masks).await?;
        let all = vectors.len() * (wanted.restricted.len() + bytes.len());
        let read = tested.read;
        drop(tested);
        access.skips.vectors.fetch_add(all as u64, Relaxed);
        access.skips.vectors_skipped.fetch_add(all.saturating_sub(read) as u64, Relaxed);
        let found = masks.iter().any(|mask| !mask.is_empty());
        let selected = Selected { chunk, first: vectors.start, masks, bytes, done: 0 };
        Ok(Ok(found.then_some(selected)))
    }
}

/// The vectors of a morsel while it is found out which rows qualify.
struct Tested<'a> {
    chunk: &'a Chunk,
    vectors: &'a Range<usize>,
    /// The filters that are applied to its values.
    joined: Vec<&'a Joined>,
    access: Access<'a>,
    /// Vectors that were read, those of one column counted.
    read: usize,
    /// Of a chunk that is an object.
    download: Option<Download<'a>>,
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
            let of_joins = wanted.joined.iter().map(|joined| &joined.bounds);
            if wanted.restricted.iter().chain(of_joins).any(is_none) {
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

    /// Where the produced columns of some vectors are in the body.
    fn places_of_columns(&self, wanted: &Wanted, vectors: &Range<usize>) -> Vec<Range<usize>> {
        let stored = wanted.columns.iter().filter(|column| **column < wanted.column_count);
        stored.map(|column| self.chunk.place(*column, vectors)).collect()
    }

    /// Downloads what restrictions are compared with. The other columns come along when they are small
    /// beside the time of a request, or when nothing is left to be compared. What `instead` gives, if there
    /// is no memory for it: then nothing was downloaded.
    async fn download_first<T>(
        &mut self,
        wanted: &Wanted,
        masks: &[Mask],
        instead: impl FnMut() -> Option<T>,
    ) -> SqlResult<Option<T>> {
        let Some(mut download) = self.download.take() else { return Ok(None) };
        let undecided = |r: &Restricted| self.chunk.place(r.column, &self.undecided(r, masks));
        let mut now: Vec<Range<usize>> = wanted.restricted.iter().map(undecided).collect();
        let left = self.needed(masks, |_| true);
        now.extend(self.joined.iter().map(|joined| self.chunk.place(joined.column, &left)));
        let later = self.places_of_columns(wanted, &left);
        let all = [now.clone(), later.clone()].concat();
        if let Some(room) = &wanted.room
            && let Err(other) = download.reserve(room, &all, instead).await
        {
            return Ok(Some(other));
        }
        let later_bytes: usize = later.iter().map(Range::len).sum();
        if later_bytes <= ALONG_BYTES || now.iter().all(Range::is_empty) {
            now = all;
        }
        download.get(now, Some(self.access)).await?;
        wanted.room.iter().for_each(|room| room.tell(self.access.skips));
        self.download = Some(download);
        Ok(None)
    }

    /// Leaves the rows that a restriction leaves.
    async fn test(&mut self, restricted: &Restricted, masks: &mut [Mask]) -> SqlResult<()> {
        let vectors = self.undecided(restricted, masks);
        self.read += vectors.len();
        let (download, io) = (self.download.as_ref(), self.access.io);
        let bytes = self.chunk.read(restricted.column, &vectors, download, io).await?;
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

    /// Leaves the rows that may have a partner in all joins.
    async fn sift(&mut self, masks: &mut [Mask]) -> SqlResult<()> {
        let before: usize = masks.iter().map(Mask::count).sum();
        if self.access.depth == Depth::Many {
            let left = self.needed(masks, |_| true);
            let columns = self.joined.iter().map(|joined| joined.column);
            columns.for_each(|column| self.chunk.prefetch(column, &left, self.access.io));
        }
        for joined in std::mem::take(&mut self.joined) {
            let vectors = self.needed(masks, |_| true);
            let (download, io) = (self.download.as_ref(), self.access.io);
            let bytes = self.chunk.read(joined.column, &vectors, download, io).await?;
            for vector in vectors {
                let mask = &mut masks[vector - self.vectors.start];
                if !mask.is_empty() {
                    let values = self.chunk.take(joined.column, vector, mask, &bytes)?;
                    *mask = joined.select(&values, mask);
                }
                if runtime::need_preempt() {
                    runtime::yield_now().await;
                }
            }
        }
        let left: usize = masks.iter().map(Mask::count).sum();
        self.access.skips.rows_dropped.fetch_add((before - left) as u64, Relaxed);
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
        let places = self.places_of_columns(wanted, &vectors);
        if let Some(download) = &mut self.download {
            download.get(places, Some(self.access)).await?;
            download.finish();
        }
        let mut bytes = vec![];
        for column in &wanted.columns {
            bytes.push(match is_stored(&column) {
                true => chunk.read(*column, &vectors, self.download.as_ref(), io).await?,
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
    pub(crate) async fn next(&mut self, wanted: &Wanted) -> SqlResult<(RecordBatch, bool)> {
        let count = self.count_of_next();
        let new = |column: &usize| Produced::new(&self.chunk, *column, count, wanted.as_words);
        let parts = wanted.columns.iter().map(new);
        let mut parts: Vec<Produced> = parts.collect::<SqlResult<_>>()?;
        let mut rows = 0;
        while rows < BATCH_ROWS && self.done < self.masks.len() {
            let (mask, vector) = (self.masks[self.done], self.first + self.done);
            self.done += 1;
            if mask.is_empty() {
                continue;
            }
            let positions = mask.positions();
            rows += positions.len();
            for ((part, &column), bytes) in parts.iter_mut().zip(&wanted.columns).zip(&self.bytes) {
                match part {
                    Produced::Stored(gather) => {
                        self.chunk.gather(column, vector, &positions, &bytes.pieces(), gather)?;
                    }
                    Produced::RowIds(ids) => {
                        let first = self.chunk.row_of(vector);
                        ids.extend(positions.iter().map(|row| first + i64::from(*row)));
                    }
                }
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        let left = self.masks[self.done..].iter().any(|mask| !mask.is_empty());
        let columns = parts.into_iter().map(Produced::finish).collect::<SqlResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(wanted.schema.clone(), columns, &options);
        Ok((batch.map_err(internal)?, left))
    }

    /// How many rows the next batch has.
    fn count_of_next(&self) -> usize {
        let mut rows = 0;
        for mask in &self.masks[self.done..] {
            rows += mask.count();
            if rows >= BATCH_ROWS {
                break;
            }
        }
        rows
    }
}

/// A column of a batch in the making.
pub(crate) enum Produced {
    Stored(Gather),
    RowIds(Vec<i64>),
}

impl Produced {
    /// Room for rows of a column of chunks like this one; one past the last is the row id.
    ///
    /// # Errors
    /// 0A000 for types that are not stored in blocks.
    pub(crate) fn new(
        chunk: &Chunk,
        column: usize,
        rows: usize,
        as_words: bool,
    ) -> SqlResult<Produced> {
        let gather = if as_words { Gather::of_words } else { Gather::new };
        Ok(match chunk.header.columns().get(column) {
            Some(column) => Produced::Stored(gather(column.ty(), rows).map_err(block_error)?),
            None => Produced::RowIds(vec![]),
        })
    }

    /// The array.
    ///
    /// # Errors
    /// XX000
    pub(crate) fn finish(self) -> SqlResult<ArrayRef> {
        match self {
            Produced::Stored(gather) => gather.finish().map_err(block_error),
            Produced::RowIds(ids) => Ok(Arc::new(Int64Array::from(ids))),
        }
    }
}
