//! A storm of tasks that are dropped wherever they happen to be suspended.

use std::ops::Bound;

use runtime::{Aborted, IoCounters, JoinHandle, RemoteHandle};
use stdx::Prng;

use super::mixed::Mixed;
use super::{ensure, random_key, random_rows, random_value, rows_of};
use crate::error::{Result, StorageError};
use crate::log::redo::Redo;
use crate::store::Store;
use crate::tree::Depth;
use crate::tree_id::TreeId;

/// Tasks of one storm.
const TASK_COUNT: u64 = 24;

type Row = (Vec<u8>, Vec<u8>);

/// A task on this worker or another.
enum Handle {
    Here(JoinHandle<Result<()>>),
    There(RemoteHandle<Result<()>>),
}

impl Handle {
    fn abort(&self) {
        match self {
            Handle::Here(handle) => handle.abort(),
            Handle::There(handle) => handle.abort(),
        }
    }

    async fn end(self) -> std::result::Result<Result<()>, Aborted> {
        match self {
            Handle::Here(handle) => handle.await,
            Handle::There(handle) => handle.await,
        }
    }
}

/// What a task does.
#[derive(Clone)]
enum Work {
    Insert(Vec<Row>),
    Replace(Vec<Row>),
    Delete(Vec<Row>),
    Batch(Vec<Vec<u8>>, Depth),
    Scan(Depth),
    Load(u64),
    /// Writes the tree anew, and drops the old one.
    Rebuild,
    Checkpoint,
    /// One that settles while others go on.
    EarlyCheckpoint,
    Flush,
}

pub(super) async fn run(mixed: &mut Mixed) -> std::result::Result<(), String> {
    let checkpoint = mixed.store().checkpoint_number();
    let mut tried = Vec::new();
    let mut handles = Vec::new();
    let rebuilt = choose_rebuilt(mixed);
    let mut asked = false;
    for task in 0..TASK_COUNT {
        let (id, work) = match rebuilt {
            Some(id) if task == TASK_COUNT / 2 => (id, Work::Rebuild),
            _ => choose(mixed, rebuilt),
        };
        asked |= matches!(work, Work::Checkpoint | Work::EarlyCheckpoint);
        tried.extend(work.outcomes().into_iter().map(|(key, value)| (id, key, value)));
        let there = mixed.prng.chance(0.5);
        let worker = mixed.prng.below(runtime::worker_count() as u64) as usize;
        let store = mixed.store().clone();
        handles.push(match there {
            true => Handle::There(runtime::spawn_on(worker, move || perform(store, id, work))),
            false => Handle::Here(runtime::spawn(perform(store, id, work))),
        });
    }
    for _ in 0..mixed.prng.below(60) {
        runtime::yield_now().await;
    }
    if mixed.prng.chance(0.5) {
        let ns = mixed.prng.below(2_000_000);
        runtime::time::sleep(runtime::time::Duration::from_nanos(ns)).await;
    }
    for handle in handles {
        if mixed.prng.chance(0.7) {
            handle.abort();
        }
        match handle.end().await {
            Ok(Ok(()) | Err(StorageError::Io { .. } | StorageError::NotEmpty(_))) => {}
            Ok(Err(StorageError::NoSuchTree(id))) if Some(id) == rebuilt => {}
            Ok(Err(error)) => return Err(format!("a task of the storm: {error}")),
            Err(Aborted::Cancelled) => mixed.report.cancels += 1,
            Err(panicked) => return Err(format!("a task of the storm: {panicked}")),
        }
    }
    mixed.settle().await?;
    if let Some(id) = rebuilt {
        reconcile_rebuilt(mixed, id).await?;
    }
    reconcile(mixed, tried).await?;
    // One whose task was dropped goes on, and may end at any time: the next waits for it.
    if asked || mixed.store().checkpoint_number() != checkpoint {
        mixed.checkpoint().await?;
    }
    Ok(())
}

impl Work {
    /// What the work may have made of which keys: a value, or none.
    fn outcomes(&self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        let (rows, stays) = match self {
            Work::Insert(rows) | Work::Replace(rows) => (rows, true),
            Work::Delete(rows) => (rows, false),
            _ => return Vec::new(),
        };
        let value = |value: &Vec<u8>| stays.then(|| value.clone());
        rows.iter().map(|row| (row.0.clone(), value(&row.1))).collect()
    }
}

/// A tree that is written anew while others read it.
fn choose_rebuilt(mixed: &mut Mixed) -> Option<TreeId> {
    let id = mixed.any_tree();
    (id != mixed.store().catalog().id() && mixed.prng.chance(0.5)).then_some(id)
}

fn choose(mixed: &mut Mixed, rebuilt: Option<TreeId>) -> (TreeId, Work) {
    loop {
        let id = mixed.any_tree();
        let work = choose_work(mixed, id);
        // Who writes a tree anew holds writers back.
        let reads = !matches!(
            work,
            Work::Insert(_) | Work::Replace(_) | Work::Delete(_) | Work::Load(_) | Work::Rebuild
        );
        if Some(id) != rebuilt || reads {
            return (id, work);
        }
    }
}

fn choose_work(mixed: &mut Mixed, id: TreeId) -> Work {
    let depth = if mixed.prng.chance(0.5) { Depth::One } else { Depth::Many };
    let work = mixed.prng.below(14);
    let prng = &mut mixed.prng;
    match work {
        0..3 => Work::Insert(random_rows(prng, 30).into_iter().collect()),
        3..7 => {
            let known = mixed.trees[&id].len() as u64;
            let (skip, count) = (prng.below(known + 1) as usize, prng.below(40) as usize);
            let keys = mixed.trees[&id].keys().skip(skip).take(count);
            let rows = keys.map(|key| (key.clone(), random_value(prng, key))).collect();
            if work < 5 { Work::Replace(rows) } else { Work::Delete(rows) }
        }
        7..9 => Work::Batch((0..prng.below(100)).map(|_| random_key(prng)).collect(), depth),
        9 => Work::Scan(depth),
        10 => Work::Load(prng.next_u64()),
        11 => Work::Checkpoint,
        12 => Work::EarlyCheckpoint,
        _ => Work::Flush,
    }
}

async fn perform(store: Store, id: TreeId, work: Work) -> Result<()> {
    let io = IoCounters::default();
    let tree = store.tree(id)?;
    match work {
        Work::Insert(rows) => {
            for (key, value) in rows {
                tree.insert(&key, &value).await?;
            }
        }
        Work::Replace(rows) => {
            for (key, value) in rows {
                tree.replace(&key, &value, &io).await?;
            }
        }
        Work::Delete(rows) => {
            for (key, _) in rows {
                tree.delete(&key, &io).await?;
            }
        }
        Work::Batch(keys, depth) => tree.get_batch(&keys, depth, &io, &mut |_, _| ()).await?,
        Work::Scan(depth) => {
            let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Unbounded)];
            while let Some(part) = parts.pop() {
                parts.extend(tree.expand(part, depth, &io, &mut |_, _| ()).await?);
            }
        }
        // Never finished: all that it has written is to be free again.
        Work::Load(seed) => {
            let mut prng = Prng::new(seed);
            let mut loader = tree.bulk_loader().await?;
            for (key, _) in random_rows(&mut prng, 300) {
                let value = random_value(&mut prng, &key);
                loader.push(&key, &value).await?;
                runtime::yield_now().await;
            }
        }
        Work::Rebuild => drop(rebuild(&store, id).await?),
        Work::Checkpoint => store.checkpoint().await?,
        Work::EarlyCheckpoint => store.checkpoint_without(Redo::default()).await?,
        Work::Flush => store.flush().await?,
    }
    Ok(())
}

/// Writes a tree anew and drops the old one; the new tree.
pub(super) async fn rebuild(store: &Store, id: TreeId) -> Result<TreeId> {
    let rows = rows_of(&store.tree(id)?, &IoCounters::default()).await?;
    let new = store.create_tree().await?;
    let mut loader = store.tree(new)?.bulk_loader().await?;
    for (key, value) in &rows {
        loader.push(key, value).await?;
    }
    loader.finish().await?;
    store.drop_tree(id).await?;
    Ok(new)
}

/// Asks the store how far a rebuilding has come: not at all, as far as the tree goes, or to its end.
async fn reconcile_rebuilt(mixed: &mut Mixed, id: TreeId) -> std::result::Result<(), String> {
    let known = |other: &TreeId| mixed.trees.contains_key(other);
    let new: Vec<TreeId> = mixed.store().tree_ids().into_iter().filter(|t| !known(t)).collect();
    ensure(new.len() <= 1, || format!("trees from nowhere: {new:?}"))?;
    let stays = mixed.store().tree(id).is_ok();
    match new.first() {
        Some(&new) if stays => mixed.drop_known(new).await?,
        Some(&new) => mixed.swap(id, new),
        None => ensure(stays, || format!("tree {id} is gone"))?,
    }
    Ok(())
}

/// Asks the store which of the changes have happened: each of a dropped task wholly or not at all.
async fn reconcile(
    mixed: &mut Mixed,
    tried: Vec<(TreeId, Vec<u8>, Option<Vec<u8>>)>,
) -> std::result::Result<(), String> {
    let io = IoCounters::default();
    for (id, key, _) in &tried {
        let tree = mixed.handle(*id)?;
        let found = loop {
            match tree.get(key, &io, <[u8]>::to_vec).await {
                Err(StorageError::Io { .. }) => {}
                found => break found.map_err(|error| error.to_string())?,
            }
        };
        let rows = mixed.trees.get_mut(id).expect("the tree is known");
        let tried = tried.iter().any(|(t, k, value)| t == id && k == key && *value == found);
        ensure(tried || rows.get(key) == found.as_ref(), || {
            format!("{key:?} of {id}: {:?} became {found:?}", rows.get(key))
        })?;
        match found {
            Some(found) => rows.insert(key.clone(), found),
            None => rows.remove(key),
        };
    }
    Ok(())
}
