//! A storm of tasks that are dropped wherever they happen to be suspended.

use std::ops::Bound;

use runtime::{Aborted, IoCounters, JoinHandle, RemoteHandle};
use stdx::Prng;

use super::mixed::Mixed;
use super::{ensure, random_key, random_rows, random_value};
use crate::{Depth, Result, StorageError, Store, TreeId};

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
    Batch(Vec<Vec<u8>>, Depth),
    Scan(Depth),
    Load(u64),
    Checkpoint,
}

pub(super) async fn run(mixed: &mut Mixed) -> std::result::Result<(), String> {
    let checkpoint = mixed.store().checkpoint_number();
    let mut tried = Vec::new();
    let mut handles = Vec::new();
    for _ in 0..TASK_COUNT {
        let id = mixed.any_tree();
        let work = choose(&mut mixed.prng);
        if let Work::Insert(rows) = &work {
            tried.extend(rows.iter().map(|row| (id, row.clone())));
        }
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
            Ok(Err(error)) => return Err(format!("a task of the storm: {error}")),
            Err(Aborted::Cancelled) => mixed.report.cancels += 1,
            Err(panicked) => return Err(format!("a task of the storm: {panicked}")),
        }
    }
    mixed.settle().await?;
    reconcile(mixed, tried).await?;
    if mixed.store().checkpoint_number() != checkpoint {
        mixed.checkpoint().await?;
    }
    Ok(())
}

fn choose(prng: &mut Prng) -> Work {
    let depth = if prng.chance(0.5) { Depth::One } else { Depth::Many };
    match prng.below(10) {
        0..4 => Work::Insert(random_rows(prng, 30).into_iter().collect()),
        4..7 => Work::Batch((0..prng.below(100)).map(|_| random_key(prng)).collect(), depth),
        7 => Work::Scan(depth),
        8 => Work::Load(prng.next_u64()),
        _ => Work::Checkpoint,
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
        Work::Checkpoint => store.checkpoint().await?,
    }
    Ok(())
}

/// Asks the store which of the insertions have happened: each of a dropped task wholly or not at
/// all.
async fn reconcile(
    mixed: &mut Mixed,
    tried: Vec<(TreeId, Row)>,
) -> std::result::Result<(), String> {
    let io = IoCounters::default();
    for (id, (key, value)) in &tried {
        let tree = mixed.handle(*id)?;
        let found = loop {
            match tree.get(key, &io, <[u8]>::to_vec).await {
                Err(StorageError::Io { .. }) => {}
                found => break found.map_err(|error| error.to_string())?,
            }
        };
        let known = mixed.trees[id].get(key).cloned();
        if let Some(known) = known {
            ensure(found.as_ref() == Some(&known), || format!("{key:?} of {id} has changed"))?;
        } else if let Some(found) = found {
            let written = tried.iter().any(|(t, (k, v))| t == id && k == key && *v == found);
            ensure(written, || format!("{key:?} of {id}: {value:?} became {found:?}"))?;
            mixed.trees.get_mut(id).expect("the tree is known").insert(key.clone(), found);
        }
    }
    Ok(())
}
