//! Reads a table in one task, for jobs that need all or a sample of its rows.

use std::ops::Bound;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use storage::{Depth, RangePart};
use types::SqlResult;

use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns;
use crate::columns::rows::ChunkRows;
use crate::visible::VisibleTree;

/// The columns at `ordinals` (the hidden row id is one past the table's) of all rows, in the order of
/// the clustered tree.
pub(crate) struct TableRows<'a> {
    tree: VisibleTree,
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
        let tree = VisibleTree::now(entry.tree.clone());
        let parts = vec![tree.tree.root_part(Bound::Unbounded, Bound::Unbounded)];
        let chunks = ChunkRows::new(snapshot, entry, ordinals)?;
        Ok(TableRows { tree, entry, ordinals, chunks, parts })
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
            let (children, rows) = expand(&self.tree, self.entry, self.ordinals, part).await?;
            self.parts.extend(children.into_iter().rev());
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
            if rows.is_some() {
                return Ok(rows);
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
    let tree = VisibleTree::now(entry.tree.clone());
    let mut parts = vec![tree.tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    // An extent has 64 pages of some dozens of rows, two or three vectors.
    let mut batches = columns::rows::sample(snapshot, entry, ordinals, 2 * extent_count).await?;
    while !parts.is_empty() && parts.len() < extent_count {
        let mut children = vec![];
        for part in std::mem::take(&mut parts) {
            let (more, rows) = expand(&tree, entry, ordinals, part).await?;
            children.extend(more);
            batches.extend(rows);
        }
        parts = children;
    }
    let step = (parts.len() / extent_count.max(1)).max(1);
    for part in parts.into_iter().step_by(step) {
        batches.extend(first_rows(&tree, entry, ordinals, part).await?);
    }
    Ok(batches)
}

/// The rows of the first extent under `part`.
async fn first_rows(
    tree: &VisibleTree,
    entry: &TableEntry,
    ordinals: &[usize],
    part: RangePart,
) -> SqlResult<Option<RecordBatch>> {
    let mut next = Some(part);
    while let Some(part) = next {
        let (children, rows) = expand(tree, entry, ordinals, part).await?;
        if rows.is_some() {
            return Ok(rows);
        }
        next = children.into_iter().next();
    }
    Ok(None)
}

/// Rows that a batch has room for at first.
const BATCH_ROOM: usize = 1024;

async fn expand(
    tree: &VisibleTree,
    entry: &TableEntry,
    ordinals: &[usize],
    part: RangePart,
) -> SqlResult<(Vec<RangePart>, Option<RecordBatch>)> {
    let mut rows = Rows::new(&entry.layout, ordinals, BATCH_ROOM);
    let children = tree.expand(part, Depth::Many, &IoCounters::default(), &mut rows).await?;
    Ok((children, rows.found().map(|mut rows| rows.finish())))
}
