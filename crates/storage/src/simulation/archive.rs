//! Backups and an archive: after any number of power cuts they lead to each state that was acknowledged.

use std::sync::{Arc, Mutex};

use runtime::sim::{Disk, FaultPlan};
use runtime::{IoCounters, fs};
use stdx::Prng;

use super::storm::rebuild;
use super::{
    PATH, Report, Rows, State, ensure, options, options_for, random_rows, random_value, state_of,
    world,
};
use crate::archive::ArchiveOptions;
use crate::archive::restore::{RestoreProgress, Restored, Until};
use crate::error::Result;
use crate::log::redo::Redo;
use crate::restore;
use crate::store::{Store, StoreOptions};
use crate::tree_id::TreeId;

const FOLDER: &str = "/archive";
const RESTORED: &str = "/restored";

/// Lives of the machine; each but the last ends by a power cut.
const LIVES: u64 = 4;

/// Steps of a life, at most.
const STEPS_MAX: u64 = 24;

/// States that are restored from each backup.
const RESTORES: usize = 6;

/// A state that was acknowledged.
#[derive(Clone)]
struct Acknowledged {
    position: Restored,
    state: State,
    /// The life of the machine in which it was.
    life: u64,
}

/// A moment to restore, and the state of that moment; one that was on its way when the power failed
/// may be there as well.
struct Wanted {
    until: Until,
    at: usize,
    or: usize,
}

#[derive(Default)]
struct History {
    acknowledged: Vec<Acknowledged>,
    /// Backups, and how many states had been acknowledged when each was whole.
    backups: Vec<(String, usize)>,
    /// Lines that the archive has begun.
    lines: u64,
}

type SharedHistory = Arc<Mutex<History>>;

impl History {
    /// The last moment of a state.
    fn before_the_next(&self, at: usize) -> Wanted {
        let Acknowledged { position: Restored { time, .. }, life, .. } = self.acknowledged[at];
        // Where nothing has changed, several have one position.
        let is_later = |later: &&Acknowledged| later.position.time > time;
        let behind = &self.acknowledged[at..];
        let Some((next, found)) = (at..).zip(behind).find(|(_, later)| is_later(later)) else {
            return Wanted { until: Until::Time(time), at, or: at };
        };
        // The next life begins with commits that were durable and not acknowledged before the power
        // failed.
        let or = if found.life == life { at } else { next };
        Wanted { until: Until::Time(found.position.time - 1), at, or }
    }
}

fn archived(seed: u64) -> StoreOptions {
    let frames = if seed.is_multiple_of(2) { 512 } else { 48 };
    let archive = ArchiveOptions { folder: FOLDER.into(), tell: Arc::new(|_| ()) };
    StoreOptions { log: true, archive: Some(archive), ..options_for(seed, frames) }
}

/// One life.
struct Life {
    number: u64,
    store: Store,
    prng: Prng,
    trees: State,
    redo: Redo,
    /// Trees were made or dropped since the last checkpoint.
    has_others: bool,
    history: SharedHistory,
}

impl Life {
    async fn run(seed: u64, life: u64, history: SharedHistory) -> Result<()> {
        let options = archived(seed);
        let store = match life {
            0 => Store::create(PATH.as_ref(), options).await?,
            _ => Store::open(PATH.as_ref(), options).await?,
        };
        let trees = state_of(&store).await?;
        let prng = Prng::new(seed ^ life << 32);
        let (redo, has_others) = (Redo::default(), false);
        let mut this = Life { number: life, store, prng, trees, redo, has_others, history };
        this.acknowledge();
        this.note_lines();
        for _ in 0..this.prng.below(STEPS_MAX) {
            this.step().await?;
            this.note_lines();
        }
        if life + 1 == LIVES {
            this.checkpoint().await?;
            this.store.clone().close().await;
        }
        Ok(())
    }

    fn note_lines(&self) {
        // Of this life: the first begins one, no other does.
        let lines = self.store.archive_status().map_or(0, |status| status.lines);
        let mut history = self.history.lock().expect("history");
        history.lines = history.lines.max(lines);
    }

    async fn step(&mut self) -> Result<()> {
        match self.prng.below(12) {
            0..6 => {
                self.change().await?;
                self.commit().await
            }
            6 => self.load().await,
            7 => self.drop_or_rebuild().await,
            8..10 => self.checkpoint().await,
            10 => self.checkpoint_beside().await,
            _ => self.back_up().await,
        }
    }

    /// What has been done so far is durable.
    fn acknowledge(&self) {
        let (position, state) = (self.store.position(), self.trees.clone());
        let acknowledged = Acknowledged { position, state, life: self.number };
        self.history.lock().expect("history").acknowledged.push(acknowledged);
    }

    fn any_tree(&mut self) -> TreeId {
        let at = self.prng.below(self.trees.len() as u64) as usize;
        *self.trees.keys().nth(at).expect("there is the catalog")
    }

    async fn change(&mut self) -> Result<()> {
        let (id, io) = (self.any_tree(), IoCounters::default());
        let tree = self.store.tree(id)?;
        for (key, value) in random_rows(&mut self.prng, 40) {
            if !tree.replace(&key, &value, &io).await? {
                tree.insert(&key, &value).await?;
            }
            self.redo.push(id, &key, Some(&value));
            self.trees.get_mut(&id).expect("the tree is known").insert(key, value);
        }
        let rows = &self.trees[&id];
        let skip = self.prng.below(rows.len() as u64 + 1) as usize;
        let gone: Vec<_> = rows.keys().skip(skip).take(15).cloned().collect();
        for key in gone {
            tree.delete(&key, &io).await?;
            self.redo.push(id, &key, None);
            self.trees.get_mut(&id).expect("the tree is known").remove(&key);
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        if self.has_others || self.redo.is_empty() || self.redo.len() > self.store.log_room() {
            return self.checkpoint().await;
        }
        self.store.log(std::mem::take(&mut self.redo)).await?;
        self.acknowledge();
        Ok(())
    }

    async fn checkpoint(&mut self) -> Result<()> {
        if self.prng.chance(0.5) {
            self.store.flush().await?;
        }
        match self.prng.chance(0.4) {
            true => self.store.checkpoint().await?,
            false => self.store.checkpoint_without(Redo::default()).await?,
        }
        (self.redo, self.has_others) = (Redo::default(), false);
        self.acknowledge();
        Ok(())
    }

    /// A checkpoint beside a transaction that has changed entries, and is committed behind it.
    async fn checkpoint_beside(&mut self) -> Result<()> {
        if !self.redo.is_empty() || self.has_others {
            self.checkpoint().await?;
        }
        let (id, io) = (self.any_tree(), IoCounters::default());
        let (tree, mut replaced, mut redo) =
            (self.store.tree(id)?, Redo::default(), Redo::default());
        let rows = self.trees[&id].clone();
        let mut after = rows.clone();
        for (key, value) in random_rows(&mut self.prng, 10) {
            if !tree.replace(&key, &value, &io).await? {
                tree.insert(&key, &value).await?;
            }
            replaced.push(id, &key, rows.get(&key).map(Vec::as_slice));
            redo.push(id, &key, Some(&value));
            after.insert(key, value);
        }
        let turn = self.store.checkpoint_turn().await;
        let underway = self.store.begin_checkpoint(turn, replaced, Redo::default()).await?;
        self.acknowledge();
        underway.ended().await?;
        self.trees.insert(id, after);
        if !redo.is_empty() {
            self.store.log(redo).await?;
            self.acknowledge();
        }
        Ok(())
    }

    async fn load(&mut self) -> Result<()> {
        let id = self.store.create_tree().await?;
        let rows: Rows = random_rows(&mut self.prng, 500);
        let mut loader = self.store.tree(id)?.bulk_loader().await?;
        for (key, value) in &rows {
            loader.push(key, value).await?;
        }
        if self.prng.chance(0.3) {
            // Its pages are written before the checkpoint that has them.
            self.store.flush().await?;
            self.trees.insert(id, Rows::new());
            self.checkpoint().await?;
        }
        loader.finish().await?;
        self.trees.insert(id, rows);
        self.has_others = true;
        self.checkpoint().await
    }

    async fn drop_or_rebuild(&mut self) -> Result<()> {
        let id = self.any_tree();
        if id == self.store.catalog().id() {
            let key = b"the only one".to_vec();
            let value = random_value(&mut self.prng, &key);
            let tree = self.store.catalog();
            if !tree.replace(&key, &value, &IoCounters::default()).await? {
                tree.insert(&key, &value).await?;
            }
            self.redo.push(id, &key, Some(&value));
            self.trees.get_mut(&id).expect("the catalog").insert(key, value);
            return self.commit().await;
        }
        self.has_others = true;
        let rows = self.trees.remove(&id).expect("the tree is known");
        match self.prng.chance(0.5) {
            true => self.store.drop_tree(id).await?,
            false => drop(self.trees.insert(rebuild(&self.store, id).await?, rows)),
        }
        self.checkpoint().await
    }

    async fn back_up(&mut self) -> Result<()> {
        let path = {
            let history = self.history.lock().expect("history");
            format!("/backup-{}-{}", history.backups.len(), history.acknowledged.len())
        };
        self.store.back_up(path.as_ref(), Arc::new(|_| true)).await?;
        let mut history = self.history.lock().expect("history");
        let count = history.acknowledged.len();
        history.backups.push((path, count));
        Ok(())
    }
}

/// Lives of a machine with power cuts, and then each backup to some of the states.
pub(super) fn run(seed: u64) -> std::result::Result<Report, String> {
    let mut disk = Disk::new(seed);
    let mut prng = Prng::new(seed);
    let history = SharedHistory::default();
    let mut report = Report::default();
    for life in 0..LIVES {
        let is_last = life + 1 == LIVES;
        let write = 1 + prng.below(if life == 0 { 900 } else { 400 });
        if !is_last {
            disk.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() });
        }
        let shared = Arc::clone(&history);
        history.lock().expect("history").lines = 0;
        let lived = world(&disk, seed, move || Life::run(seed, life, shared));
        let lines = history.lock().expect("history").lines;
        let has_begun = !history.lock().expect("history").acknowledged.is_empty();
        if !has_begun {
            // It died before there was a database.
            return Ok(Report { crashes: 1, ..report });
        }
        ensure(lines == u64::from(life == 0), || format!("life {life} began {lines} lines"))?;
        if is_last {
            lived.map_err(|error| format!("without a power cut: {error}"))?;
        } else {
            disk = disk.crash(prng.next_u64());
            report.crashes += 1;
        }
    }
    let history = history.lock().expect("history");
    for (backup, acknowledged) in &history.backups {
        report.operations += check(&disk, seed, (backup, *acknowledged), &history, &mut prng)?;
    }
    report.trace_hash = disk.trace_hash();
    Ok(report)
}

/// Restores a backup to some states; how many.
fn check(
    disk: &Disk,
    seed: u64,
    (backup, acknowledged): (&str, usize),
    history: &History,
    prng: &mut Prng,
) -> std::result::Result<u64, String> {
    // It holds the last state of its time at least, and leads to all behind its checkpoint.
    let from = acknowledged - 1;
    let last = history.acknowledged.len() - 1;
    let mut wanted = vec![Wanted { until: Until::End, at: last, or: last }];
    for _ in 0..RESTORES {
        let at = from + prng.below((last - from + 1) as u64) as usize;
        let Restored { checkpoint, frames, time } = history.acknowledged[at].position;
        wanted.push(match prng.below(3) {
            0 => Wanted { until: Until::Commit { checkpoint, frames }, at, or: at },
            1 => Wanted { until: Until::Time(time), at, or: at },
            _ => history.before_the_next(at),
        });
    }
    let count = wanted.len() as u64;
    for Wanted { until, at, or } in wanted {
        let path = backup.to_owned();
        let found = world(disk, seed, move || async move {
            if fs::exists(RESTORED).await.is_ok_and(|exists| exists) {
                fs::remove(RESTORED).await.expect("it can be removed");
            }
            let restored = restore(
                path.as_ref(),
                FOLDER.as_ref(),
                until,
                RESTORED.as_ref(),
                &RestoreProgress::default(),
            )
            .await;
            let restored = restored.map_err(|error| format!("{error:?}"))?;
            let opened = Store::open(RESTORED.as_ref(), StoreOptions { log: true, ..options(256) });
            let store = opened.await.map_err(|error| error.to_string())?;
            store.verify().await.map_err(|error| error.to_string())?;
            let state = state_of(&store).await.map_err(|error| error.to_string())?;
            Ok::<_, String>((restored, state))
        });
        let what = || format!("{backup} to {until:?}");
        let (restored, state) = found.map_err(|error| format!("{}: {error}", what()))?;
        let Acknowledged { position, state: expected, .. } = &history.acknowledged[at];
        let is_other = state == history.acknowledged[or].state;
        ensure(state == *expected || is_other, || {
            let sizes = |state: &State| -> Vec<_> {
                state.iter().map(|(id, rows)| (id.0, rows.len())).collect()
            };
            format!(
                "{}: {restored:?} {:?} for {position:?} {:?}",
                what(),
                sizes(&state),
                sizes(expected)
            )
        })?;
    }
    Ok(count)
}
