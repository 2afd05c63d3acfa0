//! A hash join whose build side is on disk: probe rows go to disk too, by the same partitions of the
//! keys; then each pair of partitions is joined in memory, or divided again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use plan::expr::Expr;
use types::{SqlError, SqlResult};

use super::build::{Filter, Keyed, table_bytes, table_of};
use super::{Facts, JoinRules, Probe};
use crate::jobs::Parallelism;
use crate::map::Map;
use crate::notify::locked;
use crate::partition::{Blocks, LEVEL_MAX, Partitioner, Queue};
use crate::preempt::breathe;
use crate::source::{Access, LocalFuture, Part, Source, Step};
use crate::spill::Block;
use crate::workspace::{LEAST_BYTES, Workspace};

/// A join that waits for its probe side.
pub(crate) struct SpilledJoin {
    rules: Arc<JoinRules>,
    facts: Arc<Facts>,
    space: Workspace,
    build: Mutex<Blocks>,
    probe: Partitioner,
    queue: Queue<Pair>,
    filters: Vec<Filter>,
}

/// Rows of both sides whose keys share the bits of all levels up to this.
struct Pair {
    build: Vec<Block>,
    probe: Vec<Block>,
    level: u32,
}

/// Works on one pair after the other.
#[derive(Default)]
struct Lane {
    at: Option<Joining>,
    ready: VecDeque<RecordBatch>,
    /// Bytes of the table as they are counted in the reservation.
    counted: usize,
}

/// A pair whose build side is in memory.
struct Joining {
    probe: Probe,
    blocks: VecDeque<Block>,
    /// Probe rows that were read and not looked at yet.
    rest: Option<RecordBatch>,
}

fn pairs(build: Blocks, probe: Blocks, level: u32) -> impl Iterator<Item = Pair> {
    let pairs = build.into_iter().zip(probe);
    let pairs = pairs.filter(|(build, probe)| !build.is_empty() || !probe.is_empty());
    pairs.map(move |(build, probe)| Pair { build, probe, level })
}

impl SpilledJoin {
    pub(super) fn new(
        rules: Arc<JoinRules>,
        facts: Arc<Facts>,
        space: Workspace,
        build: Blocks,
        filters: Vec<Filter>,
    ) -> SpilledJoin {
        let probe = Partitioner::new(space.worker_count, 0);
        let (build, queue) = (Mutex::new(build), Queue::new([]));
        SpilledJoin { rules, facts, space, build, probe, queue, filters }
    }

    /// The filters that were made with it, by the positions of their keys.
    pub(crate) fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// The plan node.
    pub(crate) fn node(&self) -> usize {
        self.rules.node
    }

    /// Takes probe rows.
    pub(crate) async fn divert(&self, rows: RecordBatch) -> SqlResult<()> {
        let keys = self.rules.encode(&self.rules.probe_keys, &rows)?;
        self.facts.saw_probe(&keys);
        self.probe.add(&rows, &keys.hashes, &self.space).await
    }

    /// Both sides are there; from now on it is a source.
    pub(crate) async fn probe_ended(&self) -> SqlResult<()> {
        let probe = self.probe.finish(&self.space).await?;
        let build = std::mem::take(&mut *locked(&self.build));
        self.queue.put_first(pairs(build, probe, 0));
        Ok(())
    }

    /// Whether nothing can come of a pair.
    fn is_void(&self, pair: &Pair) -> bool {
        (pair.build.is_empty() && !self.rules.keeps_lonely_probe_rows())
            || (pair.probe.is_empty() && !self.rules.owes_build_rows())
    }

    /// Reads the build side of a pair; one that is too large is cut instead.
    async fn open(&self, lane: &mut Lane, pair: Pair) -> SqlResult<()> {
        if self.is_void(&pair) {
            return Ok(());
        }
        let mut parts: Vec<Keyed> = Vec::new();
        let mut reads = self.space.reads(pair.build.iter().copied().collect());
        while let Some(rows) = reads.next().await? {
            breathe().await;
            let keys = self.rules.encode(&self.rules.build_keys, &rows)?;
            let bytes = table_bytes(&rows, &keys);
            if !self.space.memory.try_grow(bytes) {
                if parts.is_empty() || lane.counted + bytes <= LEAST_BYTES {
                    self.space.memory.hold(bytes);
                } else if self.can_cut(&pair) {
                    self.space.memory.shrink(std::mem::take(&mut lane.counted));
                    drop((parts, reads));
                    return self.cut(pair).await;
                } else {
                    self.space.memory.grow(bytes)?;
                }
            }
            lane.counted += bytes;
            parts.push((rows, keys));
        }
        let table = table_of(&self.rules, parts, &Parallelism::One, vec![]).await?;
        let probe = Probe::new(&self.rules, table, &self.facts, &self.space.memory);
        lane.at = Some(Joining { probe, blocks: pair.probe.into(), rest: None });
        Ok(())
    }

    /// Whether smaller pairs can be made of a pair: by more bits of the keys; at last, where probe
    /// rows may pass more than once, by halves of the build side.
    fn can_cut(&self, pair: &Pair) -> bool {
        pair.level + 1 < LEVEL_MAX || (pair.build.len() > 1 && !self.rules.passes_probe_rows_once())
    }

    async fn cut(&self, mut pair: Pair) -> SqlResult<()> {
        let level = pair.level + 1;
        if level < LEVEL_MAX {
            let build = self.divide(pair.build, &self.rules.build_keys, level).await?;
            let probe = self.divide(pair.probe, &self.rules.probe_keys, level).await?;
            self.queue.put_first(pairs(build, probe, level));
            return Ok(());
        }
        let half = pair.build.split_off(pair.build.len() / 2);
        let other = Pair { build: half, probe: pair.probe.clone(), level: pair.level };
        self.queue.put_first([pair, other]);
        Ok(())
    }

    /// Writes the rows of `blocks` to partitions of the next level.
    async fn divide(&self, blocks: Vec<Block>, keys: &[Expr], level: u32) -> SqlResult<Blocks> {
        let smaller = Partitioner::new(self.space.worker_count, level);
        let mut reads = self.space.reads(blocks.into());
        while let Some(rows) = reads.next().await? {
            breathe().await;
            let keys = self.rules.encode(keys, &rows)?;
            smaller.add(&rows, &keys.hashes, &self.space).await?;
        }
        smaller.finish(&self.space).await
    }

    /// Joins some more probe rows of the pair that is open; at their end, the build rows still due.
    async fn go_on(&self, lane: &mut Lane) -> SqlResult<()> {
        let Some(joining) = &mut lane.at else { return Ok(()) };
        let rows = match joining.rest.take() {
            Some(rest) => Some(rest),
            None => match joining.blocks.pop_front() {
                Some(block) => Some(self.space.spill.read(block, self.space.figures()).await?),
                None => None,
            },
        };
        let Some(rows) = rows else {
            lane.ready = joining.probe.rest()?.into();
            lane.at = None;
            return Ok(());
        };
        let applied = joining.probe.apply(rows)?;
        joining.rest = applied.rest;
        lane.ready = applied.out.into_iter().filter(|rows| rows.num_rows() > 0).collect();
        Ok(())
    }
}

/// A part for each pair that may be in memory at once; each goes on with the next one.
impl Source for SpilledJoin {
    fn roots(&self) -> Vec<Part> {
        (0..self.space.lanes).map(|_| Part(Box::new(Lane::default()))).collect()
    }

    fn step<'a>(&'a self, part: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let lane = part.0.downcast::<Lane>();
            let mut lane = lane.map_err(|_| SqlError::internal("a part of another source"))?;
            loop {
                breathe().await;
                if let Some(rows) = lane.ready.pop_front() {
                    return Ok(Step { rows: Some(rows), parts: vec![Part(lane)] });
                }
                if lane.at.is_some() {
                    self.go_on(&mut lane).await?;
                    continue;
                }
                self.space.memory.shrink(std::mem::take(&mut lane.counted));
                match self.queue.take() {
                    Some(pair) => self.open(&mut lane, pair).await?,
                    None => return Ok(Step { rows: None, parts: vec![] }),
                }
            }
        })
    }
}
