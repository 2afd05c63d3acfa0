//! The sink of grouping and aggregation: a table per worker, merged at the end, or spilled by
//! partitions of the keys.

mod merged;
mod spilled;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use arrow_array::RecordBatch;
use plan::expr::Expr;
use types::SqlResult;

use crate::batch;
use crate::footprint::{WAITING_BYTES, batch_bytes};
use crate::groups::{Grouping, Groups, Partial};
use crate::jobs::Parallelism;
use crate::locals::Locals;
use crate::partition::{PARTITION_COUNT, Partitioner};
use crate::preempt::go_on;
use crate::run::Run;
use crate::scope::Scope;
use crate::sink::Sink;
use crate::source::LocalFuture;
use crate::workspace::{Turns, Workspace};

pub(crate) use spilled::SpilledGroups;

/// Grouping so many rows takes some 0.05 ms, for which clients that look up a row can wait.
const ROWS_AT_ONCE: usize = 2048;

/// Groups and aggregates rows.
pub(crate) struct AggregateSink {
    grouping: Arc<Grouping>,
    /// Rows that are grouped at once.
    at_once: usize,
    space: Workspace,
    locals: Locals<Local>,
    turns: Turns,
    spilled: Partitioner,
    has_spilled: AtomicBool,
}

#[derive(Default)]
struct Local {
    /// Small batches wait here for company: expressions cost per batch.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
    groups: Option<Groups>,
    /// Bytes of the groups as they are counted in the reservation.
    counted: usize,
    /// Whether they are more than could be had.
    is_over: bool,
}

/// One row per group.
pub(crate) enum Aggregated {
    /// All of them.
    Rows(Vec<RecordBatch>),
    /// On disk, partition by partition.
    Spilled(SpilledGroups),
}

impl AggregateSink {
    pub(crate) fn new(grouping: Grouping, space: Workspace) -> AggregateSink {
        AggregateSink {
            at_once: at_once(&grouping).min(space.batch_rows),
            grouping: Arc::new(grouping),
            locals: Locals::new(space.worker_count),
            turns: Turns::new(space.worker_count),
            spilled: Partitioner::new(space.worker_count, 0),
            has_spilled: AtomicBool::new(false),
            space,
        }
    }

    /// Merges the workers' groups.
    pub(crate) async fn finish(&self, run: &Arc<Run>, scope: &Arc<Scope>) -> SqlResult<Aggregated> {
        let mut tables = Vec::new();
        for mut local in self.locals.take() {
            self.flush(&mut local)?;
            tables.extend(local.groups.map(|groups| (groups, local.counted)));
        }
        if !self.has_spilled.load(Relaxed) && self.has_room(&tables) {
            let tables = tables.into_iter().map(|(groups, _)| groups).collect();
            let parallelism = Parallelism::AllWorkers { run, scope, space: &self.space };
            let rows = merged::merged(&self.grouping, tables, parallelism, scope).await?;
            let slices = rows.iter().flat_map(|rows| batch::slices(rows, self.space.batch_rows));
            return Ok(Aggregated::Rows(slices.collect()));
        }
        for (groups, counted) in tables {
            go_on(scope).await?;
            self.write(groups, counted).await?;
        }
        let blocks = self.spilled.finish(&self.space).await?;
        let grouping = Arc::clone(&self.grouping);
        Ok(Aggregated::Spilled(SpilledGroups::new(grouping, self.space.clone(), blocks)))
    }

    /// Whether there is memory to make the tables one, and for the result.
    fn has_room(&self, tables: &[(Groups, usize)]) -> bool {
        let bytes: usize = tables.iter().map(|(_, counted)| counted).sum();
        !self.can_spill() || bytes == 0 || self.space.memory.try_grow(bytes)
    }

    /// Whether spilling gains anything: a single group stays what it is.
    fn can_spill(&self) -> bool {
        self.grouping.is_grouped() && self.space.spill.is_possible()
    }

    fn flush(&self, local: &mut Local) -> SqlResult<()> {
        if local.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut local.waiting);
        (local.waiting_rows, local.waiting_bytes) = (0, 0);
        let rows = match waiting.as_slice() {
            [one] => one.clone(),
            many => batch::concat(&self.grouping.input, many)?,
        };
        let groups = match &mut local.groups {
            Some(groups) => groups,
            empty => empty.insert(Groups::new(&self.grouping)?),
        };
        groups.update(&self.grouping, &rows)?;
        let more = groups.bytes().saturating_sub(local.counted);
        if self.can_spill() {
            local.is_over = !self.space.memory.try_grow(more);
            if local.is_over {
                self.space.memory.hold(more);
            }
        } else {
            self.space.memory.grow(more)?;
        }
        local.counted += more;
        Ok(())
    }

    /// Writes a table to the partitions of its groups.
    async fn write(&self, groups: Groups, counted: usize) -> SqlResult<()> {
        let Partial { rows, hashes } = groups.into_partial(&self.grouping)?;
        // So many rows make about a batch in each partition.
        let size = self.space.batch_rows * PARTITION_COUNT;
        for (rows, hashes) in batch::slices(&rows, size).iter().zip(hashes.chunks(size)) {
            self.spilled.add(rows, hashes, &self.space).await?;
        }
        self.has_spilled.store(true, Relaxed);
        self.space.memory.shrink(counted);
        Ok(())
    }
}

/// Fewer rows where a key or an argument is slow.
fn at_once(grouping: &Grouping) -> usize {
    let args = grouping.aggregates.iter().flat_map(|call| call.args.iter().chain(&call.filter));
    let slow = grouping.group_by.iter().chain(args).map(Expr::rows_at_once);
    slow.chain([ROWS_AT_ONCE]).min().unwrap_or(ROWS_AT_ONCE)
}

impl Sink for AggregateSink {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<Option<RecordBatch>> {
        let mut local = self.locals.of(worker);
        if local.is_over {
            return self.space.refuse(rows, 0);
        }
        local.waiting_rows += rows.num_rows();
        if local.waiting_rows >= self.rows_at_once() {
            local.waiting.push(rows);
            self.flush(&mut local)?;
            return Ok(None);
        }
        // Few rows that wait may point into the strings of many.
        let rows = batch::compact(rows);
        local.waiting_bytes += batch_bytes(&rows);
        local.waiting.push(rows);
        if local.waiting_bytes >= WAITING_BYTES {
            self.flush(&mut local)?;
        }
        Ok(None)
    }

    fn rows_at_once(&self) -> usize {
        self.at_once
    }

    fn relieve<'a>(&'a self, worker: usize) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            let Some(_turn) = self.turns.take(worker).await else { return Ok(()) };
            let (groups, counted) = {
                let mut local = self.locals.of(worker);
                local.is_over = false;
                (local.groups.take(), std::mem::take(&mut local.counted))
            };
            match groups {
                Some(groups) => self.write(groups, counted).await,
                None => Ok(()),
            }
        })
    }
}
