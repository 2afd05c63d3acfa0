//! Reads a table in one task, for jobs that need all or a sample of its rows.

use std::ops::Bound;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use storage::{Depth, RangePart};
use types::SqlResult;
use types::row::BatchBuilder;

use crate::catalog::{Snapshot, TableEntry};
use crate::columns::{self, ChunkRows};
use crate::fault;

/// The columns at `ordinals` (the hidden row id is one past the table's) of all rows, in the order of
/// the clustered tree.
pub(crate) struct TableRows<'a> {
    entry: &'a TableEntry,
    ordinals: &'a [usize],
    /// Those that are in chunks come first.
    chunks: Option<ChunkRows>,
    parts: Vec<RangePart>,
}

impl<'a> TableRows<'a> {
    ///
    /// # Errors
    /// Those of opening the location of a table.
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &'a TableEntry,
        ordinals: &'a [usize],
    ) -> SqlResult<TableRows<'a>> {
        let parts = vec![entry.tree.root_part(Bound::Unbounded, Bound::Unbounded)];
        let chunks = ChunkRows::new(snapshot, entry, ordinals)?;
        Ok(TableRows { entry, ordinals, chunks, parts })
    }

    /// The next rows, never none; `None` at the end.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        if let Some(chunks) = &mut self.chunks {
            let rows = chunks.next().await?;
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
            if rows.is_some() {
                return Ok(rows);
            }
            self.chunks = None;
        }
        while let Some(part) = self.parts.pop() {
            let (children, rows) = expand(self.entry, self.ordinals, part).await?;
            self.parts.extend(children.into_iter().rev());
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
            if rows.num_rows() > 0 {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

/// About `extent_count` extents of the table, evenly spread, in the order of the clustered tree.
pub(crate) async fn sample(
    snapshot: &Snapshot,
    entry: &TableEntry,
    ordinals: &[usize],
    extent_count: usize,
) -> SqlResult<Vec<RecordBatch>> {
    let mut parts = vec![entry.tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    // An extent has 64 pages of some dozens of rows, two or three vectors.
    let mut batches = columns::sample(snapshot, entry, ordinals, 2 * extent_count).await?;
    while !parts.is_empty() && parts.len() < extent_count {
        let mut children = vec![];
        for part in std::mem::take(&mut parts) {
            let (more, rows) = expand(entry, ordinals, part).await?;
            children.extend(more);
            if rows.num_rows() > 0 {
                batches.push(rows);
            }
        }
        parts = children;
    }
    let step = (parts.len() / extent_count.max(1)).max(1);
    for part in parts.into_iter().step_by(step) {
        batches.extend(first_rows(entry, ordinals, part).await?);
    }
    Ok(batches)
}

/// The rows of the first extent under `part`.
async fn first_rows(
    entry: &TableEntry,
    ordinals: &[usize],
    part: RangePart,
) -> SqlResult<Option<RecordBatch>> {
    let mut next = Some(part);
    while let Some(part) = next {
        let (children, rows) = expand(entry, ordinals, part).await?;
        if rows.num_rows() > 0 {
            return Ok(Some(rows));
        }
        next = children.into_iter().next();
    }
    Ok(None)
}

/// Rows that a batch has room for at first.
const BATCH_ROOM: usize = 1024;

async fn expand(
    entry: &TableEntry,
    ordinals: &[usize],
    part: RangePart,
) -> SqlResult<(Vec<RangePart>, RecordBatch)> {
    let mut builder = BatchBuilder::new(entry.layout.clone(), ordinals, BATCH_ROOM);
    let mut visit = |key: &[u8], value: &[u8]| builder.push(key, value);
    let children = entry.tree.expand(part, Depth::Many, &IoCounters::default(), &mut visit).await;
    Ok((children.map_err(fault::storage)?, builder.finish()))
}
