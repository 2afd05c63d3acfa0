//! What an operator that gathers rows has to work with: memory, a temporary file, counters.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use arrow_array::RecordBatch;
use runtime::sync::{Semaphore, SemaphorePermit};
use types::SqlResult;

use crate::memory::Reservation;
use crate::progress::{NodeFigures, Progress};
use crate::source::Depth;
use crate::spill::{Block, Reads, Spill};

/// A piece of spilled work of so few bytes is taken into memory in any case: what another lane holds is no
/// reason to divide it to nothing.
pub(crate) const LEAST_BYTES: usize = 16 << 10;

/// The means of one operator; clones share them.
#[derive(Clone)]
pub(crate) struct Workspace {
    pub(crate) memory: Arc<Reservation>,
    pub(crate) spill: Arc<Spill>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) node: usize,
    pub(crate) depth: Depth,
    pub(crate) worker_count: usize,
    /// Pieces of spilled work that may be in memory at once.
    pub(crate) lanes: usize,
    /// Rows per batch aimed at, at least 1.
    pub(crate) batch_rows: usize,
}

impl Workspace {
    /// The figures of the operator's node.
    pub(crate) fn figures(&self) -> &NodeFigures {
        self.progress.node(self.node)
    }

    /// Reads spilled blocks in their order.
    pub(crate) fn reads(&self, blocks: VecDeque<Block>) -> Reads<'_> {
        self.spill.reads(blocks, self.depth, self.figures())
    }

    /// Takes the `bytes` of one batch, which is the least that an operator works with: those that
    /// can spill the next moment get it in any case.
    pub(crate) fn grow_least(&self, bytes: usize) -> SqlResult<()> {
        if !self.spill.is_possible() {
            return self.memory.grow(bytes);
        }
        self.memory.hold(bytes);
        Ok(())
    }

    /// Answers for rows that do not fit: they are given back, to be offered again after a spill.
    pub(crate) fn refuse(&self, rows: RecordBatch, bytes: usize) -> SqlResult<Option<RecordBatch>> {
        if self.spill.is_possible() { Ok(Some(rows)) } else { Err(self.memory.exhausted(bytes)) }
    }
}

/// Makes the tasks of a worker spill one after the other.
pub(crate) struct Turns(Vec<Turn>);

struct Turn {
    permit: Semaphore,
    /// Spills that have ended.
    ended: AtomicUsize,
}

/// The right to spill.
pub(crate) struct Spilling<'a> {
    turn: &'a Turn,
    _permit: SemaphorePermit,
}

impl Turns {
    pub(crate) fn new(worker_count: usize) -> Turns {
        let turn = || Turn { permit: Semaphore::new(1), ended: AtomicUsize::new(0) };
        Turns((0..worker_count.max(1)).map(|_| turn()).collect())
    }

    /// The turn of `worker`; `None` when another task has spilled while this one waited, which may
    /// be enough.
    pub(crate) async fn take(&self, worker: usize) -> Option<Spilling<'_>> {
        let turn = &self.0[worker];
        let before = turn.ended.load(Relaxed);
        let permit = turn.permit.acquire().await;
        (turn.ended.load(Relaxed) == before).then(|| Spilling { turn, _permit: permit })
    }
}

impl Drop for Spilling<'_> {
    fn drop(&mut self) {
        self.turn.ended.fetch_add(1, Relaxed);
    }
}
