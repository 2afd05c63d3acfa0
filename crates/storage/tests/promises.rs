//! Space that is promised to a checkpoint, in files whose pages lie out of place and that have
//! given some back (`docs/format/places.md`, section 7).

mod placed;
mod simulated;

use placed::{PATH, key, options};
use runtime::IoCounters;
use runtime::sim::{Disk, FaultPlan};
use simulated::simulated;
use storage::{Result, Store, Tree};

/// Pages that are promised: far more than a small file keeps for its next extents.
const PROMISED: u32 = 300;

async fn load(store: &Store, rows: u32) -> Result<Tree> {
    let tree = store.tree(store.create_tree().await?)?;
    let mut loader = tree.bulk_loader().await?;
    for row in 0..rows {
        loader.push(&key(row), &[0; 100]).await?;
    }
    loader.finish().await?;
    Ok(tree)
}

/// A checkpoint of something.
async fn checkpoint(store: &Store, name: &str) {
    store.catalog().insert(name.as_bytes(), b"").await.unwrap();
    store.checkpoint().await.unwrap();
}

/// A store most of whose pages are free and have given their space back, and a tree.
async fn with_holes() -> (Store, Tree) {
    let store = Store::create(PATH.as_ref(), options(256)).await.unwrap();
    let large = load(&store, 40_000).await.unwrap();
    let small = load(&store, 100).await.unwrap();
    store.checkpoint().await.unwrap();
    let id = large.id();
    drop(large);
    store.drop_tree(id).await.unwrap();
    checkpoint(&store, "dropped").await;
    // Frames that somebody looked at are free after another one.
    checkpoint(&store, "forgotten").await;
    let given_back = store.place_stats().expect("out of place").given_back;
    assert!(given_back > 3 << 20, "{given_back}");
    (store, small)
}

/// From now on nothing gets space that has none.
fn fill(disk: &Disk) {
    disk.faults(FaultPlan { capacity: Some(0), ..FaultPlan::default() });
}

/// Changes so many pages and more, and makes a checkpoint of that.
async fn change_and_checkpoint(store: &Store, tree: &Tree) {
    let _reserve = store.spend_reserve();
    for row in 1000..1000 + PROMISED * 4 {
        tree.insert(&key(row), &[1; 500]).await.unwrap();
    }
    let io = IoCounters::default();
    assert!(tree.get(&key(1000), &io, |value| value.len() == 500).await.unwrap().unwrap());
    store.checkpoint().await.unwrap();
    store.verify().await.unwrap();
}

#[test]
fn holes_are_promised_to_nobody_before_they_have_space() {
    let disk = Disk::new(1);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let (store, _tree) = with_holes().await;
        fill(&inside);
        assert!(!store.has_reserved(PROMISED));
        let refused = store.reserve(PROMISED).await.unwrap_err();
        assert!(refused.is_disk_full(), "{refused}");
        inside.faults(FaultPlan::default());
        store.reserve(PROMISED).await.unwrap();
        fill(&inside);
        assert!(store.has_reserved(PROMISED));
        store.reserve(PROMISED).await.unwrap();
    });
}

#[test]
fn what_was_promised_is_there_when_the_disk_is_full() {
    let disk = Disk::new(2);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let (store, tree) = with_holes().await;
        // Twice: changes have places as well as their checkpoint.
        store.reserve(2 * PROMISED).await.unwrap();
        fill(&inside);
        change_and_checkpoint(&store, &tree).await;
    });
}

#[test]
fn what_was_promised_is_not_given_back_by_a_checkpoint_in_between() {
    let disk = Disk::new(3);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let (store, tree) = with_holes().await;
        store.reserve(2 * PROMISED).await.unwrap();
        checkpoint(&store, "between").await;
        fill(&inside);
        assert!(store.has_reserved(PROMISED));
        change_and_checkpoint(&store, &tree).await;
    });
}

#[test]
fn a_file_that_was_opened_promises_what_the_disk_has() {
    let disk = Disk::new(4);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let (store, tree) = with_holes().await;
        store.reserve(2 * PROMISED).await.unwrap();
        drop(tree);
        store.close().await;
        fill(&inside);
        let store = Store::open(PATH.as_ref(), options(256)).await.unwrap();
        // Nobody knows yet that the pages have space: it is asked for.
        assert!(!store.has_reserved(PROMISED));
        store.reserve(PROMISED).await.unwrap();
        assert!(store.has_reserved(PROMISED));
        let refused = store.reserve(20 * PROMISED).await.unwrap_err();
        assert!(refused.is_disk_full(), "{refused}");
        store.verify().await.unwrap();
    });
}
