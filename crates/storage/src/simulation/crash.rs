//! Power cuts and failing writes in the middle of loads, changes of the catalog and checkpoints:
//! afterwards the file holds the old state or the new one, whole.

use std::sync::{Arc, Mutex};

use runtime::IoCounters;
use runtime::fs::Durability;
use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;

use super::storm::rebuild;
use super::{
    GEOMETRY, PATH, Report, Rows, State, ensure, layout_of, options_for, out_of_place, random_rows,
    random_value, state_of, world,
};
use crate::error::{Result, StorageError};
use crate::log::redo::Redo;
use crate::places::Layout;
use crate::store::members::add_member;
use crate::store::{Store, StoreOptions};
use crate::tree_id::TreeId;
use crate::volume::VolumeOptions;

/// Frames of the pool: more than the workload changes, or far fewer, so that most of what changes is
/// written before the next checkpoint, old pages to the double-write buffer.
fn frames(seed: u64) -> usize {
    if (seed / 2).is_multiple_of(2) { 512 } else { 40 }
}

/// With a log or without one.
fn options_of(seed: u64) -> StoreOptions {
    let ways = [Durability::Sync, Durability::Linked, Durability::Flag];
    let log_durability = ways[(seed / 3 % 3) as usize];
    let log_durability = Some(log_durability);
    StoreOptions { log: !seed.is_multiple_of(3), log_durability, ..options_for(seed, frames(seed)) }
}

/// The same of a store that is there, which knows its members.
fn known(seed: u64) -> StoreOptions {
    let volume = VolumeOptions { geometry: GEOMETRY, ..VolumeOptions::default() };
    StoreOptions { volume, ..options_of(seed) }
}

/// Times that recovery is cut short before it is let run.
const CUT_RECOVERIES: u64 = 3;

/// The states that the workload has asked to make durable, in order, and how many of them it knows
/// to be so.
#[derive(Default)]
struct History {
    states: Vec<State>,
    acknowledged: usize,
}

type SharedHistory = Arc<Mutex<History>>;

impl History {
    /// Whether a file may hold `state` now: the last acknowledged one, or one that was on its way.
    fn allows(&self, state: &State) -> bool {
        self.states[self.acknowledged.saturating_sub(1)..].contains(state)
    }
}

/// Loads and changes trees, with checkpoints in between.
struct Workload {
    store: Store,
    prng: Prng,
    trees: State,
    history: SharedHistory,
    /// Number of the last checkpoint that the workload has made.
    checkpoint: u64,
    /// What has changed since then, or since it was logged last.
    redo: Redo,
    /// Whether trees were made or dropped since then.
    has_others: bool,
    /// Members that were to join.
    joined: u32,
}

impl Workload {
    async fn run(seed: u64, history: SharedHistory) -> Result<()> {
        let state = |trees: &[u32]| trees.iter().map(|id| (TreeId(*id), Rows::new())).collect();
        history.lock().expect("history").states.push(state(&[1]));
        let store = Store::create(PATH.as_ref(), options_of(seed)).await?;
        history.lock().expect("history").acknowledged = 1;
        let trees = state(&[1]);
        let (prng, redo) = (Prng::new(seed), Redo::default());
        let (checkpoint, has_others, joined) = (1, false, 0);
        let mut this =
            Workload { store, prng, trees, history, checkpoint, redo, has_others, joined };
        let first = this.load().await?;
        this.insert(TreeId(1), 20).await?;
        this.checkpoint().await?;
        let second = this.load().await?;
        this.insert(first, 60).await?;
        this.checkpoint().await?;
        this.insert(second, 60).await?;
        this.log().await?;
        this.change_members(second).await?;
        // The first one makes room for those behind it.
        this.checkpoint_beside(second).await?;
        this.insert(second, 40).await?;
        this.checkpoint_beside(first).await?;
        this.change(first, 30).await?;
        this.log().await?;
        this.change(second, 300).await?;
        this.change_members(second).await?;
        this.checkpoint().await?;
        let second = this.rebuild(second).await?;
        this.change(second, 50).await?;
        this.checkpoint().await?;
        this.store.drop_tree(first).await?;
        this.has_others = true;
        this.trees.remove(&first);
        this.insert(TreeId(1), 10).await?;
        this.checkpoint().await?;
        // This one finds its pages where the dropped tree has left them.
        this.load().await?;
        this.insert(second, 30).await?;
        this.checkpoint().await?;
        // Most of what is left, so that nodes are merged and their pages used again.
        this.change(second, 1000).await?;
        this.log().await?;
        this.checkpoint_beside(second).await?;
        this.checkpoint_beside(TreeId(1)).await?;
        this.insert(second, 200).await?;
        this.log().await?;
        this.change_members(second).await?;
        this.checkpoint_beside(second).await?;
        this.checkpoint().await?;
        this.insert(second, 30).await?;
        this.log().await
    }

    /// A member joins or leaves while a tree changes, if there are members.
    async fn change_members(&mut self, id: TreeId) -> Result<()> {
        let mut members = self.store.members();
        if members.is_empty() {
            return Ok(());
        }
        let (store, joins) = (self.store.clone(), members.len() == 1 || self.prng.chance(0.5));
        self.joined += u32::from(joins);
        let path = match joins {
            true => format!("{PATH}.new.{}", self.joined).into(),
            false => members.swap_remove(1).path,
        };
        let changing = runtime::spawn(async move {
            match joins {
                true => store.add_member(&path, true).await,
                false => store.remove_member(&path).await,
            }
        });
        let changed = match self.insert(id, 20).await {
            Ok(()) => self.log().await,
            failed => failed,
        };
        let joined = changing.await.unwrap_or(Err(StorageError::Stopped));
        changed.and(joined)
    }

    async fn load(&mut self) -> Result<TreeId> {
        let id = self.store.create_tree().await?;
        let rows = random_rows(&mut self.prng, 1200);
        let mut loader = self.store.tree(id)?.bulk_loader().await?;
        for (key, value) in &rows {
            loader.push(key, value).await?;
        }
        loader.finish().await?;
        self.trees.insert(id, rows);
        self.has_others = true;
        Ok(id)
    }

    async fn rebuild(&mut self, id: TreeId) -> Result<TreeId> {
        let new = rebuild(&self.store, id).await?;
        let rows = self.trees.remove(&id).expect("the tree is known");
        self.trees.insert(new, rows);
        self.has_others = true;
        Ok(new)
    }

    async fn insert(&mut self, id: TreeId, count: u64) -> Result<()> {
        let tree = self.store.tree(id)?;
        for (key, value) in random_rows(&mut self.prng, count) {
            tree.insert(&key, &value).await?;
            let rows = self.trees.get_mut(&id).expect("the tree is known");
            let value = rows.entry(key.clone()).or_insert(value);
            self.redo.push(id, &key, Some(value));
        }
        Ok(())
    }

    /// Deletes a stretch of entries and replaces every other one of the next stretch.
    async fn change(&mut self, id: TreeId, count: usize) -> Result<()> {
        let io = IoCounters::default();
        let tree = self.store.tree(id)?;
        let rows = self.trees.get_mut(&id).expect("the tree is known");
        let begin = self.prng.below(rows.len().saturating_sub(count) as u64 + 1) as usize;
        let keys: Vec<_> = rows.keys().skip(begin).take(2 * count).cloned().collect();
        for (at, key) in keys.into_iter().enumerate() {
            if at < count {
                tree.delete(&key, &io).await?;
                self.redo.push(id, &key, None);
                rows.remove(&key);
            } else if at % 2 == 0 {
                let value = random_value(&mut self.prng, &key);
                tree.replace(&key, &value, &io).await?;
                self.redo.push(id, &key, Some(&value));
                rows.insert(key, value);
            }
        }
        Ok(())
    }

    /// A state that is about to become durable; its number.
    fn announce(&self) -> usize {
        let mut history = self.history.lock().expect("history");
        history.states.push(self.trees.clone());
        history.states.len()
    }

    /// Logs what has changed, if that can be.
    async fn log(&mut self) -> Result<()> {
        let is_nothing = self.redo.is_empty();
        if self.has_others || is_nothing || self.redo.len() > self.store.log_room() {
            return Ok(());
        }
        let number = self.announce();
        self.store.log(std::mem::take(&mut self.redo)).await?;
        self.history.lock().expect("history").acknowledged = number;
        Ok(())
    }

    /// A checkpoint beside a transaction that has changed a tree, and is committed behind its point, and others
    /// that follow.
    async fn checkpoint_beside(&mut self, id: TreeId) -> Result<()> {
        if self.has_others {
            return self.checkpoint().await;
        }
        if self.prng.chance(0.5) {
            self.log().await?;
        }
        let number = self.announce();
        let (replaced, redo, after) = self.change_in_flight(id).await?;
        if self.prng.chance(0.5) {
            self.store.flush().await?;
        }
        let turn = self.store.checkpoint_turn().await;
        self.store.prepare_checkpoint(&turn).await?;
        let changes = std::mem::take(&mut self.redo);
        let underway = self.store.begin_checkpoint(turn, replaced, changes).await?;
        self.history.lock().expect("history").acknowledged = number;
        self.trees.insert(id, after);
        self.redo = redo;
        for count in [0, 10, 40] {
            self.insert(id, count).await?;
            self.log().await?;
        }
        underway.ended().await?;
        self.checkpoint = self.store.checkpoint_number();
        Ok(())
    }

    /// Changes a tree: what was there before, the changes, and all that the tree has then.
    async fn change_in_flight(&mut self, id: TreeId) -> Result<(Redo, Redo, Rows)> {
        let (tree, io) = (self.store.tree(id)?, IoCounters::default());
        let (mut replaced, mut redo) = (Redo::default(), Redo::default());
        let rows = &self.trees[&id];
        let mut after = rows.clone();
        // Without a log nobody is in flight while a checkpoint is made.
        let count = if self.store.log_usage().1 > 0 { 10 } else { 0 };
        for (key, value) in random_rows(&mut self.prng, count) {
            if !tree.replace(&key, &value, &io).await? {
                tree.insert(&key, &value).await?;
            }
            replaced.push(id, &key, rows.get(&key).map(Vec::as_slice));
            redo.push(id, &key, Some(&value));
            after.insert(key, value);
        }
        Ok((replaced, redo, after))
    }

    async fn checkpoint(&mut self) -> Result<()> {
        let number = self.announce();
        assert_eq!(self.store.checkpoint_number(), self.checkpoint, "an unplanned checkpoint");
        if self.prng.chance(0.5) {
            self.store.flush().await?;
        }
        match self.prng.chance(0.3) {
            true => self.store.checkpoint().await?,
            // What follows comes while it settles.
            false => self.store.checkpoint_without(Redo::default()).await?,
        }
        self.checkpoint = self.store.checkpoint_number();
        (self.redo, self.has_others) = (Redo::default(), false);
        self.history.lock().expect("history").acknowledged = number;
        Ok(())
    }
}

/// Runs the workload on a disk with this fault plan; returns the disk, the history and the
/// workload's own end.
fn play(seed: u64, plan: FaultPlan) -> (Disk, SharedHistory, Result<()>) {
    let disk = Disk::new(seed);
    disk.faults(plan);
    let history = SharedHistory::default();
    let shared = Arc::clone(&history);
    let outcome = world(&disk, seed, move || Workload::run(seed, shared));
    (disk, history, outcome)
}

/// Opens the file, checks the store as a whole, and makes sure that it takes a new change; how many commits were
/// behind the point of a checkpoint without a header. `None`: there is no database.
fn recover(disk: &Disk, seed: u64) -> Result<Option<(State, u64)>> {
    world(disk, seed, move || async move {
        let store = match Store::open(PATH.as_ref(), known(seed)).await {
            Err(StorageError::NotADatabase | StorageError::Io { .. }) => return Ok(None),
            store => store?,
        };
        store.verify().await?;
        let state = state_of(&store).await?;
        store.catalog().insert(b"after the crash", b"").await?;
        store.checkpoint().await?;
        store.verify().await?;
        Ok(Some((state, store.recovered_behind())))
    })
}

/// Opens the file and lets the power fail again on the way, if anything is written there; whether it did.
fn cut_recovery(disk: &Disk, seed: u64, prng: &mut Prng) -> (Disk, bool) {
    let open = |disk: &Disk| {
        world(disk, seed, move || async move {
            drop(Store::open(PATH.as_ref(), known(seed)).await);
        });
    };
    // Nothing of it is unsynced, so this is the same disk.
    let whole = disk.crash(seed);
    open(&whole);
    let write = 1 + prng.below(whole.write_count().max(1));
    disk.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::short_and_late() });
    open(disk);
    (disk.crash(prng.next_u64()), disk.is_crashed())
}

/// Checks what is left after a power cut: one of the allowed states, and the same one if recovery
/// is cut short as well.
fn check_after_crash(
    disk: &Disk,
    history: &History,
    seed: u64,
) -> std::result::Result<Report, String> {
    let mut prng = Prng::new(seed);
    let direct = recover(&disk.crash(seed), seed).map_err(|error| format!("recovery: {error}"))?;
    match &direct {
        None => ensure(history.acknowledged == 0, || "the database is gone".to_owned())?,
        Some((state, _)) => ensure(history.allows(state), || {
            let known: Vec<_> = history.states.iter().map(sizes).collect();
            format!("{:?} after {} of {known:?}", sizes(state), history.acknowledged)
        })?,
    }
    let mut again = disk.crash(seed);
    let mut cuts = 0;
    for _ in 0..CUT_RECOVERIES {
        let (left, is_cut) = cut_recovery(&again, seed, &mut prng);
        (again, cuts) = (left, cuts + u64::from(is_cut));
    }
    let later = recover(&again, seed).map_err(|error| format!("recovery after cuts: {error}"))?;
    let behind = direct.as_ref().map_or(0, |(_, behind)| *behind);
    let state = |found: Option<(State, u64)>| found.map(|(state, _)| state);
    let (later, direct) = (state(later), state(direct));
    ensure(later == direct, || "recovery that was cut short ends in another state".to_owned())?;
    let chains = u64::from(cuts == CUT_RECOVERIES);
    if let Some(expected) = direct {
        check_joining(disk, &expected, seed)?;
        if layout_of(seed) == Layout::InPlace {
            check_conversion(disk, &expected, seed)?;
            cuts += 1;
        }
    }
    Ok(Report { crashes: 2 + cuts, chains, behind, ..Report::default() })
}

/// Checks that the file is converted to the other layout as it is, also when that is cut short.
fn check_conversion(disk: &Disk, expected: &State, seed: u64) -> std::result::Result<(), String> {
    let whole = disk.crash(seed);
    convert(&whole, seed).map_err(|error| format!("conversion: {error}"))?;
    let mut prng = Prng::new(!seed);
    let write = 1 + prng.below(whole.write_count());
    let cut = disk.crash(seed);
    cut.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::short_and_late() });
    drop(convert(&cut, seed));
    let again = cut.crash(prng.next_u64());
    drop(convert(&again, seed));
    for (disk, how) in [(whole, "at once"), (cut.crash(prng.next_u64()), "cut"), (again, "twice")] {
        let found = recover(&disk, seed).map_err(|error| format!("converted {how}: {error}"))?;
        ensure(found.is_some_and(|(state, _)| state == *expected), || {
            format!("conversion ends in another state ({how}, write {write})")
        })?;
    }
    Ok(())
}

fn convert(disk: &Disk, seed: u64) -> Result<()> {
    let options = StoreOptions { layout: out_of_place(seed), ..known(seed) };
    world(disk, seed, move || Store::convert(PATH.as_ref(), options))
}

/// Checks that a member joins the database while nobody has it open, whose file becomes the first
/// one if it has none, also when that is cut short.
fn check_joining(disk: &Disk, expected: &State, seed: u64) -> std::result::Result<(), String> {
    let whole = disk.crash(seed);
    join(&whole, seed).map_err(|error| format!("joining: {error}"))?;
    let mut prng = Prng::new(seed.rotate_left(32));
    let write = 1 + prng.below(whole.write_count());
    let cut = disk.crash(seed);
    cut.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::short_and_late() });
    drop(join(&cut, seed));
    for (disk, how) in [(whole, "at once"), (cut.crash(prng.next_u64()), "cut")] {
        let found = recover(&disk, seed).map_err(|error| format!("joined {how}: {error}"))?;
        ensure(found.is_some_and(|(state, _)| state == *expected), || {
            format!("joining ends in another state ({how}, write {write})")
        })?;
    }
    Ok(())
}

fn join(disk: &Disk, seed: u64) -> Result<()> {
    let mut options = known(seed);
    options.volume.format = true;
    world(disk, seed, move || async move {
        add_member(PATH.as_ref(), &options, format!("{PATH}.last").as_ref()).await
    })
}

fn sizes(state: &State) -> Vec<(u32, usize)> {
    state.iter().map(|(id, rows)| (id.0, rows.len())).collect()
}

/// One power cut at a write that the seed chooses.
pub(super) fn run_once(seed: u64) -> std::result::Result<Report, String> {
    let (whole, _, outcome) = play(seed, FaultPlan::default());
    outcome.map_err(|error| format!("without a crash: {error}"))?;
    let write = 1 + Prng::new(seed).below(whole.write_count());
    crash_at(seed, write)
}

fn crash_at(seed: u64, write: u64) -> std::result::Result<Report, String> {
    let plan = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
    let (disk, history, _) = play(seed, plan);
    let history = history.lock().expect("history");
    let report = check_after_crash(&disk, &history, seed ^ write << 20);
    let report = report.map_err(|what| format!("power cut at write {write}: {what}"))?;
    Ok(Report { trace_hash: disk.trace_hash(), ..report })
}

/// A power cut at each write.
pub(super) fn run_everywhere(seed: u64) -> std::result::Result<Report, String> {
    let (whole, _, outcome) = play(seed, FaultPlan::default());
    outcome.map_err(|error| format!("without a crash: {error}"))?;
    let mut report = Report { seeds: 1, ..Report::default() };
    for write in 1..=whole.write_count() {
        report += crash_at(seed, write)?;
    }
    Ok(report)
}

/// Writes and syncs that fail: the store refuses to go on, and a power cut finds an allowed state.
pub(super) fn run_with_failures(seed: u64) -> std::result::Result<Report, String> {
    let failing = 0.02;
    let plan = FaultPlan { write_error: failing, sync_error: failing, ..FaultPlan::default() };
    let (disk, history, outcome) = play(seed, plan);
    let history = history.lock().expect("history");
    let report = check_after_crash(&disk, &history, seed)?;
    let failed_writes = u64::from(outcome.is_err());
    Ok(Report { failed_writes, trace_hash: disk.trace_hash(), ..report })
}
