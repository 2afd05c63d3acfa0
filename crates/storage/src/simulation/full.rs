//! A disk that is full for a while, at any write or growth of the file: whoever wanted to write is
//! told so, nothing is lost, and the same works when there is space again.

use runtime::IoCounters;
use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;

use super::{
    PATH, Report, Rows, State, ensure, options_for, random_rows, random_value, rows_of, state_of,
    world,
};
use crate::error::StorageError;
use crate::store::Store;
use crate::tree::Tree;
use crate::tree::change::Inserted;
use crate::tree_id::TreeId;

/// Frames of the pool: few, so that dirty pages are written while the workload runs.
const FRAMES: usize = 40;

type Outcome<T> = std::result::Result<T, String>;

/// What became of a run.
enum End {
    /// All was done, at last.
    Done(State),
    /// What failed cannot be told from done: the file has to be opened again, and then holds one
    /// of these states.
    Poisoned(Vec<State>),
}

/// How a step ended.
enum Step<T> {
    Done(T),
    Poisoned,
}

/// Repeats an operation that found the disk full, with `check` before the next attempt; ends the
/// run when the store has given up.
macro_rules! persist {
    ($this:ident, $what:literal, $operation:expr) => {
        loop {
            match $operation {
                Ok(done) => break done,
                Err(error) => match $this.after(error, $what).await? {
                    Step::Done(()) => {}
                    Step::Poisoned => return Ok(Step::Poisoned),
                },
            }
        }
    };
}

struct Workload {
    disk: Disk,
    store: Store,
    prng: Prng,
    trees: State,
    /// States that the file may hold: the last checkpoint's, and the one of a checkpoint that is
    /// being made.
    durable: Vec<State>,
    refusals: u64,
}

/// Creates the store, a second time when the first attempt finds no space.
async fn create(disk: &Disk, seed: u64, refusals: &mut u64) -> Outcome<Store> {
    loop {
        match Store::create(PATH.as_ref(), options_for(seed, FRAMES)).await {
            Ok(store) => return Ok(store),
            // A failure in the last steps of a checkpoint poisons; the file is gone all the same.
            Err(StorageError::Poisoned(_)) => *refusals += 1,
            Err(error) if error.is_disk_full() => *refusals += 1,
            Err(error) => return Err(format!("create: {error}")),
        }
        disk.faults(FaultPlan::default());
        let left = runtime::fs::exists(PATH).await.map_err(|error| error.to_string())?;
        ensure(!left, || "a store that could not be created left a file".to_owned())?;
    }
}

async fn play(disk: Disk, seed: u64) -> Outcome<(End, u64)> {
    let mut refusals = 0;
    let store = create(&disk, seed, &mut refusals).await?;
    let trees: State = [(TreeId(1), Rows::new())].into();
    let (prng, durable) = (Prng::new(seed), vec![trees.clone()]);
    let mut this = Workload { disk, store, prng, trees, durable, refusals };
    let end = match this.run().await? {
        Step::Poisoned => End::Poisoned(this.durable),
        Step::Done(()) => End::Done(this.trees),
    };
    Ok((end, this.refusals))
}

impl Workload {
    async fn run(&mut self) -> Outcome<Step<()>> {
        let mut tree = TreeId(1);
        for round in 0..4 {
            let from = if round < 2 { None } else { Some(tree) };
            tree = match self.load(from).await? {
                Step::Done(tree) => tree,
                Step::Poisoned => return Ok(Step::Poisoned),
            };
            for count in [200, 700] {
                if let Step::Poisoned = self.change(tree, count).await? {
                    return Ok(Step::Poisoned);
                }
                if let Step::Poisoned = self.checkpoint().await? {
                    return Ok(Step::Poisoned);
                }
            }
        }
        let found = state_of(&self.store).await.map_err(|error| error.to_string())?;
        ensure(found == self.trees, || "other rows at the end".to_owned())?;
        Ok(Step::Done(()))
    }

    /// The disk was full: the store is whole, and all that it held can be read. Then there is space
    /// again.
    async fn after(&mut self, error: StorageError, what: &str) -> Outcome<Step<()>> {
        if let StorageError::Poisoned(_) = error {
            return Ok(Step::Poisoned);
        }
        ensure(error.is_disk_full(), || format!("{what}: {error}"))?;
        self.refusals += 1;
        self.store.quiesce().await;
        let verified = self.store.verify().await;
        verified.map_err(|error| format!("{what} on a full disk: {error}"))?;
        let found = state_of(&self.store).await.map_err(|error| error.to_string())?;
        ensure(found == self.trees, || format!("{what} on a full disk has changed rows"))?;
        self.disk.faults(FaultPlan::default());
        Ok(Step::Done(()))
    }

    fn tree(&self, id: TreeId) -> Outcome<Tree> {
        self.store.tree(id).map_err(|error| error.to_string())
    }

    /// Loads a new tree: of random rows, or of those of another one, which is dropped then.
    async fn load(&mut self, from: Option<TreeId>) -> Outcome<Step<TreeId>> {
        let id = persist!(self, "create a tree", self.store.create_tree().await);
        self.trees.insert(id, Rows::new());
        let tree = self.tree(id)?;
        let rows = match from {
            Some(old) => rows_of(&self.tree(old)?, &IoCounters::default()).await,
            None => Ok(random_rows(&mut self.prng, 900)),
        };
        let rows = rows.map_err(|error| error.to_string())?;
        persist!(self, "load a tree", load(&tree, &rows).await);
        self.trees.insert(id, rows);
        if let Some(old) = from {
            persist!(self, "drop a tree", self.store.drop_tree(old).await);
            self.trees.remove(&old);
        }
        Ok(Step::Done(id))
    }

    /// Inserts, replaces and deletes, here and there.
    async fn change(&mut self, id: TreeId, count: u64) -> Outcome<Step<()>> {
        let io = IoCounters::default();
        let tree = self.tree(id)?;
        for (key, _) in random_rows(&mut self.prng, count) {
            let value = random_value(&mut self.prng, &key);
            let known = self.trees[&id].contains_key(&key);
            match self.prng.below(3) {
                0 if known => {
                    let found = persist!(self, "delete", tree.delete(&key, &io).await);
                    ensure(found, || format!("{key:?} was not there"))?;
                    self.rows(id).remove(&key);
                }
                _ if known => {
                    persist!(self, "replace", tree.replace(&key, &value, &io).await);
                    self.rows(id).insert(key, value);
                }
                _ => {
                    let inserted = persist!(self, "insert", tree.insert(&key, &value).await);
                    ensure(inserted == Inserted::New, || format!("{key:?} was there"))?;
                    self.rows(id).insert(key, value);
                }
            }
        }
        Ok(Step::Done(()))
    }

    fn rows(&mut self, id: TreeId) -> &mut Rows {
        self.trees.get_mut(&id).expect("the tree is known")
    }

    async fn checkpoint(&mut self) -> Outcome<Step<()>> {
        self.durable.push(self.trees.clone());
        persist!(self, "checkpoint", self.store.checkpoint().await);
        self.durable = vec![self.trees.clone()];
        Ok(Step::Done(()))
    }
}

async fn load(tree: &Tree, rows: &Rows) -> crate::error::Result<()> {
    let mut loader = tree.bulk_loader().await?;
    for (key, value) in rows {
        loader.push(key, value).await?;
    }
    loader.finish().await
}

/// One run on a disk with these faults; whatever comes of it, opening the file afterwards finds a
/// state that it may hold.
fn run_with(seed: u64, plan: FaultPlan) -> Outcome<(Disk, Report)> {
    let disk = Disk::new(seed);
    disk.faults(plan);
    let inside = disk.clone();
    let (end, refusals) = world(&disk, seed, move || play(inside, seed))?;
    disk.faults(FaultPlan::default());
    let allowed = match end {
        End::Done(state) => vec![state],
        End::Poisoned(states) => states,
    };
    let found = world(&disk, seed, move || async move {
        let store = Store::open(PATH.as_ref(), options_for(seed, FRAMES)).await?;
        store.verify().await?;
        state_of(&store).await
    });
    let found = found.map_err(|error| format!("open again: {error}"))?;
    ensure(allowed.contains(&found), || "opened again, it holds other rows".to_owned())?;
    let trace_hash = disk.trace_hash();
    Ok((disk, Report { refusals, trace_hash, ..Report::default() }))
}

/// One write or growth, chosen by the seed, finds the disk full; or the disk is too small, until
/// somebody notices.
pub(super) fn run(seed: u64) -> Outcome<Report> {
    let (whole, _) = run_with(seed, FaultPlan::default())?;
    let mut prng = Prng::new(seed);
    match prng.chance(0.5) {
        true => full_at(seed, 1 + prng.below(whole.space_op_count())),
        false => too_small(seed, prng.below(len(&whole))),
    }
}

/// As on a file system that writes copies: even what has its space may find none.
fn full_at(seed: u64, write: u64) -> Outcome<Report> {
    let plan = FaultPlan { no_space: Some(write..write + 1), ..FaultPlan::default() };
    let (_, report) = run_with(seed, plan).map_err(|what| format!("full at {write}: {what}"))?;
    Ok(report)
}

fn too_small(seed: u64, capacity: u64) -> Outcome<Report> {
    let plan = FaultPlan { capacity: Some(capacity), ..FaultPlan::default() };
    let played = run_with(seed, plan).map_err(|what| format!("{capacity} bytes: {what}"));
    Ok(played?.1)
}

fn len(disk: &Disk) -> u64 {
    disk.contents(PATH).map_or(0, |bytes| bytes.len() as u64)
}

/// A disk that is full at each write and growth in turn; and disks of each size up to the one that
/// is enough.
pub(super) fn run_everywhere(seed: u64) -> Outcome<Report> {
    let (whole, _) = run_with(seed, FaultPlan::default())?;
    let mut report = Report { seeds: 1, ..Report::default() };
    for write in 1..=whole.space_op_count() {
        report += full_at(seed, write)?;
    }
    for capacity in (0..len(&whole)).step_by(64 * 1024) {
        report += too_small(seed, capacity)?;
    }
    Ok(report)
}
