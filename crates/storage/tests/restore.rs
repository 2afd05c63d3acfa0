//! Requests that restoring takes (`docs/format/archive.md`, section 5): pages that lie beside each
//! other are written together, in both layouts.

mod placed;
mod simulated;

use std::sync::Arc;

use placed::{PAGE, PATH, key, options};
use runtime::sim::Disk;
use runtime::{IoCounters, fs};
use simulated::simulated;
use storage::{ArchiveOptions, Layout, RestoreProgress, Store, StoreOptions, Until, restore};

const ROWS: u32 = 4000;
const FOLDER: &str = "/archive";
const BACKUP: &str = "/backup";
const RESTORED: &str = "/restored";

fn archived(layout: Layout) -> StoreOptions {
    let archive = ArchiveOptions { folder: FOLDER.into(), tell: Arc::new(|_: &str| {}) };
    StoreOptions { layout, log: true, archive: Some(archive), ..options(64) }
}

/// A backup of a tree, and a segment of an archive with another image of each of its leaves.
async fn build(layout: Layout) {
    let store = Store::create(PATH.as_ref(), archived(layout)).await.unwrap();
    let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
    let mut loader = tree.bulk_loader().await.unwrap();
    for row in 0..ROWS {
        loader.push(&key(row), &[0; 100]).await.unwrap();
    }
    loader.finish().await.unwrap();
    store.checkpoint().await.unwrap();
    store.back_up(BACKUP.as_ref(), Arc::new(|_| true)).await.unwrap();
    let io = IoCounters::default();
    for row in 0..ROWS {
        assert!(tree.replace(&key(row), &[1; 100], &io).await.unwrap());
    }
    store.checkpoint().await.unwrap();
    store.archived().await;
    store.quiesce().await;
}

async fn check(layout: Layout) {
    let options = StoreOptions { layout, ..options(64) };
    let store = Store::open(RESTORED.as_ref(), options).await.unwrap();
    store.verify().await.unwrap();
    let id = store.tree_ids().into_iter().max().expect("there are trees");
    let (tree, io) = (store.tree(id).unwrap(), IoCounters::default());
    for row in 0..ROWS {
        assert_eq!(tree.get(&key(row), &io, |value| value[0]).await.unwrap(), Some(1));
    }
}

#[test]
fn pages_beside_each_other_are_restored_in_one_request() {
    for layout in [Layout::InPlace, options(64).layout] {
        let disk = Disk::new(7);
        let inside = disk.clone();
        simulated(&disk, move || async move {
            build(layout).await;
            let (before, progress) = (inside.write_count(), RestoreProgress::default());
            let paths = (BACKUP.as_ref(), FOLDER.as_ref(), RESTORED.as_ref());
            restore(paths.0, paths.1, Until::End, paths.2, &progress).await.unwrap();
            let writes = inside.write_count() - before;
            let copied = inside.contents(BACKUP).expect("the backup").len() as u64;
            let pages = (progress.bytes().1 - copied) / PAGE as u64;
            assert!(pages > 100, "{pages} pages");
            assert!(writes < pages / 2, "{layout:?}: {writes} requests for {pages} pages");
            check(layout).await;
            fs::remove(RESTORED).await.unwrap();
        });
    }
}
