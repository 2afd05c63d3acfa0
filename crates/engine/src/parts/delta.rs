//! Rows of the delta on their way into a new part.
//!
//! Where a table has indexes its rows keep their ids, for entries of indexes lead to these: a place of the part
//! for which there is no row has a copy of a short one, and its id is marked as deleted. Without indexes the rows
//! get new ids, one after the other.

use std::ops::{Bound, Range};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use runtime::IoCounters;
use storage::Direction;
use txn::visible::{Entries, VisibleTree};
use types::SqlResult;
use types::row::row_id_of;

use super::stop::Stop;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::deleted::Ids;
use crate::columns::part::row_key;
use crate::fault::internal;
use crate::relation::rows::Rows;

/// Rows that are read at once.
pub(crate) const BATCH_ROWS: usize = 4096;

/// Row ids without a row, one after the other, that a part bridges at most.
pub(crate) const GAP_MAX: i64 = 1024;

/// Rows of a run whose gaps are not counted: it has just begun.
pub(crate) const GAPS_FREE: i64 = 64;

/// Rows of the delta that become a part.
pub(crate) struct Run {
    /// All ids from the first one up to and without the last.
    pub(crate) ids: Range<i64>,
    /// Those of the rows, in order.
    pub(crate) rows: Vec<i64>,
    /// Whether they stay.
    pub(crate) keeps_ids: bool,
    /// The id of the part's first row.
    pub(crate) first_row: i64,
}

/// How much a run has.
pub(crate) struct Extent {
    /// The least rows that are worth a part.
    pub(crate) rows_min: usize,
    /// The most of which the ids have room in memory.
    pub(crate) rows_max: usize,
    /// The newest rows that stay, if they are the last ones of the table: between them may be others of transactions
    /// that go on.
    pub(crate) newest: i64,
}

impl Run {
    /// The first rows that can become a part; `None` when no run is long enough.
    ///
    /// # Errors
    /// As [`Stop`]; those of storage.
    pub(crate) async fn find(
        snapshot: &Snapshot,
        entry: &TableEntry,
        extent: &Extent,
        mut goes_on: impl FnMut() -> Result<(), Stop>,
    ) -> Result<Option<Run>, Stop> {
        let keeps_ids = !entry.indexes.is_empty();
        let mut runs = Runs { entry, keeps_ids, rows_max: extent.rows_max, rows: vec![] };
        let mut ids = Ids::default();
        let mut from = Bound::Unbounded;
        loop {
            goes_on()?;
            let more = batch(snapshot, entry, (from, Bound::Unbounded), &mut ids).await?;
            for id in std::mem::take(&mut ids.0) {
                if runs.ends_before(id) {
                    if runs.rows.len() >= extent.rows_min.max(1) {
                        return Ok(Some(runs.run().await?));
                    }
                    runs.rows.clear();
                }
                runs.rows.push(id);
            }
            let Some(last) = more else { break };
            from = Bound::Excluded(last);
        }
        let newest = runs.rows.last().map_or(0, |last| last - extent.newest);
        runs.rows.truncate(runs.rows.partition_point(|id| *id <= newest));
        match runs.rows.len() >= extent.rows_min.max(1) {
            true => Ok(Some(runs.run().await?)),
            false => Ok(None),
        }
    }

    /// Where a row has its place in the part.
    pub(crate) fn place_of(&self, id: i64) -> i64 {
        match self.keeps_ids {
            true => id,
            false => self.first_row + self.rows.partition_point(|row| *row < id) as i64,
        }
    }

    /// The ids of the part that have no row.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = i64> {
        let pairs = self.rows.windows(2).filter(|_| self.keeps_ids);
        pairs.flat_map(|pair| pair[0] + 1..pair[1])
    }

    /// How many places the part has.
    pub(crate) fn len(&self) -> u64 {
        match self.keeps_ids {
            true => (self.ids.end - self.ids.start) as u64,
            false => self.rows.len() as u64,
        }
    }
}

/// Looks for a run, row by row.
pub(crate) struct Runs<'a> {
    entry: &'a TableEntry,
    keeps_ids: bool,
    rows_max: usize,
    /// The run so far.
    rows: Vec<i64>,
}

impl Runs<'_> {
    /// Whether a row does not belong to the run.
    fn ends_before(&self, id: i64) -> bool {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return false };
        if self.rows.len() >= self.rows_max {
            return true;
        }
        if !self.keeps_ids {
            return false;
        }
        let (gap, count) = (id - last - 1, self.rows.len() as i64);
        let gaps = id - first - count;
        // More places without rows than with them are no part, and between two parts there is no third one.
        gap > GAP_MAX || gaps > count + GAPS_FREE || gap > 0 && self.has_part_between(*last, id)
    }

    fn has_part_between(&self, low: i64, high: i64) -> bool {
        let Some(columns) = &self.entry.columns else { return false };
        columns.parts.iter().any(|part| low < part.first_row && part.first_row < high)
    }

    async fn run(self) -> SqlResult<Run> {
        let Runs { entry, keeps_ids, rows, .. } = self;
        let ids = rows[0]..rows[rows.len() - 1] + 1;
        let first_row = match keeps_ids {
            true => ids.start,
            false => entry.take_row_id_range(rows.len()).await?,
        };
        Ok(Run { ids, rows, keeps_ids, first_row })
    }
}

/// Reads the rows of a run, in batches of a part.
pub(crate) struct RunRows<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) entry: &'a TableEntry,
    pub(crate) run: &'a Run,
    /// The last key that was read.
    pub(crate) last: Option<Vec<u8>>,
    pub(crate) is_over: bool,
}

impl RunRows<'_> {
    /// The next rows of the part; `None` at the end.
    ///
    /// # Errors
    /// Those of storage.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        let ordinals: Vec<usize> = (0..self.entry.def.schema.columns.len()).collect();
        while !self.is_over {
            let low = match self.last.take() {
                Some(last) => Bound::Excluded(last),
                None => Bound::Included(row_key(self.run.ids.start).to_vec()),
            };
            let range = (low, Bound::Excluded(row_key(self.run.ids.end).to_vec()));
            let rows = Rows::new(&self.entry.layout, &ordinals, BATCH_ROWS);
            let mut read = Delta { rows, ids: vec![], shortest: (usize::MAX, 0) };
            self.last = batch(self.snapshot, self.entry, range, &mut read).await?;
            self.is_over = self.last.is_none();
            if !read.ids.is_empty() {
                return self.bridged(read.rows.finish(), &read.ids, read.shortest.1).map(Some);
            }
        }
        Ok(None)
    }

    /// With copies of a row in the places that have none.
    fn bridged(&self, rows: RecordBatch, ids: &[i64], copied: u32) -> SqlResult<RecordBatch> {
        if !self.run.keeps_ids {
            return Ok(rows);
        }
        let at = self.run.rows.partition_point(|id| *id < ids[0]);
        let mut next = if at == 0 { ids[0] } else { self.run.rows[at - 1] + 1 };
        let mut places = Vec::with_capacity(ids.len());
        for (row, id) in (0..).zip(ids) {
            places.extend((next..*id).map(|_| copied));
            places.push(row);
            next = id + 1;
        }
        match places.len() == ids.len() {
            true => Ok(rows),
            false => take_record_batch(&rows, &UInt32Array::from(places)).map_err(internal),
        }
    }
}

/// Takes some entries of the delta, as a snapshot sees it; the last key, if there may be more.
pub(crate) async fn batch(
    snapshot: &Snapshot,
    entry: &TableEntry,
    range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    entries: &mut dyn Entries,
) -> SqlResult<Option<Vec<u8>>> {
    let tree: VisibleTree = snapshot.visible(entry.tree.clone());
    let io = IoCounters::default();
    let first = tree.first(&range, Direction::Forward, BATCH_ROWS, &io, entries).await?;
    Ok(first.last)
}

/// Rows with their ids.
pub(crate) struct Delta<'a> {
    rows: Rows<'a>,
    ids: Vec<i64>,
    /// The bytes of the shortest one, and where it is.
    shortest: (usize, u32),
}

impl Entries for Delta<'_> {
    fn restart(&mut self) {
        self.rows.restart();
        self.ids.clear();
        self.shortest = (usize::MAX, 0);
    }

    fn take(&mut self, position: usize, key: &[u8], value: &[u8]) {
        self.rows.take(position, key, value);
        self.shortest = self.shortest.min((value.len(), self.ids.len() as u32));
        self.ids.push(row_id_of(key));
    }
}
