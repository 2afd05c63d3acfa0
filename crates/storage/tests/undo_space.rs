//! Deletions on a disk that is full: whatever is undone has its pages, and what is freed is used
//! again.

mod simulated;

use std::sync::Arc;

use runtime::IoCounters;
use runtime::sim::{Disk, FaultPlan};
use simulated::simulated;
use stdx::Prng;
use storage::{Result, Store, StoreOptions, Tree, UndoSpace};

const PATH: &str = "/db";

/// Rows of the trees, some of which have values on pages of their own.
const ROWS: u32 = 4000;

fn options() -> StoreOptions {
    StoreOptions { pool_bytes: 2048 * 4096, reserve: true, ..StoreOptions::default() }
}

fn value(row: u32) -> Vec<u8> {
    let len = if row.is_multiple_of(100) { 9000 } else { 60 + row as usize % 80 };
    vec![row as u8; len]
}

fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}

async fn filled(store: &Store, rows: u32) -> Tree {
    let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
    for row in 0..rows {
        tree.insert(&key(row), &value(row)).await.unwrap();
    }
    tree
}

/// Inserts rows until there is no space.
async fn fill(tree: &Tree) -> u32 {
    for row in 0.. {
        if let Err(error) = tree.insert(&key(row), &[1; 200]).await {
            assert!(error.is_disk_full(), "{error}");
            return row;
        }
    }
    unreachable!("the disk is full at last")
}

/// Deletes rows until all are gone or the disk has no room; those that are gone, in order.
async fn delete(tree: &Tree, undo: &Arc<UndoSpace>, rows: &[u32]) -> Vec<u32> {
    let (tree, io, mut gone) = (tree.undoable(undo), IoCounters::default(), vec![]);
    for &row in rows {
        let pages = tree.value_pages(&key(row), &value(row));
        let held = undo.hold_runs(&vec![pages; usize::from(pages > 0)]).await;
        let deleted: Result<bool> = match held {
            Ok(()) => tree.delete(&key(row), &io).await,
            Err(error) => Err(error),
        };
        match deleted {
            Ok(was_there) => assert!(was_there, "row {row}"),
            Err(error) if error.is_disk_full() => break,
            Err(error) => panic!("row {row}: {error}"),
        }
        gone.push(row);
    }
    gone
}

async fn put_back(tree: &Tree, undo: &Arc<UndoSpace>, gone: &[u32]) {
    let tree = tree.undoing(undo);
    for &row in gone.iter().rev() {
        tree.insert(&key(row), &value(row)).await.unwrap();
    }
}

async fn check(store: &Store, tree: &Tree, rows: u32) {
    store.verify().await.unwrap();
    assert_eq!(tree.stats().entries, u64::from(rows));
    let io = IoCounters::default();
    for row in 0..rows {
        let found = tree.get(&key(row), &io, <[u8]>::to_vec).await.unwrap();
        assert_eq!(found, Some(value(row)), "row {row}");
    }
}

/// Some rows of a tree, in an order that deletions may have.
fn some(prng: &mut Prng, rows: u32) -> Vec<u32> {
    let count = 1 + prng.below(u64::from(rows)) as u32;
    let first = prng.below(u64::from(rows - count + 1)) as u32;
    let step = [1, 1, 3, 7][prng.below(4) as usize];
    let mut some: Vec<u32> = (first..first + count).step_by(step).collect();
    if prng.chance(0.3) {
        some.reverse();
    }
    some
}

#[test]
fn deletions_on_a_full_disk_are_undone() {
    for seed in 0..5 {
        let disk = Disk::new(seed);
        let inside = disk.clone();
        simulated(&disk, move || async move {
            let mut prng = Prng::new(seed);
            let store = Store::create(PATH.as_ref(), options()).await.unwrap();
            let tree = filled(&store, ROWS).await;
            let other = store.tree(store.create_tree().await.unwrap()).unwrap();
            store.checkpoint().await.unwrap();
            inside.faults(FaultPlan { capacity: Some(6 << 20), ..FaultPlan::default() });
            assert!(fill(&other).await > 1000);
            store.checkpoint().await.unwrap();
            for _ in 0..4 {
                let (undo, reserve) = (store.undo_space(), store.spend_reserve());
                let gone = delete(&tree, &undo, &some(&mut prng, ROWS)).await;
                if store.reserve(16).await.is_ok() && prng.chance(0.5) {
                    // Undoing changes the pages once more then.
                    store.checkpoint().await.unwrap();
                }
                drop(reserve);
                put_back(&tree, &undo, &gone).await;
                drop(undo);
                check(&store, &tree, ROWS).await;
                let refused = store.checkpoint().await.err();
                assert!(refused.is_none_or(|error| error.is_disk_full()), "seed {seed}");
            }
            inside.faults(FaultPlan::default());
            store.checkpoint().await.unwrap();
            check(&store, &tree, ROWS).await;
        });
    }
}

#[test]
fn what_deletions_free_on_a_full_disk_is_used_again() {
    let disk = Disk::new(3);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let store = Store::create(PATH.as_ref(), options()).await.unwrap();
        let tree = filled(&store, 3 * ROWS).await;
        let other = store.tree(store.create_tree().await.unwrap()).unwrap();
        store.checkpoint().await.unwrap();
        inside.faults(FaultPlan { capacity: Some(8 << 20), ..FaultPlan::default() });
        let before = fill(&other).await;
        store.checkpoint().await.unwrap();
        for first in (0..3 * ROWS).step_by(100) {
            let (undo, _reserve) = (store.undo_space(), store.spend_reserve());
            let rows: Vec<u32> = (first..first + 100).collect();
            assert_eq!(delete(&tree, &undo, &rows).await.len(), 100, "from row {first}");
            drop(undo);
            store.checkpoint().await.unwrap();
        }
        assert_eq!(tree.stats().entries, 0);
        store.verify().await.unwrap();
        let mut more = 0;
        while other.insert(&key(before + more), &[1; 200]).await.is_ok() {
            more += 1;
        }
        assert!(more > 500, "{more} rows");
    });
}
