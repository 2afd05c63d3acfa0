//! Random operations on a store with a tiny pool, compared with sorted maps.

use std::io::ErrorKind;
use std::ops::Bound;

use runtime::IoCounters;
use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;

use super::{
    PATH, Report, Rows, State, ensure, ensure_quiet, options_for, random_key, random_rows,
    random_value, state_of, storm, world,
};
use crate::error::StorageError;
use crate::log::redo::Redo;
use crate::store::{Store, StoreOptions};
use crate::tree::change::Inserted;
use crate::tree::cursor::Direction;
use crate::tree::part::RangePart;
use crate::tree::{Depth, Tree};
use crate::tree_id::TreeId;

/// Operations of one run.
const STEP_COUNT: u32 = 60;

/// Times an operation is repeated that failed for an injected read error.
const PATIENCE: u32 = 50;

pub(super) fn run(seed: u64) -> Result<Report, String> {
    let disk = Disk::new(seed);
    let inside = disk.clone();
    let mut report = world(&disk, seed, move || async move {
        let mut prng = Prng::new(seed);
        let frames = [32, 40, 64, 100][prng.below(4) as usize];
        let store = Store::create(PATH.as_ref(), options_for(seed, frames)).await;
        let store = store.map_err(|error| format!("create: {error}"))?;
        let read_error = if prng.chance(0.5) { 0.01 } else { 0.0 };
        inside.faults(FaultPlan { read_error, ..FaultPlan::short_and_late() });
        let (trees, checkpoints) = (state_of_new(&store), store.checkpoint_number());
        let mut mixed = Mixed {
            prng,
            options: options_for(seed, frames),
            opened: Some(store),
            committed: trees.clone(),
            trees,
            report: Report::default(),
            checkpoints,
            held: None,
        };
        for step in 0..STEP_COUNT {
            mixed.step().await.map_err(|what| format!("step {step}: {what}"))?;
            mixed.ensure_no_checkpoint()?;
        }
        mixed.compare_all().await?;
        mixed.settle().await?;
        Ok::<_, String>(mixed.report)
    })?;
    report.trace_hash = disk.trace_hash();
    Ok(report)
}

fn state_of_new(store: &Store) -> State {
    store.tree_ids().into_iter().map(|id| (id, Rows::new())).collect()
}

/// The run's state: the store, and what it should hold.
pub(super) struct Mixed {
    pub prng: Prng,
    options: StoreOptions,
    /// `None` only while it is being opened again.
    opened: Option<Store>,
    /// What the store holds now.
    pub trees: State,
    /// What it held at its last checkpoint.
    pub committed: State,
    pub report: Report,
    /// Number of the last checkpoint that was asked for.
    checkpoints: u64,
    /// A search that was begun and left lying, while pages come and go.
    held: Option<Held>,
}

/// The parts of a search for all keys between two bounds.
struct Held {
    tree: Tree,
    lo: Bound<Vec<u8>>,
    hi: Bound<Vec<u8>>,
    parts: Vec<RangePart>,
}

/// Repeats an operation while it fails for a read error, which is injected and passes.
macro_rules! patiently {
    ($operation:expr) => {{
        let mut attempts = 0;
        loop {
            attempts += 1;
            match $operation.await {
                Err(StorageError::Io { .. }) if attempts < PATIENCE => {}
                outcome => break outcome.map_err(|error| error.to_string()),
            }
        }
    }};
}

impl Mixed {
    async fn step(&mut self) -> Result<(), String> {
        self.report.operations += 1;
        match self.prng.below(100) {
            0..15 => self.insert_some().await,
            15..25 => self.change_some().await,
            25..45 => self.look_up().await,
            45..55 => self.search_ranges().await,
            55..60 => self.expand().await,
            60..63 if self.held.is_some() => self.finish_search().await,
            60..63 => self.begin_search().await,
            63..70 => self.follow_cursor().await,
            70..76 => self.load_tree().await,
            76..79 => self.drop_tree().await,
            79..84 => self.checkpoint().await,
            84..87 => {
                self.store().drop_cache().await;
                Ok(())
            }
            87..91 => self.reopen().await,
            91..94 => self.verify().await,
            _ => storm::run(self).await,
        }
    }

    pub fn store(&self) -> &Store {
        self.opened.as_ref().expect("the store is open")
    }

    pub fn any_tree(&mut self) -> TreeId {
        let at = self.prng.below(self.trees.len() as u64) as usize;
        *self.trees.keys().nth(at).expect("there is always the catalog")
    }

    pub fn handle(&self, id: TreeId) -> Result<Tree, String> {
        self.store().tree(id).map_err(|error| error.to_string())
    }

    async fn insert_some(&mut self) -> Result<(), String> {
        let id = self.any_tree();
        let tree = self.handle(id)?;
        for _ in 0..1 + self.prng.below(40) {
            let key = random_key(&mut self.prng);
            let value = random_value(&mut self.prng, &key);
            let inserted = patiently!(tree.insert(&key, &value))?;
            let rows = self.trees.get_mut(&id).expect("the tree is in the model");
            let expected = match rows.contains_key(&key) {
                true => Inserted::Duplicate,
                false => Inserted::New,
            };
            ensure(inserted == expected, || format!("insert {key:?} into {id}: {inserted:?}"))?;
            rows.entry(key).or_insert(value);
        }
        Ok(())
    }

    /// Replaces and deletes: here and there, or all keys of a stretch.
    async fn change_some(&mut self) -> Result<(), String> {
        let io = IoCounters::default();
        let id = self.any_tree();
        let tree = self.handle(id)?;
        let deletes = self.prng.chance(0.6);
        let keys: Vec<Vec<u8>> = match self.prng.chance(0.4) {
            true => {
                let (lo, hi) = (self.bound(id), self.bound(id));
                self.slice(id, &lo, &hi).into_iter().map(|(key, _)| key).collect()
            }
            false => (0..1 + self.prng.below(60)).map(|_| self.some_key(id)).collect(),
        };
        for key in keys {
            let value = random_value(&mut self.prng, &key);
            let found = match deletes {
                true => patiently!(tree.delete(&key, &io))?,
                false => patiently!(tree.replace(&key, &value, &io))?,
            };
            let rows = self.trees.get_mut(&id).expect("the tree is in the model");
            ensure(found == rows.contains_key(&key), || format!("change of {key:?} in {id}"))?;
            if deletes {
                rows.remove(&key);
            } else if found {
                rows.insert(key, value);
            }
        }
        Ok(())
    }

    fn depth(&mut self) -> Depth {
        if self.prng.chance(0.5) { Depth::One } else { Depth::Many }
    }

    /// A key that is in the tree, or any.
    fn some_key(&mut self, id: TreeId) -> Vec<u8> {
        let rows = &self.trees[&id];
        if rows.is_empty() || self.prng.chance(0.3) {
            return random_key(&mut self.prng);
        }
        let at = self.prng.below(rows.len() as u64) as usize;
        self.trees[&id].keys().nth(at).expect("the position is below the length").clone()
    }

    async fn look_up(&mut self) -> Result<(), String> {
        let io = IoCounters::default();
        let id = self.any_tree();
        let tree = self.handle(id)?.interleaved(self.prng.chance(0.3));
        let key = self.some_key(id);
        let found = patiently!(tree.get(&key, &io, <[u8]>::to_vec))?;
        let expected = self.trees[&id].get(&key).cloned();
        ensure(found == expected, || format!("get {key:?} from {id}: {found:?}"))?;
        // Keys that are spread unevenly make the directory useless, never wrong.
        let hashed = tree.clone().hashed(true);
        let found = patiently!(hashed.get_hashed(&key, &io, <[u8]>::to_vec))?;
        ensure(found == expected, || format!("get by hash {key:?} from {id}: {found:?}"))?;
        let depth = self.depth();
        let keys: Vec<_> = (0..self.prng.below(200)).map(|_| self.some_key(id)).collect();
        let mut found = vec![None; keys.len()];
        patiently!(async {
            found.fill(None);
            tree.get_batch(&keys, depth, &io, &mut |at, v| found[at] = Some(v.to_vec())).await
        })?;
        for (key, found) in keys.iter().zip(found) {
            let expected = self.trees[&id].get(key).cloned();
            ensure(found == expected, || format!("batch {depth:?} {key:?} from {id}: {found:?}"))?;
        }
        let (mut found, window) = (vec![None; keys.len()], keys.len() % 33 + 1);
        patiently!(async {
            found.fill(None);
            let mut visit = |at: usize, value: &[u8]| found[at] = Some(value.to_vec());
            tree.get_by_state_machines(&keys, window, &io, &mut visit).await
        })?;
        for (key, found) in keys.iter().zip(found) {
            let expected = self.trees[&id].get(key).cloned();
            ensure(found == expected, || format!("ring {window} {key:?} from {id}: {found:?}"))?;
        }
        Ok(())
    }

    async fn search_ranges(&mut self) -> Result<(), String> {
        let io = IoCounters::default();
        let id = self.any_tree();
        let hashed = self.prng.chance(0.4);
        let tree = self.handle(id)?.hashed(hashed).interleaved(hashed);
        let depth = self.depth();
        let count = if hashed && self.prng.chance(0.3) { 1 } else { self.prng.below(30) };
        let ranges: Vec<_> = (0..count).map(|_| (self.some_key(id), self.some_key(id))).collect();
        let mut found = vec![Vec::new(); ranges.len()];
        patiently!(async {
            found.fill(Vec::new());
            let mut visit =
                |at: usize, k: &[u8], v: &[u8]| found[at].push((k.to_vec(), v.to_vec()));
            tree.range_batch(&ranges, depth, &io, &mut visit).await
        })?;
        for (range, found) in ranges.iter().zip(found) {
            let (lo, hi) = range.clone();
            let expected = self.slice(id, &Bound::Included(lo), &Bound::Excluded(hi));
            ensure(found == expected, || format!("range {depth:?} {range:?} of {id}: {found:?}"))?;
        }
        Ok(())
    }

    /// The model's entries between two bounds.
    fn slice(
        &self,
        id: TreeId,
        lo: &Bound<Vec<u8>>,
        hi: &Bound<Vec<u8>>,
    ) -> Vec<(Vec<u8>, Vec<u8>)> {
        let above = |key: &Vec<u8>| match lo {
            Bound::Included(lo) => key >= lo,
            Bound::Excluded(lo) => key > lo,
            Bound::Unbounded => true,
        };
        let below = |key: &Vec<u8>| match hi {
            Bound::Included(hi) => key <= hi,
            Bound::Excluded(hi) => key < hi,
            Bound::Unbounded => true,
        };
        let inside = self.trees[&id].iter().filter(|(key, _)| above(key) && below(key));
        inside.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn bound(&mut self, id: TreeId) -> Bound<Vec<u8>> {
        match self.prng.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.some_key(id)),
            _ => Bound::Excluded(self.some_key(id)),
        }
    }

    async fn expand(&mut self) -> Result<(), String> {
        let hashed = self.prng.chance(0.4);
        let search = self.new_search(hashed)?;
        self.expand_all(search).await
    }

    fn new_search(&mut self, hashed: bool) -> Result<Held, String> {
        let id = self.any_tree();
        let tree = self.handle(id)?.hashed(hashed);
        let (lo, hi) = (self.bound(id), self.bound(id));
        let parts = vec![tree.root_part(lo.clone(), hi.clone())];
        Ok(Held { tree, lo, hi, parts })
    }

    /// Cuts a search into parts that visit entries, as long as that visits none.
    async fn begin_search(&mut self) -> Result<(), String> {
        let io = IoCounters::default();
        let mut search = self.new_search(false)?;
        let levels = search.tree.stats().height.saturating_sub(1).min(self.prng.below(4) as u32);
        for _ in 0..levels {
            let mut parts = Vec::new();
            for part in search.parts {
                if part.is_extent() {
                    parts.push(part);
                    continue;
                }
                let mut visit = |_: &[u8], _: &[u8]| panic!("an inner node has no entries");
                let children =
                    patiently!(search.tree.expand(part.clone(), Depth::One, &io, &mut visit))?;
                parts.extend(children);
            }
            search.parts = parts;
        }
        self.held = Some(search);
        Ok(())
    }

    /// Whatever has become of the pages meanwhile, the search finds what the tree holds now.
    async fn finish_search(&mut self) -> Result<(), String> {
        let search = self.held.take().expect("a search has begun");
        self.expand_all(search).await
    }

    async fn expand_all(&mut self, search: Held) -> Result<(), String> {
        let io = IoCounters::default();
        let depth = self.depth();
        let Held { tree, lo, hi, mut parts } = search;
        let id = tree.id();
        parts.reverse();
        let mut found = Vec::new();
        while let Some(part) = parts.pop() {
            let begin = found.len();
            let children = patiently!(async {
                found.truncate(begin);
                let mut visit = |k: &[u8], v: &[u8]| found.push((k.to_vec(), v.to_vec()));
                tree.expand(part.clone(), depth, &io, &mut visit).await
            })?;
            parts.extend(children.into_iter().rev());
        }
        let expected = self.slice(id, &lo, &hi);
        ensure(found == expected, || {
            format!("expand {depth:?} {lo:?} {hi:?} of {id}: {} of {}", found.len(), expected.len())
        })
    }

    async fn follow_cursor(&mut self) -> Result<(), String> {
        let io = IoCounters::default();
        let id = self.any_tree();
        let tree = self.handle(id)?;
        let (lo, hi) = (self.bound(id), self.bound(id));
        let backward = self.prng.chance(0.5);
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let mut cursor =
            tree.range(lo.as_ref().map(Vec::as_slice), hi.as_ref().map(Vec::as_slice), direction);
        let (mut found, mut key) = (Vec::new(), Vec::new());
        while let Some(rows) = patiently!(cursor.next(&io))? {
            for index in 0..rows.len() {
                let value = rows.entry(index, &mut key).to_vec();
                found.push((key.clone(), value));
            }
        }
        if backward {
            found.reverse();
        }
        let expected = self.slice(id, &lo, &hi);
        ensure(found == expected, || {
            format!("{direction:?} {lo:?} {hi:?} of {id}: {} of {}", found.len(), expected.len())
        })
    }

    async fn load_tree(&mut self) -> Result<(), String> {
        let id = self.store().create_tree().await.map_err(|error| error.to_string())?;
        self.trees.insert(id, Rows::new());
        let tree = self.handle(id)?;
        let rows = random_rows(&mut self.prng, 1500);
        patiently!(async {
            let mut loader = tree.bulk_loader().await?;
            for (key, value) in &rows {
                loader.push(key, value).await?;
            }
            loader.finish().await
        })?;
        self.trees.insert(id, rows);
        Ok(())
    }

    async fn drop_tree(&mut self) -> Result<(), String> {
        let id = self.any_tree();
        if id == self.store().catalog().id() {
            return Ok(());
        }
        self.drop_known(id).await?;
        self.forget(id);
        Ok(())
    }

    pub async fn drop_known(&mut self, id: TreeId) -> Result<(), String> {
        patiently!(self.store().drop_tree(id))
    }

    fn forget(&mut self, id: TreeId) -> Rows {
        self.held = self.held.take().filter(|search| search.tree.id() != id);
        self.trees.remove(&id).expect("the tree is in the model")
    }

    /// Another tree holds the rows of `old` now.
    pub fn swap(&mut self, old: TreeId, new: TreeId) {
        let rows = self.forget(old);
        self.trees.insert(new, rows);
    }

    pub async fn checkpoint(&mut self) -> Result<(), String> {
        let done = match self.prng.chance(0.5) {
            true => self.store().checkpoint().await,
            false => self.store().checkpoint_without(Redo::default()).await,
        };
        done.map_err(|error| format!("checkpoint: {error}"))?;
        self.committed = self.trees.clone();
        self.checkpoints = self.store().checkpoint_number();
        Ok(())
    }

    /// Nothing becomes durable but by a checkpoint that was asked for.
    fn ensure_no_checkpoint(&self) -> Result<(), String> {
        let number = self.store().checkpoint_number();
        ensure(number == self.checkpoints, || format!("checkpoint {number} came of itself"))
    }

    /// Waits for quiet and checks that nothing is held.
    pub async fn settle(&mut self) -> Result<(), String> {
        self.store().quiesce().await;
        ensure_quiet(&self.store().pool())
    }

    async fn reopen(&mut self) -> Result<(), String> {
        self.settle().await?;
        self.held = None;
        let catalog = self.store().catalog().id();
        self.opened.take().expect("the store is open").close().await;
        // A checkpoint or a write whose caller was dropped may hold the file for a moment yet.
        self.opened = Some(patiently!(async {
            let opened = Store::open(PATH.as_ref(), self.options.clone()).await;
            if opened.as_ref().err() == Some(&StorageError::Locked) {
                runtime::time::sleep(runtime::time::Duration::from_millis(1)).await;
                return Err(StorageError::io("wait for the file", &ErrorKind::WouldBlock.into()));
            }
            opened
        })?);
        ensure(self.store().catalog().id() == catalog, || "another catalog".to_owned())?;
        self.trees = self.committed.clone();
        self.compare_all().await
    }

    async fn verify(&mut self) -> Result<(), String> {
        let report = patiently!(self.store().verify())?;
        for (id, tree) in report.trees {
            let expected = self.trees.get(&id).map(|rows| rows.len() as u64);
            ensure(expected == Some(tree.entries), || format!("tree {id}: {tree:?}"))?;
        }
        Ok(())
    }

    async fn compare_all(&mut self) -> Result<(), String> {
        let found = patiently!(state_of(self.store()))?;
        ensure(found == self.trees, || describe_difference(&found, &self.trees))?;
        self.verify().await
    }
}

fn describe_difference(found: &State, expected: &State) -> String {
    let sizes =
        |state: &State| -> Vec<_> { state.iter().map(|(id, rows)| (id.0, rows.len())).collect() };
    format!("trees {:?} instead of {:?}", sizes(found), sizes(expected))
}
