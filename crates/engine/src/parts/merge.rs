//! The jobs that merge tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use plan::catalog::TableId;
use runtime::sync::{Cancel, WaitQueue};
use runtime::time;
use storage::{Store, TreeId};
use txn::locks::table::WriteRight;
use txn::undo::records::RECORD_BYTES_MAX;
use txn::waiting::{give_way, unless_cancelled};
use types::{LogicalType, SqlError, SqlResult};

use super::bounds::{Bounds, Due, Looked};
use super::delta::{Extent, Run, RunRows};
use super::hollow::Hollow;
use super::load::{ColumnLoad, Loading};
use super::replace::{Merged, Source};
use super::status::MergeStatus;
use super::stop::Stop;
use crate::activity::merges::{MergeEnded, MergesTold};
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::trees::drop_trees;
use crate::columns::rows::ChunkRows;
use crate::columns::stored::StoredPart;
use crate::database::Job;
use crate::versions::chain::Versions;

/// How often a merge is tried that finds others in its way, before it is left to the next commit.
pub(crate) const ATTEMPTS: u32 = 8;

/// How long the second attempt waits; each one after that twice as long as the one before.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// The part of the newest rows that stays in the delta (see [`Extent::newest`]).
pub(crate) const NEWEST: u64 = 64;

/// The part of a delta that is worth a part of its own.
pub(crate) const RUN: u64 = 8;

/// Rows that become one part, at most.
pub(crate) const RUN_ROWS_MAX: usize = 1 << 20;

/// Bytes of undo records that its snapshot keeps, at most: a quarter of what there is room for.
pub(crate) const KEPT_BYTES_MAX: usize = RECORD_BYTES_MAX / 4;

/// Bytes of a row id in memory.
pub(crate) const ID_BYTES: usize = 8;

/// Merges the column tables of a database.
pub(crate) struct Merges {
    pub(crate) store: Store,
    pub(crate) versions: Arc<Versions>,
    /// The memory of a load.
    memory_bytes: usize,
    told: Arc<MergesTold>,
    pub(crate) cancel: Cancel,
    state: Mutex<State>,
    stopped: WaitQueue,
    counts: Counts,
}

#[derive(Default)]
pub(crate) struct State {
    waiting: BTreeSet<TableId>,
    /// The task merges one, or looks for the next.
    is_running: bool,
    /// Those of the last look.
    bounds: Option<Bounds>,
    looked: BTreeMap<TableId, Looked>,
    last_failure: Option<String>,
}

#[derive(Default)]
pub(crate) struct Counts {
    deltas: AtomicU64,
    parts: AtomicU64,
    rows: AtomicU64,
    put_off: AtomicU64,
    failures: AtomicU64,
}

/// What an attempt has come to.
pub(crate) enum Outcome {
    Merged,
    /// Others are in the way.
    PutOff,
    /// There is nothing that could be merged.
    Nothing,
}

impl Merges {
    /// Merges of a database whose loads may hold so much memory.
    pub(crate) fn new(
        store: Store,
        versions: Arc<Versions>,
        memory_bytes: usize,
        told: Arc<MergesTold>,
    ) -> Merges {
        Merges {
            store,
            versions,
            memory_bytes,
            told,
            cancel: Cancel::default(),
            state: Mutex::default(),
            stopped: WaitQueue::new(),
            counts: Counts::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has those of the tables merged for which it is time; in a task.
    pub(crate) fn look(self: &Arc<Merges>, bounds: Bounds, tables: &BTreeSet<TableId>) {
        // What is going on goes by them, too.
        self.state().bounds = Some(bounds);
        if bounds.are_off() || self.cancel.is_cancelled() {
            return;
        }
        let is_due = |table: &&TableId| self.due(**table).is_some();
        let due: Vec<TableId> = tables.iter().filter(is_due).copied().collect();
        if due.is_empty() {
            return;
        }
        let mut state = self.state();
        state.waiting.extend(due);
        if !std::mem::replace(&mut state.is_running, true) {
            let merges = self.clone();
            drop(runtime::spawn(async move { merges.run().await }));
        }
    }

    /// Ends what is going on; nothing begins from now on.
    pub(crate) async fn stop(&self) {
        self.cancel.cancel();
        self.stopped.wait(|| (!self.state().is_running).then_some(())).await;
    }

    /// What was done, and what is.
    pub(crate) fn status(&self) -> MergeStatus {
        let (state, counts) = (self.state(), &self.counts);
        MergeStatus {
            table: self.told.table(),
            deltas: counts.deltas.load(Relaxed),
            parts: counts.parts.load(Relaxed),
            rows: counts.rows.load(Relaxed),
            put_off: counts.put_off.load(Relaxed),
            failures: counts.failures.load(Relaxed),
            last_failure: state.last_failure.clone(),
        }
    }

    fn due(&self, table: TableId) -> Option<(Due, Bounds)> {
        let (bounds, looked) = {
            let state = self.state();
            (state.bounds?, state.looked.get(&table).copied().unwrap_or_default())
        };
        let due = bounds.due(self.versions.visible().table_by_id(table)?, looked)?;
        Some((due, bounds))
    }

    async fn run(self: Arc<Merges>) {
        while let Some(table) = self.next() {
            let (merges, before, began) = (self.clone(), self.status(), time::now());
            let work = async move { merges.merge(table).await };
            let merged = runtime::spawn(work).await.unwrap_or_else(|aborted| {
                Err(SqlError::internal(format!("a merge failed: {aborted}")))
            });
            if let Err(error) = merged
                && !self.cancel.is_cancelled()
            {
                // It might fail with every commit.
                for due in [Due::Delta, Due::Part] {
                    self.note(table, |looked, now| looked.in_vain(now, due));
                }
                self.counts.failures.fetch_add(1, Relaxed);
                self.state().last_failure = Some(error.to_string());
            }
            self.tell(&before, began.elapsed());
        }
    }

    fn tell(&self, before: &MergeStatus, took: Duration) {
        let now = self.status();
        let has_failed = now.failures > before.failures;
        let ended = MergeEnded {
            table: before.table.clone().unwrap_or_default(),
            deltas: now.deltas - before.deltas,
            parts: now.parts - before.parts,
            rows: now.rows - before.rows,
            took,
            failure: now.last_failure.filter(|_| has_failed),
        };
        if ended.deltas + ended.parts > 0 || has_failed {
            self.told.tell(&ended);
        }
    }

    /// The next table; the task ends without one.
    fn next(&self) -> Option<TableId> {
        let mut state = self.state();
        if self.cancel.is_cancelled() {
            state.waiting.clear();
        }
        let next = state.waiting.pop_first();
        state.is_running = next.is_some();
        let name = |table| Some(self.versions.visible().table_by_id(table)?.def.name.clone());
        self.told.set_table(next.and_then(name));
        drop(state);
        if next.is_none() {
            self.stopped.wake_all();
        }
        next
    }

    /// Merges a table until there is nothing to be merged in it.
    ///
    /// # Errors
    /// Those of storage; 57014 when it is wanted no longer.
    async fn merge(&self, table: TableId) -> SqlResult<()> {
        let (mut attempt, mut pause) = (0, PAUSE);
        while let Some((due, bounds)) = self.due(table) {
            match Box::pin(self.attempt(table, due, bounds)).await? {
                Outcome::Merged => {
                    (attempt, pause) = (0, PAUSE);
                    self.note(table, |looked, _| looked.shrunk(due));
                }
                Outcome::Nothing => self.note(table, |looked, now| looked.in_vain(now, due)),
                Outcome::PutOff => {
                    self.counts.put_off.fetch_add(1, Relaxed);
                    attempt += 1;
                    if attempt == ATTEMPTS {
                        return Ok(());
                    }
                    unless_cancelled(&self.cancel, time::sleep(pause)).await?;
                    pause *= 2;
                }
            }
        }
        Ok(())
    }

    fn note(&self, table: TableId, change: impl Fn(Looked, &TableEntry) -> Looked) {
        let visible = self.versions.visible();
        let (mut state, now) = (self.state(), visible.table_by_id(table));
        state.looked.retain(|table, _| visible.table_by_id(*table).is_some());
        if let Some(now) = now {
            let looked = state.looked.entry(table).or_default();
            *looked = change(*looked, now);
        }
    }

    async fn attempt(&self, table: TableId, due: Due, bounds: Bounds) -> SqlResult<Outcome> {
        if !self.versions.keepers().is_empty() {
            return Ok(Outcome::PutOff);
        }
        let Some(right) = self.versions.locks().try_share() else { return Ok(Outcome::PutOff) };
        let seen = self.versions.visible();
        let Some(entry) = seen.table_by_id(table).cloned() else { return Ok(Outcome::Nothing) };
        // Who has some of the table now will have it at the end, too, as a rule.
        if !self.lock(&entry, &right).await? {
            return Ok(Outcome::PutOff);
        }
        right.let_go();
        let begun = Begun { merges: self, right: &right, seen, entry };
        let merged = match due {
            Due::Delta => begun.delta(bounds).await,
            Due::Part => begun.part(bounds).await,
        };
        let merged = match merged {
            Ok(Some(merged)) => merged,
            Ok(None) => return Ok(Outcome::Nothing),
            Err(Stop::PutOff) => return Ok(Outcome::PutOff),
            Err(Stop::Failed(error)) => return Err(error),
        };
        let rows = merged.part.as_ref().map_or(0, |part| part.rows);
        match self.replace(merged, &right).await.map_err(Stop::from) {
            Ok(true) => {}
            Ok(false) | Err(Stop::PutOff) => return Ok(Outcome::PutOff),
            Err(Stop::Failed(error)) => return Err(error),
        }
        let count = if due == Due::Delta { &self.counts.deltas } else { &self.counts.parts };
        count.fetch_add(1, Relaxed);
        self.counts.rows.fetch_add(rows, Relaxed);
        Ok(Outcome::Merged)
    }
}

/// A merge that makes its part.
pub(crate) struct Begun<'a> {
    merges: &'a Merges,
    right: &'a WriteRight,
    seen: Arc<Snapshot>,
    entry: Arc<TableEntry>,
}

impl Begun<'_> {
    /// A part of rows of the delta.
    async fn delta(self, bounds: Bounds) -> Result<Option<Merged>, Stop> {
        let rows = self.entry.tree.stats().entries;
        let extent = Extent {
            rows_min: (rows / RUN) as usize,
            rows_max: (self.merges.memory_bytes / 4 / ID_BYTES).min(RUN_ROWS_MAX),
            newest: (bounds.rows.min(rows * RUN) / NEWEST) as i64,
        };
        let found = Run::find(&self.seen, &self.entry, &extent, || self.goes_on()).await?;
        let Some(run) = found else { return Ok(None) };
        let load = self.load(run.first_row);
        let (snapshot, entry, run_of) = (&self.seen, &self.entry, &run);
        let mut rows = RunRows { snapshot, entry, run: run_of, last: None, is_over: false };
        let part = self.filled(load, async || rows.next().await).await?;
        if part.as_ref().is_none_or(|part| part.rows != run.len()) {
            let made: Vec<TreeId> = part.iter().map(StoredPart::tree_id).collect();
            drop_trees(&self.merges.store, &made).await?;
            return Err(Stop::Failed(SqlError::internal("a part has other rows than its run")));
        }
        Ok(Some(Merged { source: Source::Delta(run), part, seen: self.seen, entry: self.entry }))
    }

    /// A part without its deleted rows.
    async fn part(self, bounds: Bounds) -> Result<Option<Merged>, Stop> {
        let limits = (bounds, self.merges.memory_bytes / 2);
        let found = Hollow::find(&self.seen, &self.entry, limits, || self.goes_on()).await?;
        let (Some(hollow), Some(columns)) = (found, &self.entry.columns) else { return Ok(None) };
        let part = match hollow.is_empty() {
            true => None,
            false => {
                let load = self.load(hollow.part.first_row);
                let mut rows =
                    ChunkRows::seen(&self.seen, &self.entry, columns, hollow.part.clone());
                self.filled(load, async || rows.next().await).await?
            }
        };
        let source = Source::Part(hollow);
        Ok(Some(Merged { source, part, seen: self.seen, entry: self.entry }))
    }

    fn goes_on(&self) -> Result<(), Stop> {
        if self.merges.cancel.is_cancelled() {
            return Err(Stop::Failed(SqlError::cancelled()));
        }
        // Nobody is to lose records for work that nobody has asked for.
        let is_dear = self.seen.read_view.keeps_more_than(KEPT_BYTES_MAX);
        match self.right.is_in_the_way() || is_dear {
            true => Err(Stop::PutOff),
            false => Ok(()),
        }
    }

    fn load(&self, first_row: i64) -> ColumnLoad {
        let types: Vec<LogicalType> =
            self.entry.def.schema.columns.iter().map(|column| column.ty).collect();
        let loading = Loading {
            store: self.merges.store.clone(),
            job: Arc::new(Job::default()),
            memory_bytes: self.merges.memory_bytes / 2,
        };
        ColumnLoad::begin(loading, types, first_row, None, self.merges.cancel.clone())
    }

    /// The part of some rows. On an error no tree stays.
    async fn filled(
        &self,
        mut load: ColumnLoad,
        mut next: impl AsyncFnMut() -> SqlResult<Option<RecordBatch>>,
    ) -> Result<Option<StoredPart>, Stop> {
        while let Some(rows) = next().await? {
            self.goes_on()?;
            give_way(&self.merges.cancel).await?;
            load.push(&rows).await?;
        }
        Ok(load.finish().await?)
    }
}
