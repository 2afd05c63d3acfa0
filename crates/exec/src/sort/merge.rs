//! Sorted runs as one: a batch at a time, so that a run on disk needs little memory.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave;
use types::{SqlError, SqlResult};

use super::order::{RowOrder, Run};
use crate::batch;
use crate::footprint::batch_bytes;
use crate::notify::locked;
use crate::source::{Access, Depth, LocalFuture, Part, Source, Step};
use crate::spill::Block;
use crate::workspace::Workspace;

/// The largest batch of several rows: a merge holds some of each run.
const BATCH_BYTES: usize = 1 << 20;

/// The rows of a sort, in order.
pub(crate) struct Sorted {
    merge: Mutex<Option<Merge>>,
    order: Arc<RowOrder>,
    schema: SchemaRef,
    space: Workspace,
}

/// Runs that are being merged.
pub(super) struct Merge {
    runs: Vec<Reader>,
    /// Rows still wanted.
    left: usize,
}

/// A run, and where its reader stands.
#[derive(Default)]
struct Reader {
    now: Option<Run>,
    at: usize,
    next: Option<Run>,
    /// Bytes of a row at hand, one with another.
    row_bytes: usize,
    blocks: VecDeque<Block>,
}

impl Sorted {
    pub(super) fn new(
        merge: Merge,
        order: Arc<RowOrder>,
        schema: SchemaRef,
        space: Workspace,
    ) -> Sorted {
        Sorted { merge: Mutex::new(Some(merge)), order, schema, space }
    }
}

/// One part, which gives a batch and what is left of itself.
impl Source for Sorted {
    fn roots(&self) -> Vec<Part> {
        locked(&self.merge).take().into_iter().map(|merge| Part(Box::new(merge))).collect()
    }

    fn step<'a>(&'a self, part: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let merge = part.0.downcast::<Merge>();
            let mut merge = merge.map_err(|_| SqlError::internal("a part of another source"))?;
            let rows = merge.next(&self.order, &self.schema, &self.space).await?;
            let parts = if rows.is_some() { vec![Part(merge)] } else { vec![] };
            Ok(Step { rows, parts })
        })
    }
}

impl Merge {
    /// The first `fetch` rows of runs in memory.
    pub(super) fn of_memory(runs: Vec<Run>, fetch: Option<usize>) -> Merge {
        let reader = |run: Run| {
            let row_bytes = row_bytes(&run);
            Reader { now: Some(run), row_bytes, ..Reader::default() }
        };
        let runs = runs.into_iter().map(reader).collect();
        Merge { runs, left: fetch.unwrap_or(usize::MAX) }
    }

    /// The first `fetch` rows of runs on disk.
    pub(super) fn of_spilled(runs: Vec<Vec<Block>>, fetch: Option<usize>) -> Merge {
        let reader = |blocks: Vec<Block>| Reader { blocks: blocks.into(), ..Reader::default() };
        let runs = runs.into_iter().map(reader).collect();
        Merge { runs, left: fetch.unwrap_or(usize::MAX) }
    }

    /// The next batch; `None` at the end.
    pub(super) async fn next(
        &mut self,
        order: &RowOrder,
        schema: &SchemaRef,
        space: &Workspace,
    ) -> SqlResult<Option<RecordBatch>> {
        self.refill(order, space).await?;
        self.pick(schema, space.batch_rows)
    }

    /// Reads for each run that is out of rows, and where many reads may be in flight also ahead.
    async fn refill(&mut self, order: &RowOrder, space: &Workspace) -> SqlResult<()> {
        self.runs.iter_mut().for_each(Reader::turn);
        if !self.runs.iter().any(Reader::is_hungry) {
            return Ok(());
        }
        let ahead = space.depth == Depth::Many;
        let wants =
            |r: &&mut Reader| !r.blocks.is_empty() && r.next.is_none() && (ahead || r.is_hungry());
        let mut wanting: Vec<&mut Reader> = self.runs.iter_mut().filter(wants).collect();
        let blocks = wanting.iter_mut().filter_map(|r| r.blocks.pop_front()).collect();
        let mut reads = space.reads(blocks);
        for reader in wanting {
            if let Some(rows) = reads.next().await? {
                let keys = order.encode(&rows)?;
                reader.next = Some(Run { rows, keys });
            }
        }
        self.runs.iter_mut().for_each(Reader::turn);
        Ok(())
    }

    /// The next rows of those that are in memory: up to `row_count`, and up to the end of what is
    /// there of any run.
    pub(super) fn pick(
        &mut self,
        schema: &SchemaRef,
        row_count: usize,
    ) -> SqlResult<Option<RecordBatch>> {
        let wanted = row_count.min(self.left).min(self.rows_at_once());
        let mut heap = self.heap();
        if let [only] = heap[..] {
            return Ok(self.cut(only, wanted));
        }
        let mut picked = Vec::new();
        while picked.len() < wanted
            && let Some(&first) = heap.first()
        {
            let reader = &mut self.runs[first];
            picked.push((first, reader.at));
            reader.at += 1;
            if !reader.has_row() {
                if reader.has_more() {
                    break;
                }
                heap.swap_remove(0);
            }
            self.sift_down(&mut heap, 0);
        }
        self.left -= picked.len();
        if picked.is_empty() { Ok(None) } else { self.gather(schema, &picked).map(Some) }
    }

    /// Rows of which a batch is not too large, however wide they are: one at least.
    fn rows_at_once(&self) -> usize {
        let widest = self.runs.iter().map(|reader| reader.row_bytes).max().unwrap_or(0);
        (BATCH_BYTES / widest.max(1)).max(1)
    }

    /// Rows of the only run that is left.
    fn cut(&mut self, run: usize, wanted: usize) -> Option<RecordBatch> {
        let reader = &mut self.runs[run];
        let rows = &reader.now.as_ref()?.rows;
        let count = wanted.min(rows.num_rows() - reader.at);
        let cut = rows.slice(reader.at, count);
        reader.at += count;
        self.left -= count;
        (count > 0).then_some(cut)
    }

    fn gather(&self, schema: &SchemaRef, picked: &[(usize, usize)]) -> SqlResult<RecordBatch> {
        let mut places = vec![usize::MAX; self.runs.len()];
        let mut batches: Vec<&RecordBatch> = Vec::new();
        let mut at = Vec::with_capacity(picked.len());
        for &(run, row) in picked {
            if places[run] == usize::MAX {
                places[run] = batches.len();
                batches.extend(self.runs[run].now.as_ref().map(|now| &now.rows));
            }
            at.push((places[run], row));
        }
        let column = |i: usize| {
            let parts: Vec<&dyn Array> = batches.iter().map(|b| b.column(i).as_ref()).collect();
            interleave(&parts, &at).map_err(batch::arrow)
        };
        let columns = (0..schema.fields().len()).map(column).collect::<SqlResult<Vec<_>>>()?;
        Ok(batch::compact(batch::make(schema, columns, at.len())?))
    }

    /// The runs that have a row, the least first.
    fn heap(&self) -> Vec<usize> {
        let mut heap: Vec<usize> =
            (0..self.runs.len()).filter(|&run| self.runs[run].has_row()).collect();
        for at in (0..heap.len() / 2).rev() {
            self.sift_down(&mut heap, at);
        }
        heap
    }

    fn sift_down(&self, heap: &mut [usize], mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < heap.len() && self.is_before(heap[child], heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            heap.swap(at, least);
            at = least;
        }
    }

    /// Whether the next row of run `a` comes before that of run `b`.
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (Some(x), Some(y)) = (&self.runs[a].now, &self.runs[b].now) else { return false };
        let order = x.keys.row(self.runs[a].at).cmp(&y.keys.row(self.runs[b].at));
        order.then(a.cmp(&b)) == Ordering::Less
    }
}

impl Reader {
    fn has_row(&self) -> bool {
        self.now.as_ref().is_some_and(|now| self.at < now.rows.num_rows())
    }

    /// Whether rows follow those at hand.
    fn has_more(&self) -> bool {
        self.next.is_some() || !self.blocks.is_empty()
    }

    /// Whether a read is needed before the merge can go on.
    fn is_hungry(&self) -> bool {
        !self.has_row() && self.next.is_none() && !self.blocks.is_empty()
    }

    /// Goes on to the next rows at hand when those before are used up.
    fn turn(&mut self) {
        if !self.has_row() {
            self.now = self.next.take();
            self.at = 0;
            self.row_bytes = self.now.as_ref().map_or(0, row_bytes);
        }
    }
}

fn row_bytes(run: &Run) -> usize {
    batch_bytes(&run.rows) / run.rows.num_rows().max(1)
}
