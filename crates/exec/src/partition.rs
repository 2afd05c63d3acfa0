//! Rows divided by the hash of their keys, level by level: what is spilled together is read
//! together, and fits in memory at some level.

use std::collections::VecDeque;
use std::sync::Mutex;

use arrow_array::{RecordBatch, UInt32Array};
use types::SqlResult;

use crate::batch;
use crate::footprint::batch_bytes;
use crate::locals::Locals;
use crate::notify::locked;
use crate::spill::Block;
use crate::workspace::Workspace;

/// Partitions of a level: with some hundred kilobytes written at once, each gets a block of a few.
pub(crate) const PARTITION_COUNT: usize = 16;

/// Bits of the hash that a level uses; hash tables use the low half.
const LEVEL_BITS: u32 = 4;

/// Levels in all: 65,536 partitions. What does not fit then has too many rows of one key.
pub(crate) const LEVEL_MAX: u32 = 4;

/// The blocks of each partition of a level.
pub(crate) type Blocks = [Vec<Block>; PARTITION_COUNT];

/// The partition of a key at a level.
pub(crate) fn partition_of(hash: u64, level: u32) -> usize {
    (hash >> (32 + LEVEL_BITS * level)) as usize % PARTITION_COUNT
}

/// The rows of each partition, in their order.
pub(crate) fn split(rows: &RecordBatch, hashes: &[u64], level: u32) -> SqlResult<Vec<RecordBatch>> {
    let mut at: [Vec<u32>; PARTITION_COUNT] = Default::default();
    for (i, &hash) in hashes.iter().enumerate() {
        at[partition_of(hash, level)].push(i as u32);
    }
    let take = |at: Vec<u32>| match at.is_empty() {
        true => Ok(RecordBatch::new_empty(rows.schema())),
        false => batch::take(rows, &UInt32Array::from(at)).map(batch::compact),
    };
    at.into_iter().map(take).collect()
}

/// Rows on their way to the blocks of their partitions: they gather in memory until they make a
/// block, or memory is short.
pub(crate) struct Partitioner {
    level: u32,
    locals: Locals<Local>,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Local {
    waiting: [Vec<RecordBatch>; PARTITION_COUNT],
    row_counts: [usize; PARTITION_COUNT],
    /// Bytes of all that waits as they are counted in the reservation.
    bytes: usize,
}

impl Partitioner {
    pub(crate) fn new(worker_count: usize, level: u32) -> Partitioner {
        Partitioner { level, locals: Locals::new(worker_count), blocks: Mutex::default() }
    }

    /// Adds rows with the hashes of their keys.
    pub(crate) async fn add(
        &self,
        rows: &RecordBatch,
        hashes: &[u64],
        space: &Workspace,
    ) -> SqlResult<()> {
        let worker = runtime::worker();
        let due = self.gather(worker, rows, hashes, space)?;
        self.write(due, space).await
    }

    /// Adds rows to those of a worker that wait; returns what is to be written now.
    fn gather(
        &self,
        worker: usize,
        rows: &RecordBatch,
        hashes: &[u64],
        space: &Workspace,
    ) -> SqlResult<Due> {
        let parts = split(rows, hashes, self.level)?.into_iter().enumerate();
        let parts: Vec<_> = parts.filter(|(_, part)| part.num_rows() > 0).collect();
        let bytes: usize = parts.iter().map(|(_, part)| batch_bytes(part)).sum();
        let mut local = self.locals.of(worker);
        for (partition, part) in parts {
            local.row_counts[partition] += part.num_rows();
            local.waiting[partition].push(part);
        }
        let is_short = !space.memory.try_grow(bytes);
        if is_short {
            space.memory.hold(bytes);
        }
        local.bytes += bytes;
        let is_due = |n: usize| if is_short { n > 0 } else { n >= space.batch_rows };
        Ok(local.take(is_due))
    }

    /// All blocks, when nothing is added any more.
    pub(crate) async fn finish(&self, space: &Workspace) -> SqlResult<Blocks> {
        for mut local in self.locals.take() {
            let due = local.take(|n| n > 0);
            self.write(due, space).await?;
        }
        Ok(std::mem::take(&mut *locked(&self.blocks)))
    }

    async fn write(&self, due: Due, space: &Workspace) -> SqlResult<()> {
        if due.parts.is_empty() {
            return Ok(());
        }
        let partitions: Vec<usize> = due.parts.iter().map(|(partition, _)| *partition).collect();
        let rows = due.parts.into_iter().map(|(_, parts)| match &parts[..] {
            [one] => Ok(one.clone()),
            many => batch::concat(&many[0].schema(), many),
        });
        let written = space.spill.write_all(rows, space.figures()).await?;
        let mut blocks = locked(&self.blocks);
        for (partition, block) in partitions.into_iter().zip(written) {
            blocks[partition].push(block);
        }
        space.memory.shrink(due.bytes);
        Ok(())
    }
}

/// Rows of partitions that are to be written.
struct Due {
    parts: Vec<(usize, Vec<RecordBatch>)>,
    bytes: usize,
}

impl Local {
    fn take(&mut self, is_due: impl Fn(usize) -> bool) -> Due {
        let mut due = Due { parts: vec![], bytes: 0 };
        for partition in 0..PARTITION_COUNT {
            if is_due(self.row_counts[partition]) {
                self.row_counts[partition] = 0;
                due.parts.push((partition, std::mem::take(&mut self.waiting[partition])));
            }
        }
        let parts = due.parts.iter().flat_map(|(_, parts)| parts);
        due.bytes = parts.map(batch_bytes).sum();
        self.bytes -= due.bytes;
        due
    }
}

/// Pieces of spilled work that wait for one of the few that work on them at once.
pub(crate) struct Queue<T>(Mutex<VecDeque<T>>);

impl<T> Queue<T> {
    pub(crate) fn new(items: impl IntoIterator<Item = T>) -> Queue<T> {
        Queue(Mutex::new(items.into_iter().collect()))
    }

    /// The next piece.
    pub(crate) fn take(&self) -> Option<T> {
        locked(&self.0).pop_front()
    }

    /// Adds smaller pieces, which come before all others.
    pub(crate) fn put_first(&self, items: impl IntoIterator<Item = T>) {
        let mut queue = locked(&self.0);
        items.into_iter().for_each(|item| queue.push_front(item));
    }
}
