//! Reads a table from an ordinary thread, for jobs that need all or a sample of its rows.

use std::ops::Bound;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use storage::{Depth, RangePart};
use types::SqlResult;
use types::row::BatchBuilder;

use crate::catalog::TableEntry;
use crate::database::Database;
use crate::fault;

/// Calls `each` with the columns at `ordinals` (the hidden row id is one past the table's) of all
/// rows, in the order of the clustered tree.
pub(crate) fn read_table(
    db: &Database,
    entry: &TableEntry,
    ordinals: &[usize],
    each: &mut dyn FnMut(&RecordBatch) -> SqlResult<()>,
) -> SqlResult<()> {
    let mut parts = vec![entry.tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    while let Some(part) = parts.pop() {
        let (children, rows) = expand(db, entry, ordinals, part)?;
        parts.extend(children.into_iter().rev());
        if rows.num_rows() > 0 {
            each(&rows)?;
        }
    }
    Ok(())
}

/// About `extent_count` extents of the table, evenly spread, in the order of the clustered tree.
pub(crate) fn sample(
    db: &Database,
    entry: &TableEntry,
    ordinals: &[usize],
    extent_count: usize,
) -> SqlResult<Vec<RecordBatch>> {
    let mut parts = vec![entry.tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    let mut batches = vec![];
    while !parts.is_empty() && parts.len() < extent_count {
        let mut children = vec![];
        for part in std::mem::take(&mut parts) {
            let (more, rows) = expand(db, entry, ordinals, part)?;
            children.extend(more);
            if rows.num_rows() > 0 {
                batches.push(rows);
            }
        }
        parts = children;
    }
    let step = (parts.len() / extent_count.max(1)).max(1);
    for part in parts.into_iter().step_by(step) {
        batches.extend(first_rows(db, entry, ordinals, part)?);
    }
    Ok(batches)
}

/// The rows of the first extent under `part`.
fn first_rows(
    db: &Database,
    entry: &TableEntry,
    ordinals: &[usize],
    part: RangePart,
) -> SqlResult<Option<RecordBatch>> {
    let mut next = Some(part);
    while let Some(part) = next {
        let (children, rows) = expand(db, entry, ordinals, part)?;
        if rows.num_rows() > 0 {
            return Ok(Some(rows));
        }
        next = children.into_iter().next();
    }
    Ok(None)
}

/// Rows that a batch has room for at first.
const BATCH_ROOM: usize = 1024;

fn expand(
    db: &Database,
    entry: &TableEntry,
    ordinals: &[usize],
    part: RangePart,
) -> SqlResult<(Vec<RangePart>, RecordBatch)> {
    let (tree, layout) = (entry.tree.clone(), entry.layout.clone());
    let ordinals = ordinals.to_vec();
    db.handle().block_on(move || async move {
        let mut builder = BatchBuilder::new(layout, &ordinals, BATCH_ROOM);
        let mut visit = |key: &[u8], value: &[u8]| builder.push(key, value);
        let children = tree.expand(part, Depth::Many, &IoCounters::default(), &mut visit).await;
        Ok((children.map_err(fault::storage)?, builder.finish()))
    })
}
