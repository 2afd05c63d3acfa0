//! The build side of a hash join: rows and their keys, per worker, made one table at the end; or
//! spilled by partitions of the keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use arrow_array::RecordBatch;
use types::SqlResult;

use super::spilled::SpilledJoin;
use super::{Facts, JoinRules, Probe};
use crate::batch;
use crate::footprint::batch_bytes;
use crate::join_table::{CHAIN_BYTES, JoinTable};
use crate::keys::KeyBatch;
use crate::partition::{PARTITION_COUNT, Partitioner};
use crate::scope::Scope;
use crate::sink::{Locals, Sink};
use crate::source::LocalFuture;
use crate::stage::{breathe, go_on};
use crate::workspace::{Turns, Workspace};

/// Build rows chained between two looks at the clock.
const LINK_ROWS: usize = 16_384;

/// Build rows with their keys.
pub(super) type Keyed = (RecordBatch, KeyBatch);

/// Collects the build side.
pub(crate) struct BuildSink {
    rules: Arc<JoinRules>,
    space: Workspace,
    locals: Locals<Local>,
    turns: Turns,
    spilled: Partitioner,
    has_spilled: AtomicBool,
    facts: Arc<Facts>,
}

#[derive(Default)]
struct Local {
    rows: Vec<Keyed>,
    /// Their bytes as they are counted in the reservation.
    bytes: usize,
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
    batch_bytes(rows) + keys.bytes() + rows.num_rows() * CHAIN_BYTES
}

/// The hash table of all rows.
pub(super) async fn table_of(rules: &JoinRules, parts: Vec<Keyed>) -> SqlResult<JoinTable> {
    let mut rows = Vec::with_capacity(parts.len());
    let mut all = KeyBatch { keys: rules.coder.empty(), hashes: vec![], nulls: None };
    let mut null_bits: Vec<bool> = Vec::new();
    for (batch, keys) in parts {
        let is_null = |i| keys.nulls.as_ref().is_some_and(|n| n.is_null(i));
        null_bits.extend((0..batch.num_rows()).map(|i| !is_null(i)));
        rows.push(batch);
        all.keys.append(keys.keys);
        all.hashes.extend(keys.hashes);
        breathe().await;
    }
    if null_bits.contains(&false) {
        all.nulls = Some(null_bits.into());
    }
    let rows = batch::concat_owned(&rules.build_schema, rows)?;
    let mut table = JoinTable::new(rows, all);
    while table.chain_some(LINK_ROWS, rules.nulls_match) {
        breathe().await;
    }
    Ok(table)
}

impl BuildSink {
    pub(crate) fn new(rules: Arc<JoinRules>, space: Workspace) -> BuildSink {
        BuildSink {
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
    pub(crate) async fn finish(&self, scope: &Scope) -> SqlResult<Built> {
        let locals = self.locals.take();
        go_on(scope).await?;
        if !self.has_spilled.load(Relaxed) {
            let parts = locals.into_iter().flat_map(|local| local.rows).collect();
            let table = table_of(&self.rules, parts).await?;
            let probe = Probe::new(&self.rules, table, &self.facts, &self.space.memory);
            return Ok(Built::Table(Arc::new(probe)));
        }
        for local in locals {
            go_on(scope).await?;
            self.write(local).await?;
        }
        let blocks = self.spilled.finish(&self.space).await?;
        let (rules, facts) = (Arc::clone(&self.rules), Arc::clone(&self.facts));
        let join = SpilledJoin::new(rules, facts, self.space.clone(), blocks);
        Ok(Built::Spilled(Arc::new(join)))
    }

    /// Writes rows to the partitions of their keys.
    async fn write(&self, local: Local) -> SqlResult<()> {
        self.has_spilled.store(true, Relaxed);
        // From here on the partitions count them.
        self.space.memory.shrink(local.bytes);
        let (mut rows, mut hashes) = (Vec::new(), Vec::new());
        for (batch, keys) in local.rows {
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
            if !local.rows.is_empty() {
                return self.space.refuse(rows, bytes);
            }
            self.space.grow_least(bytes)?;
        }
        self.facts.saw_build(&keys);
        local.bytes += bytes;
        local.rows.push((rows, keys));
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
