//! Reads a table in one task, for jobs that need all or a sample of its rows.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringViewArray};
use arrow_schema::DataType;
use runtime::IoCounters;
use storage::{Depth, RangePart};
use txn::visible::VisibleTree;
use types::SqlResult;

use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns;
use crate::columns::rows::ChunkRows;
use crate::fault::internal;

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
            if rows.is_some() {
                return Ok(rows);
            }
        }
        Ok(None)
    }
}

/// Rows of a table, whose long texts are cut: nobody compares values with more of them.
pub(crate) struct Sample {
    pub(crate) batches: Vec<RecordBatch>,
    /// For each column, its values and the bytes of its texts.
    texts: Vec<(usize, usize)>,
}

/// Bytes of a text that are kept.
const TEXT_BYTES_KEPT: usize = 1 << 10;

impl Sample {
    fn new(column_count: usize) -> Sample {
        Sample { batches: vec![], texts: vec![(0, 0); column_count] }
    }

    /// Average bytes of the texts of a column; `None` where it has no texts.
    pub(crate) fn text_width(&self, column: usize) -> Option<f64> {
        let (count, bytes) = self.texts[column];
        (bytes > 0).then(|| bytes as f64 / count as f64)
    }

    fn push(&mut self, rows: RecordBatch) -> SqlResult<()> {
        let (mut columns, mut is_cut) = (rows.columns().to_vec(), false);
        for (column, (count, bytes)) in columns.iter_mut().zip(&mut self.texts) {
            if column.data_type() != &DataType::Utf8View {
                continue;
            }
            let texts = column.as_string_view();
            *count += texts.len() - texts.null_count();
            let before = *bytes;
            *bytes += texts.iter().flatten().map(str::len).sum::<usize>();
            if *bytes - before > TEXT_BYTES_KEPT {
                let cut = texts.iter().map(|text| text.map(|text| &text[..kept(text)]));
                *column = Arc::new(StringViewArray::from_iter(cut));
                is_cut = true;
            }
        }
        self.batches.push(match is_cut {
            true => RecordBatch::try_new(rows.schema(), columns).map_err(internal)?,
            false => rows,
        });
        Ok(())
    }
}

/// How much of a text is kept.
fn kept(text: &str) -> usize {
    text.floor_char_boundary(TEXT_BYTES_KEPT)
}

/// About `extent_count` extents of the table, evenly spread, in the order of the clustered tree.
pub(crate) async fn sample(
    snapshot: &Snapshot,
    entry: &TableEntry,
    ordinals: &[usize],
    extent_count: usize,
) -> SqlResult<Sample> {
    let tree = VisibleTree::now(entry.tree.clone());
    let mut parts = vec![tree.tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    let mut sample = Sample::new(ordinals.len());
    // An extent has 64 pages of some dozens of rows, two or three vectors.
    for rows in columns::rows::sample(snapshot, entry, ordinals, 2 * extent_count).await? {
        sample.push(rows)?;
    }
    while !parts.is_empty() && parts.len() < extent_count {
        let mut children = vec![];
        for part in std::mem::take(&mut parts) {
            let (more, rows) = expand(&tree, entry, ordinals, part).await?;
            children.extend(more);
            rows.into_iter().try_for_each(|rows| sample.push(rows))?;
        }
        parts = children;
    }
    let step = (parts.len() / extent_count.max(1)).max(1);
    for part in parts.into_iter().step_by(step) {
        let rows = first_rows(&tree, entry, ordinals, part).await?;
        rows.into_iter().try_for_each(|rows| sample.push(rows))?;
    }
    Ok(sample)
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
    if runtime::need_preempt() {
        runtime::yield_now().await;
    }
    Ok((children, rows.found().map(|mut rows| rows.finish())))
}
