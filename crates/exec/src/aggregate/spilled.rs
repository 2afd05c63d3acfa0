//! Groups on disk: each partition is merged in memory, or divided again when it is too large.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use types::{SqlError, SqlResult};

use crate::batch;
use crate::groups::{Grouping, Groups, Partial};
use crate::partition::{Blocks, LEVEL_MAX, Partitioner, Queue};
use crate::preempt::breathe;
use crate::source::{Access, LocalFuture, Part, Source, Step};
use crate::spill::{Block, Reads};
use crate::workspace::{LEAST_BYTES, Workspace};

/// The groups of an aggregation that spilled.
pub(crate) struct SpilledGroups {
    grouping: Arc<Grouping>,
    space: Workspace,
    queue: Queue<Partition>,
}

/// Groups whose keys share the bits of all levels up to this.
struct Partition {
    blocks: Vec<Block>,
    level: u32,
}

/// Works on one partition after the other.
#[derive(Default)]
struct Lane {
    ready: VecDeque<RecordBatch>,
    /// Bytes of `ready` as they are counted in the reservation.
    counted: usize,
}

fn partitions(blocks: Blocks, level: u32) -> impl Iterator<Item = Partition> {
    blocks.into_iter().filter(|b| !b.is_empty()).map(move |blocks| Partition { blocks, level })
}

impl SpilledGroups {
    pub(super) fn new(grouping: Arc<Grouping>, space: Workspace, blocks: Blocks) -> SpilledGroups {
        SpilledGroups { grouping, space, queue: Queue::new(partitions(blocks, 0)) }
    }

    /// Merges the groups of a partition, or divides it.
    async fn load(&self, lane: &mut Lane, partition: Partition) -> SqlResult<()> {
        let mut groups = Groups::new(&self.grouping)?;
        let mut reads = self.space.reads(partition.blocks.into());
        while let Some(rows) = reads.next().await? {
            breathe().await;
            groups.add_partial(&self.grouping, &rows)?;
            // Twice: the result is made while the groups are there.
            let more = (2 * groups.bytes()).saturating_sub(lane.counted);
            if !self.space.memory.try_grow(more) {
                if lane.counted + more <= LEAST_BYTES {
                    self.space.memory.hold(more);
                } else if partition.level + 1 < LEVEL_MAX {
                    self.space.memory.shrink(std::mem::take(&mut lane.counted));
                    return self.divide(groups, reads, partition.level + 1).await;
                } else {
                    self.space.memory.grow(more)?;
                }
            }
            lane.counted += more;
        }
        let rows = groups.finish(&self.grouping).await?;
        lane.ready = batch::slices(&rows, self.space.batch_rows).into();
        Ok(())
    }

    /// Writes the groups merged so far, and those not read yet, to partitions of the next level.
    async fn divide(&self, groups: Groups, mut reads: Reads<'_>, level: u32) -> SqlResult<()> {
        let smaller = Partitioner::new(self.space.worker_count, level);
        let Partial { rows, hashes } = groups.into_partial(&self.grouping)?;
        smaller.add(&rows, &hashes, &self.space).await?;
        drop((rows, hashes));
        while let Some(rows) = reads.next().await? {
            breathe().await;
            let hashes = self.grouping.keys_of(&rows)?.hashes;
            smaller.add(&rows, &hashes, &self.space).await?;
        }
        let blocks = smaller.finish(&self.space).await?;
        self.queue.put_first(partitions(blocks, level));
        Ok(())
    }
}

/// A part for each partition that may be in memory at once; each goes on with the next one.
impl Source for SpilledGroups {
    fn roots(&self) -> Vec<Part> {
        (0..self.space.lanes).map(|_| Part(Box::new(Lane::default()))).collect()
    }

    fn step<'a>(&'a self, part: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let lane = part.0.downcast::<Lane>();
            let mut lane = lane.map_err(|_| SqlError::internal("a part of another source"))?;
            loop {
                if let Some(rows) = lane.ready.pop_front() {
                    return Ok(Step { rows: Some(rows), parts: vec![Part(lane)] });
                }
                self.space.memory.shrink(std::mem::take(&mut lane.counted));
                match self.queue.take() {
                    Some(partition) => self.load(&mut lane, partition).await?,
                    None => return Ok(Step { rows: None, parts: vec![] }),
                }
            }
        })
    }
}
