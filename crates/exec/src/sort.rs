//! The sink of sort and top-k: sorted runs per worker, in memory or spilled, merged at the end.

mod merge;
mod order;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use plan::expr::SortKey;
use types::SqlResult;

use crate::batch;
use crate::footprint::batch_bytes;
use crate::locals::Locals;
use crate::notify::locked;
use crate::preempt::{breathe, go_on};
use crate::scope::Scope;
use crate::sink::Sink;
use crate::source::LocalFuture;
use crate::spill::Block;
use crate::workspace::{Turns, Workspace};
use merge::Merge;
pub(crate) use merge::Sorted;
pub(crate) use order::RowOrder;
use order::Run;

/// Batches sorted in one go, without giving way: some milliseconds. Runs that are shorter cost a merge
/// what they save a sort.
const RUN_BATCHES: usize = 4;

/// Most rows, in batches, that are kept as the best of those so far, when only the first are wanted.
const BEST_BATCHES: usize = 16;

/// Runs merged in one pass.
const FAN_IN_MAX: usize = 64;

/// What a spilled run has in memory while it is merged, in blocks: two of rows, and their keys.
const BLOCKS_PER_RUN: usize = 3;

/// Sorts rows; with `fetch` keeps only the first.
pub(crate) struct SortSink {
    order: Arc<RowOrder>,
    fetch: Option<usize>,
    schema: SchemaRef,
    space: Workspace,
    locals: Locals<Local>,
    turns: Turns,
    spilled: Mutex<Vec<Vec<Block>>>,
}

#[derive(Default)]
struct Local {
    batches: Vec<RecordBatch>,
    row_count: usize,
    runs: Vec<Run>,
    run_rows: usize,
    /// Bytes of `batches`, and of `runs`, as they are counted in the reservation.
    batch_bytes: usize,
    run_bytes: usize,
}

impl SortSink {
    pub(crate) fn new(
        keys: &[SortKey],
        fetch: Option<usize>,
        schema: SchemaRef,
        space: Workspace,
    ) -> SqlResult<SortSink> {
        Ok(SortSink {
            order: Arc::new(RowOrder::new(keys)?),
            fetch,
            schema,
            locals: Locals::new(space.worker_count),
            turns: Turns::new(space.worker_count),
            spilled: Mutex::default(),
            space,
        })
    }

    /// All rows (or the first) in order.
    pub(crate) async fn finish(&self, scope: &Scope) -> SqlResult<Sorted> {
        let mut locals = self.locals.take();
        let mut runs = Vec::new();
        for local in &mut locals {
            go_on(scope).await?;
            self.end_run(local)?;
            runs.append(&mut local.runs);
        }
        if locked(&self.spilled).is_empty() {
            let merge = Merge::of_memory(runs, self.fetch);
            return Ok(self.sorted(merge));
        }
        self.write(runs, locals.iter().map(|l| l.run_bytes).sum()).await?;
        let spilled = std::mem::take(&mut *locked(&self.spilled));
        let merge = self.narrow(spilled, scope).await?;
        Ok(self.sorted(merge))
    }

    fn sorted(&self, merge: Merge) -> Sorted {
        Sorted::new(merge, Arc::clone(&self.order), Arc::clone(&self.schema), self.space.clone())
    }

    /// Merges spilled runs into longer ones until one pass can merge them all.
    async fn narrow(&self, mut runs: Vec<Vec<Block>>, scope: &Scope) -> SqlResult<Merge> {
        let fan_in = self.fan_in(&runs);
        while runs.len() > fan_in {
            // The shortest first: the rows that are read twice are as few as can be.
            runs.sort_by_key(|run| {
                std::cmp::Reverse(run.iter().map(|b| b.row_count).sum::<usize>())
            });
            let shortest = runs.split_off(runs.len() - fan_in.min(runs.len() + 1 - fan_in).max(2));
            let mut merge = Merge::of_spilled(shortest, self.fetch);
            let mut longer = Vec::new();
            while let Some(rows) = merge.next(&self.order, &self.schema, &self.space).await? {
                go_on(scope).await?;
                longer.push(self.space.spill.write(&rows, self.space.figures()).await?);
            }
            runs.push(longer);
        }
        Ok(Merge::of_spilled(runs, self.fetch))
    }

    /// How many of the runs the memory left can merge at once.
    fn fan_in(&self, runs: &[Vec<Block>]) -> usize {
        let largest = runs.iter().flatten().map(|b| b.bytes).max().unwrap_or(0);
        let needed = |fan_in: usize| fan_in * BLOCKS_PER_RUN * largest;
        let mut fan_in = runs.len().clamp(2, FAN_IN_MAX);
        while !self.space.memory.try_grow(needed(fan_in)) {
            fan_in /= 2;
            if fan_in <= 2 {
                self.space.memory.hold(needed(2));
                return 2;
            }
        }
        fan_in
    }

    /// Sorts what has gathered since the last run.
    fn end_run(&self, local: &mut Local) -> SqlResult<()> {
        if local.row_count == 0 {
            return Ok(());
        }
        let rows = batch::concat_owned(&self.schema, std::mem::take(&mut local.batches))?;
        local.row_count = 0;
        let run = self.order.sorted(&rows, self.fetch)?;
        let bytes = run.bytes();
        self.recount(local, bytes);
        local.run_bytes += std::mem::take(&mut local.batch_bytes);
        local.run_rows += run.rows.num_rows();
        local.runs.push(run);
        Ok(())
    }

    /// Counts the batches anew: what they became is in memory already.
    fn recount(&self, local: &mut Local, bytes: usize) {
        match bytes.checked_sub(local.batch_bytes) {
            Some(more) => self.space.memory.hold(more),
            None => self.space.memory.shrink(local.batch_bytes - bytes),
        }
        local.batch_bytes = bytes;
    }

    /// Keeps the best rows only, once there are several times as many as wanted.
    fn prune(&self, local: &mut Local, fetch: usize) -> SqlResult<()> {
        // Sorting twice as many rows as are kept halves the work per row; a batch is the least.
        if local.row_count < (2 * fetch).max(fetch + self.space.batch_rows) {
            return Ok(());
        }
        let rows = batch::concat_owned(&self.schema, std::mem::take(&mut local.batches))?;
        let best = self.order.sorted(&rows, Some(fetch))?.rows;
        self.recount(local, batch_bytes(&best));
        local.row_count = best.num_rows();
        local.batches.push(best);
        Ok(())
    }

    /// Whether runs have several times as many rows as are wanted.
    fn is_long(&self, local: &Local) -> bool {
        let best = self.fetch.filter(|&fetch| fetch <= BEST_BATCHES * self.space.batch_rows);
        // Twice as many, as where they are few; a run is the least.
        best.is_some_and(|fetch| local.run_rows >= (2 * fetch).max(fetch + self.run_rows()))
    }

    /// Keeps the best rows of runs only.
    async fn shorten(&self, worker: usize, local: Local) -> SqlResult<()> {
        let mut merge = Merge::of_memory(local.runs, self.fetch);
        let mut best = Local::default();
        while let Some(rows) = merge.pick(&self.schema, self.space.batch_rows)? {
            breathe().await;
            let keys = self.order.encode(&rows)?;
            best.run_rows += rows.num_rows();
            best.runs.push(Run { rows, keys });
        }
        drop(merge);
        best.run_bytes = best.runs.iter().map(Run::bytes).sum();
        self.space.memory.hold(best.run_bytes);
        self.space.memory.shrink(local.run_bytes);
        let mut now = self.locals.of(worker);
        now.run_rows += best.run_rows;
        now.run_bytes += best.run_bytes;
        now.runs.append(&mut best.runs);
        Ok(())
    }

    fn run_rows(&self) -> usize {
        RUN_BATCHES * self.space.batch_rows
    }

    /// Writes runs as one.
    async fn write(&self, runs: Vec<Run>, counted: usize) -> SqlResult<()> {
        if runs.is_empty() {
            return Ok(());
        }
        let mut merge = Merge::of_memory(runs, self.fetch);
        let batch_rows = self.space.batch_rows;
        let batches = std::iter::from_fn(|| merge.pick(&self.schema, batch_rows).transpose());
        let blocks = self.space.spill.write_all(batches, self.space.figures()).await?;
        locked(&self.spilled).push(blocks);
        self.space.memory.shrink(counted);
        Ok(())
    }
}

impl Sink for SortSink {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<Option<RecordBatch>> {
        let mut local = self.locals.of(worker);
        if self.is_long(&local) {
            return Ok(Some(rows));
        }
        let rows = batch::compact(rows);
        let bytes = batch_bytes(&rows);
        if !self.space.memory.try_grow(bytes) {
            if local.batches.is_empty() && local.runs.is_empty() {
                self.space.grow_least(bytes)?;
            } else {
                return self.space.refuse(rows, bytes);
            }
        }
        local.batch_bytes += bytes;
        local.row_count += rows.num_rows();
        local.batches.push(rows);
        let run_rows = self.run_rows();
        match self.fetch.filter(|&f| f < run_rows / 2) {
            Some(fetch) => self.prune(&mut local, fetch)?,
            None if local.row_count >= run_rows => self.end_run(&mut local)?,
            None => {}
        }
        Ok(None)
    }

    fn relieve<'a>(&'a self, worker: usize) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            let Some(_turn) = self.turns.take(worker).await else { return Ok(()) };
            let mut local = std::mem::take(&mut *self.locals.of(worker));
            self.end_run(&mut local)?;
            match self.is_long(&local) {
                true => self.shorten(worker, local).await,
                false => self.write(local.runs, local.run_bytes).await,
            }
        })
    }
}
