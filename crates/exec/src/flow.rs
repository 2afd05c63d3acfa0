//! The way of a task's batches through the operators of its stage, depth first.

use std::sync::Arc;

use arrow_array::RecordBatch;
use types::SqlResult;

use crate::batch;
use crate::codegen::make_asked;
use crate::footprint::{WAITING_BYTES, batch_bytes};
use crate::lookup::LookupOp;
use crate::map::Map;
use crate::memory::Reservation;
use crate::pieces::{Pace, Piece, Within};
use crate::preempt::breathe;
use crate::shared::spawn_lookup;
use crate::source::Access;
use crate::stage::{Op, Stage};
use crate::timing::{busy, timed};

/// The batches that one task has in hand.
pub(crate) struct Flow {
    stage: Arc<Stage>,
    /// Batches with the operator that comes next; the last is worked on first, so that a batch is
    /// through the whole pipeline before the next one enters.
    stack: Vec<Waiting>,
    /// Where look-ups are not split off: rows gathered before each operator.
    gathered: Vec<Vec<RecordBatch>>,
    /// How many rows each heavy operator is computed for at once.
    paces: Vec<Pace>,
    /// Whether the last batch in hand is looked up here even when there are permits.
    keeps_last: bool,
}

/// A batch in hand.
struct Waiting {
    /// The operator that comes next.
    at: usize,
    rows: RecordBatch,
    /// The memory that it takes, where that is much.
    held: Option<Arc<Reservation>>,
}

impl Flow {
    pub(crate) fn new(stage: &Arc<Stage>) -> Flow {
        let gathered = if stage.splits { vec![] } else { vec![vec![]; stage.tail.ops.len()] };
        let paces = vec![];
        Flow { stage: Arc::clone(stage), stack: vec![], gathered, paces, keeps_last: false }
    }

    /// The same, which looks the last batch in hand up itself.
    pub(crate) fn keeping_last(self) -> Flow {
        Flow { keeps_last: true, ..self }
    }

    fn put(&mut self, at: usize, rows: RecordBatch) {
        self.stack.push(Waiting { at, rows, held: None });
    }

    /// Passes `batch` through all operators from the one at `at` on.
    pub(crate) async fn feed(&mut self, at: usize, batch: RecordBatch) -> SqlResult<()> {
        self.put(at, batch);
        self.drain().await
    }

    /// Passes on what was gathered; the last call.
    pub(crate) async fn finish(mut self) -> SqlResult<()> {
        for at in 0..self.gathered.len() {
            let batches = std::mem::take(&mut self.gathered[at]);
            let (Some(first), Op::Lookup(op)) = (batches.first(), &self.stage.tail.ops[at]) else {
                continue;
            };
            let op = Arc::clone(op);
            let chunk = batch::concat(&first.schema(), &batches)?;
            self.look_up_here(at, &op, chunk).await?;
            self.drain().await?;
        }
        Ok(())
    }

    async fn drain(&mut self) -> SqlResult<()> {
        let stage = Arc::clone(&self.stage);
        while let Some(Waiting { at, rows: batch, held }) = self.stack.pop() {
            breathe().await;
            make_asked(&stage.run.query).await;
            if stage.is_stopped() {
                self.stack.clear();
                return Ok(());
            }
            if batch.num_rows() == 0 {
                continue;
            }
            match stage.tail.ops.get(at) {
                None => {
                    let rows = self.first_rows(at, batch);
                    // The target counts them.
                    drop(held);
                    stage.tail.target.push(&stage.run, rows).await?;
                }
                Some(Op::Map(map)) if map.is_heavy() => self.apply_heavy(at, map, batch).await?,
                Some(Op::Map(map)) => self.apply(at, map.as_ref(), batch)?,
                Some(Op::Lookup(op)) => self.look_up(at, op, batch).await?,
                Some(Op::Divert(join)) => {
                    let figures = stage.run.query.progress.node(join.node());
                    busy(&figures.busy_ns, join.divert(batch)).await?;
                }
            }
        }
        Ok(())
    }

    /// The first rows of a batch that is about to be put away; the others come next.
    fn first_rows(&mut self, at: usize, batch: RecordBatch) -> RecordBatch {
        let count = self.stage.tail.target.rows_at_once();
        if batch.num_rows() <= count {
            return batch;
        }
        self.put(at, batch.slice(count, batch.num_rows() - count));
        batch.slice(0, count)
    }

    fn apply(&mut self, at: usize, map: &dyn Map, batch: RecordBatch) -> SqlResult<()> {
        let progress = Arc::clone(&self.stage.run.query.progress);
        let figures = progress.node(map.node());
        let applied = timed(&figures.busy_ns, || map.apply(batch))?;
        if let Some(rest) = applied.rest {
            self.put(at, rest);
        }
        for out in applied.out.into_iter().rev().filter(|b| b.num_rows() > 0) {
            figures.produced(out.num_rows());
            self.put(at + 1, out);
        }
        Ok(())
    }

    /// The same of an operator that may need much time or memory for some rows.
    async fn apply_heavy(
        &mut self,
        at: usize,
        map: &Arc<dyn Map>,
        batch: RecordBatch,
    ) -> SqlResult<()> {
        if self.paces.is_empty() {
            self.paces = vec![Pace::default(); self.stage.tail.ops.len()];
        }
        let within = Within { run: &self.stage.run, scope: &self.stage.tasks.scope };
        let Piece { applied, rest, held } = self.paces[at].first_piece(within, map, batch).await?;
        for rest in rest.into_iter().chain(applied.rest) {
            self.put(at, rest);
        }
        let figures = self.stage.run.query.progress.node(map.node());
        for rows in applied.out.into_iter().rev().filter(|b| b.num_rows() > 0) {
            figures.produced(rows.num_rows());
            self.stack.push(Waiting { at: at + 1, rows, held: held.clone() });
        }
        Ok(())
    }

    async fn look_up(&mut self, at: usize, op: &LookupOp, batch: RecordBatch) -> SqlResult<()> {
        let row_count = self.stage.run.query.lookup_batch_rows.min(op.rows_at_once()).max(1);
        let batch =
            if self.stage.splits { Some(batch) } else { self.gather(at, batch, row_count)? };
        let Some(batch) = batch else { return Ok(()) };
        let chunk = if batch.num_rows() > row_count {
            self.put(at, batch.slice(row_count, batch.num_rows() - row_count));
            batch.slice(0, row_count)
        } else {
            batch
        };
        // A task that has nothing else to do gains nothing from a child that does it.
        let is_last = self.keeps_last && self.stack.is_empty();
        if self.stage.splits
            && !is_last
            && let Some(permit) = self.stage.run.policy.child(&self.stage.run.query.permits)
        {
            spawn_lookup(&self.stage, at, chunk, permit);
            return Ok(());
        }
        self.look_up_here(at, op, chunk).await
    }

    /// Adds to the rows gathered before `at`; returns them all when they are enough for a look-up.
    fn gather(
        &mut self,
        at: usize,
        batch: RecordBatch,
        row_count: usize,
    ) -> SqlResult<Option<RecordBatch>> {
        let gathered = &mut self.gathered[at];
        let schema = batch.schema();
        gathered.push(batch);
        let has_few_rows = gathered.iter().map(RecordBatch::num_rows).sum::<usize>() < row_count;
        if has_few_rows && gathered.iter().map(batch_bytes).sum::<usize>() < WAITING_BYTES {
            return Ok(None);
        }
        let batches = std::mem::take(gathered);
        match <[RecordBatch; 1]>::try_from(batches) {
            Ok([one]) => Ok(Some(one)),
            Err(many) => batch::concat(&schema, &many).map(Some),
        }
    }

    /// Looks up `chunk` in this task; the result is next on the stack.
    pub(crate) async fn look_up_here(
        &mut self,
        at: usize,
        op: &LookupOp,
        chunk: RecordBatch,
    ) -> SqlResult<()> {
        let figures = self.stage.run.query.progress.node(op.node());
        let access = Access { depth: self.stage.depth, io: &figures.io, skips: &figures.skips };
        let out = busy(&figures.busy_ns, op.look_up(&chunk, access)).await?;
        if out.num_rows() > 0 {
            figures.produced(out.num_rows());
            self.put(at + 1, out);
        }
        Ok(())
    }

    /// Looks up `chunk` and passes the result on: the whole work of a look-up task.
    /// Unlike a part's task it may as well do the next look-up itself: it occupies no place of a
    /// part.
    pub(crate) async fn look_up_all(mut self, at: usize, chunk: RecordBatch) -> SqlResult<()> {
        if let Some(Op::Lookup(op)) = self.stage.tail.ops.get(at).cloned() {
            self.look_up_here(at, &op, chunk).await?;
        }
        self.drain().await
    }
}
