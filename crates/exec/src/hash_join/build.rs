//! The build side of a hash join: rows and their keys, per worker, made one table at the end; or
//! spilled by partitions of the keys.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use types::SqlResult;

use super::spilled::SpilledJoin;
use super::{Facts, JoinRules, Probe};
use crate::batch;
use crate::footprint::batch_bytes;
use crate::jobs::{Job, Parallelism, Results};
use crate::join_filter::{Bounds, JoinFilter};
use crate::join_table::{JoinTable, TABLE_BYTES};
use crate::keys::KeyBatch;
use crate::locals::Locals;
use crate::notify::locked;
use crate::partition::{Blocks, PARTITION_COUNT, Partitioner};
use crate::preempt::go_on;
use crate::run::Run;
use crate::scope::Scope;
use crate::sink::Sink;
use crate::source::LocalFuture;
use crate::workspace::{Turns, Workspace};

/// A table of fewer rows is made before another worker would have begun with it.
const SHARED_ROWS_MIN: usize = 32 << 10;

/// A set of the keys of a build side on disk takes at most such a part of the memory that is free.
const FREE_PART: usize = 4;

/// The filter of a key, with the key's position.
pub(super) type Filter = (usize, Arc<JoinFilter>);

/// Build rows with their keys.
pub(super) type Keyed = (RecordBatch, KeyBatch);

/// Collects the build side.
pub(crate) struct BuildSink {
    rules: Arc<JoinRules>,
    space: Workspace,
    /// Rows whose [`table_bytes`] are counted in the reservation.
    locals: Locals<Vec<Keyed>>,
    turns: Turns,
    spilled: Partitioner,
    has_spilled: AtomicBool,
    facts: Arc<Facts>,
    /// The keys of which filters are to be made, by their positions, with the bounds of what was spilled.
    keys: Mutex<Vec<(usize, Bounds)>>,
}

/// A finished build side.
pub(crate) enum Built {
    /// In memory.
    Table(Arc<Probe>),
    /// On disk, to be joined when the probe side is there too.
    Spilled(Arc<SpilledJoin>),
}

/// Bytes that a batch and its keys take in a table.
pub(super) fn table_bytes(rows: &RecordBatch, keys: &KeyBatch) -> usize {
    batch_bytes(rows) + keys.bytes() + rows.num_rows() * TABLE_BYTES
}

/// The hash table of all rows; `jobs` are done beside.
pub(super) async fn table_of(
    rules: &JoinRules,
    parts: Vec<Keyed>,
    parallelism: &Parallelism<'_>,
    jobs: Vec<Job>,
) -> SqlResult<JoinTable> {
    let form = (&rules.build_schema, &rules.coder);
    JoinTable::of(form, parts, rules.nulls_match, parallelism, jobs).await
}

impl BuildSink {
    /// With the join come filters of the `keys` at these positions.
    pub(crate) fn new(rules: Arc<JoinRules>, space: Workspace, keys: &[usize]) -> BuildSink {
        BuildSink {
            keys: Mutex::new(keys.iter().map(|at| (*at, Bounds::default())).collect()),
            rules,
            locals: Locals::new(space.worker_count),
            turns: Turns::new(space.worker_count),
            spilled: Partitioner::new(space.worker_count, 0),
            has_spilled: AtomicBool::new(false),
            facts: Arc::default(),
            space,
        }
    }

    /// Combines the workers' rows.
    pub(crate) async fn finish(&self, run: &Arc<Run>, scope: &Arc<Scope>) -> SqlResult<Built> {
        let locals = self.locals.take();
        go_on(scope).await?;
        if !self.has_spilled.load(Relaxed) {
            let parts: Vec<Keyed> = locals.into_iter().flatten().collect();
            let (jobs, filters) = self.filters(&parts)?;
            let row_count: usize = parts.iter().map(|(rows, _)| rows.num_rows()).sum();
            let parallelism = match row_count < SHARED_ROWS_MIN {
                true => Parallelism::One,
                false => Parallelism::AllWorkers { run, scope, space: &self.space },
            };
            let table = table_of(&self.rules, parts, &parallelism, jobs).await?;
            let probe = Probe::new(&self.rules, table, &self.facts, &self.space.memory);
            return Ok(Built::Table(Arc::new(Probe { filters: filters.take(), ..probe })));
        }
        for local in locals {
            go_on(scope).await?;
            self.write(local).await?;
        }
        let blocks = self.spilled.finish(&self.space).await?;
        let filters = self.filters_of_spilled(&blocks, scope).await?;
        let (rules, facts) = (Arc::clone(&self.rules), Arc::clone(&self.facts));
        let join = SpilledJoin::new(rules, facts, self.space.clone(), blocks, filters);
        Ok(Built::Spilled(Arc::new(join)))
    }

    /// The jobs that make filters of keys, and what they make.
    fn filters(&self, parts: &[Keyed]) -> SqlResult<(Vec<Job>, Results<Filter>)> {
        let keys = locked(&self.keys).clone();
        let filters = Results::of(keys.len());
        let mut jobs: Vec<Job> = vec![];
        for (i, (at, _)) in keys.into_iter().enumerate() {
            let key = &self.rules.build_keys[at];
            let columns = parts.iter().map(|(rows, _)| key.evaluate(rows));
            let columns = columns.collect::<SqlResult<Vec<_>>>()?;
            let (ty, memory) = (key.data_type().clone(), Arc::clone(&self.space.memory));
            let slot = filters.slot(i);
            jobs.push(Box::new(move || {
                Box::pin(async move {
                    let takes_bytes = |bytes| memory.try_grow(bytes);
                    let filter = JoinFilter::of(&ty, &columns, takes_bytes).await;
                    slot.put((at, Arc::new(filter)));
                    Ok(())
                })
            }));
        }
        Ok((jobs, filters))
    }

    /// The filters of rows on disk, which are read once more for them: each probe row without a partner
    /// would be written and read.
    async fn filters_of_spilled(&self, blocks: &Blocks, scope: &Scope) -> SqlResult<Vec<Filter>> {
        let key_of = |at: usize| &self.rules.build_keys[at];
        // Three quarters of what is free stay for the pairs that are joined.
        let takes_bytes = |bytes: usize| {
            let is_little = self.space.memory.try_grow(FREE_PART * bytes);
            if is_little {
                self.space.memory.shrink((FREE_PART - 1) * bytes);
            }
            is_little
        };
        let keys = locked(&self.keys).clone();
        let made = keys.iter().map(|(at, bounds)| {
            (*at, JoinFilter::between(key_of(*at).data_type(), bounds, takes_bytes))
        });
        let mut filters: Vec<(usize, JoinFilter)> = made.collect();
        if filters.iter().any(|(_, filter)| !filter.has_only_bounds()) {
            let mut reads = self.space.reads(blocks.iter().flatten().copied().collect());
            while let Some(rows) = reads.next().await? {
                go_on(scope).await?;
                for (at, filter) in &mut filters {
                    filter.insert(&key_of(*at).evaluate(&rows)?);
                }
            }
        }
        Ok(filters.into_iter().map(|(at, filter)| (at, Arc::new(filter))).collect())
    }

    /// Writes rows to the partitions of their keys.
    async fn write(&self, local: Vec<Keyed>) -> SqlResult<()> {
        self.has_spilled.store(true, Relaxed);
        // From here on the partitions count them.
        self.space.memory.shrink(local.iter().map(|(rows, keys)| table_bytes(rows, keys)).sum());
        let (mut rows, mut hashes) = (Vec::new(), Vec::new());
        for (batch, keys) in local {
            rows.push(batch);
            hashes.extend(keys.hashes);
            // So many rows make about a batch in each partition.
            if hashes.len() >= PARTITION_COUNT * self.space.batch_rows {
                self.write_some(&mut rows, &mut hashes).await?;
            }
        }
        self.write_some(&mut rows, &mut hashes).await
    }

    async fn write_some(
        &self,
        rows: &mut Vec<RecordBatch>,
        hashes: &mut Vec<u64>,
    ) -> SqlResult<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let all = batch::concat_owned(&self.rules.build_schema, std::mem::take(rows))?;
        for (at, bounds) in &mut *locked(&self.keys) {
            bounds.add(&self.rules.build_keys[*at].evaluate(&all)?);
        }
        self.spilled.add(&all, &std::mem::take(hashes), &self.space).await
    }
}

impl Sink for BuildSink {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<Option<RecordBatch>> {
        let keys = self.rules.encode(&self.rules.build_keys, &rows)?;
        let rows = batch::compact(rows);
        let bytes = table_bytes(&rows, &keys);
        let mut local = self.locals.of(worker);
        if !self.space.memory.try_grow(bytes) {
            if !local.is_empty() {
                return self.space.refuse(rows, bytes);
            }
            self.space.grow_least(bytes)?;
        }
        self.facts.saw_build(&keys);
        local.push((rows, keys));
        Ok(None)
    }

    fn relieve<'a>(&'a self, worker: usize) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            let Some(_turn) = self.turns.take(worker).await else { return Ok(()) };
            let local = std::mem::take(&mut *self.locals.of(worker));
            self.write(local).await
        })
    }
}
