//! The rows of parts for jobs that need all or a sample of them, in one task, as they are now.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use columnar::VECTOR_ROWS;
use exec::{Access, Depth, Skips};
use runtime::IoCounters;
use txn::visible::VisibleTree;
use types::SqlResult;

use super::chunk::Chunk;
use super::deleted::Deleted;
use super::morsel::{Morsel, Selected, Wanted};
use super::part::Part;
use super::table::Columns;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::objects::stores::Bucket;

/// Vectors that are read at once.
const VECTORS: usize = 8;

/// Rows of parts, read one after the other.
pub(crate) struct ChunkRows {
    wanted: Wanted,
    /// Parts that were not begun.
    parts: VecDeque<Part>,
    /// The part in hand, and which of its chunks are left.
    part: Option<(Part, VecDeque<Range<i64>>)>,
    /// The chunk in hand, and which of its vectors are left.
    chunk: Option<(Arc<Chunk>, Range<usize>)>,
    selected: Option<Selected>,
}

impl ChunkRows {
    /// The columns at `ordinals` of all rows of parts; `None` for a table that has none.
    ///
    /// # Errors
    /// As [`Snapshot::bucket`].
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &TableEntry,
        ordinals: &[usize],
    ) -> SqlResult<Option<ChunkRows>> {
        let Some(columns) = &entry.columns else { return Ok(None) };
        let bucket = columns.bucket(snapshot)?;
        let deleted = Deleted(VisibleTree::now(columns.deleted.clone()));
        let parts = columns.parts.iter().cloned().collect();
        Ok(Some(ChunkRows::of_parts(entry, ordinals, parts, (deleted, bucket))))
    }

    /// The same of one part that lies in the file, as a snapshot sees it.
    pub(crate) fn seen(
        snapshot: &Snapshot,
        entry: &TableEntry,
        columns: &Columns,
        part: Part,
    ) -> ChunkRows {
        let ordinals: Vec<usize> = (0..entry.def.schema.columns.len()).collect();
        let deleted = Deleted(snapshot.visible(columns.deleted.clone()));
        ChunkRows::of_parts(entry, &ordinals, [part].into(), (deleted, None))
    }

    fn of_parts(
        entry: &TableEntry,
        ordinals: &[usize],
        parts: VecDeque<Part>,
        (deleted, bucket): (Deleted, Option<Bucket>),
    ) -> ChunkRows {
        let wanted = Wanted {
            columns: ordinals.to_vec(),
            column_count: entry.def.schema.columns.len(),
            restricted: vec![],
            joined: vec![],
            schema: entry.layout.schema.project(ordinals),
            as_words: false,
            deleted,
            bucket,
            room: None,
        };
        ChunkRows { wanted, parts, part: None, chunk: None, selected: None }
    }

    /// The next rows, never none; `None` at the end.
    ///
    /// # Errors
    /// Those of storage; XX001 for damage.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        loop {
            if let Some(mut selected) = self.selected.take() {
                let (rows, has_more) = selected.next(&self.wanted).await?;
                self.selected = has_more.then_some(selected);
                return Ok(Some(rows));
            }
            let Some(morsel) = self.next_morsel().await? else { return Ok(None) };
            self.selected = select(morsel, &self.wanted).await?;
        }
    }

    async fn next_morsel(&mut self) -> SqlResult<Option<Morsel>> {
        let io = IoCounters::default();
        loop {
            if let Some((chunk, left)) = self.chunk.take_if(|(_, left)| left.start < left.end) {
                let vectors = if self.wanted.bucket.is_some() { usize::MAX } else { VECTORS };
                let end = left.end.min(left.start.saturating_add(vectors));
                self.chunk = Some((chunk.clone(), end..left.end));
                return Ok(Some(Morsel::new(chunk, left.start..end)));
            }
            let next =
                self.part.as_mut().and_then(|(part, chunks)| Some((part, chunks.pop_front()?)));
            if let Some((part, rows)) = next {
                let chunk = open(part, rows, &self.wanted).await?;
                let vectors = 0..chunk.header.vector_count();
                self.chunk = Some((Arc::new(chunk), vectors));
            } else if let Some(part) = self.parts.pop_front() {
                let chunks = part.chunks(&io).await?.into();
                self.part = Some((part, chunks));
            } else {
                return Ok(None);
            }
        }
    }
}

/// Rows of about `vector_count` vectors, evenly spread over all parts.
///
/// # Errors
/// As [`ChunkRows::next`].
pub(crate) async fn sample(
    snapshot: &Snapshot,
    entry: &TableEntry,
    ordinals: &[usize],
    vector_count: usize,
) -> SqlResult<Vec<RecordBatch>> {
    let (io, mut batches) = (IoCounters::default(), vec![]);
    let Some(ChunkRows { wanted, parts, .. }) = ChunkRows::new(snapshot, entry, ordinals)? else {
        return Ok(batches);
    };
    let vectors: u64 = parts.iter().map(|part| part.row_count).sum::<u64>() / VECTOR_ROWS as u64;
    let step = (vectors as usize / vector_count.max(1)).max(1);
    let mut seen = 0;
    for part in &parts {
        for rows in part.chunks(&io).await? {
            let chunk = Arc::new(open(part, rows, &wanted).await?);
            let count = chunk.header.vector_count();
            let first = (step - seen % step) % step;
            for vector in (first..count).step_by(step) {
                let morsel = Morsel::new(chunk.clone(), vector..vector + 1);
                if let Some(mut selected) = select(morsel, &wanted).await? {
                    batches.push(selected.next(&wanted).await?.0);
                }
            }
            seen += count;
        }
    }
    Ok(batches)
}

async fn open(part: &Part, rows: Range<i64>, wanted: &Wanted) -> SqlResult<Chunk> {
    Chunk::open(&part.tree, rows, wanted.column_count, &IoCounters::default()).await
}

async fn select(morsel: Morsel, wanted: &Wanted) -> SqlResult<Option<Selected>> {
    let (io, skips) = (IoCounters::default(), Skips::default());
    let access = Access { depth: Depth::Many, io: &io, skips: &skips };
    // There is nothing else to do: a single morsel is in work.
    let Ok(selected) = morsel.select(wanted, access, || None::<Infallible>).await?;
    Ok(selected)
}
