//! The log: what it holds is there after a crash, and damage to it is told or harmless.

mod layout;

use std::collections::BTreeMap;
use std::sync::Arc;

use runtime::sim::Disk;
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{
    Damage, RecoveryPhase, RecoveryProgress, Redo, Result, StorageError, Store, StoreOptions,
};

const PATH: &str = "/db";

fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let config = Config { workers: 1, ring: RingChoice::Sim(disk.clone()), ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

fn options(log: bool) -> StoreOptions {
    StoreOptions { pool_bytes: 64 * 4096, log, ..layout::options() }
}

/// Makes and logs changes of the catalog's tree.
async fn put(store: &Store, entries: &[(&str, Option<&[u8]>)]) -> Result<()> {
    let (tree, io, mut redo) = (store.catalog(), IoCounters::default(), Redo::default());
    for (key, value) in entries {
        match value {
            Some(value) if !tree.replace(key.as_bytes(), value, &io).await? => {
                tree.insert(key.as_bytes(), value).await?;
            }
            Some(_) => {}
            None => drop(tree.delete(key.as_bytes(), &io).await?),
        }
        redo.push(tree.id(), key.as_bytes(), *value);
    }
    store.log(redo).await
}

async fn found(store: &Store, keys: &[&str]) -> Vec<Option<usize>> {
    let (tree, io) = (store.catalog(), IoCounters::default());
    let mut found = vec![];
    for key in keys {
        found.push(tree.get(key.as_bytes(), &io, <[u8]>::len).await.unwrap());
    }
    found
}

#[test]
fn what_was_logged_is_there_after_a_crash_and_after_the_next() {
    let disk = Disk::new(1);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(true)).await.unwrap();
        put(&store, &[("a", Some(&[1])), ("b", Some(&[2; 30_000]))]).await.unwrap();
        put(&store, &[("a", None), ("c", Some(&[3; 3]))]).await.unwrap();
        // What is not logged is lost.
        store.catalog().insert(b"d", &[4; 4]).await.unwrap();
    });
    let mut disk = disk.crash(1);
    for round in 0..3 {
        simulated(&disk, move || async move {
            let progress = Arc::new(RecoveryProgress::default());
            let opened = Store::open_watched(PATH.as_ref(), options(true), &progress).await;
            let store = opened.unwrap();
            let keys = found(&store, &["a", "b", "c", "d"]).await;
            assert_eq!(keys, [None, Some(30_000), Some(3 + round), None]);
            assert_eq!(
                progress.step().phase,
                RecoveryPhase::Checkpoint,
                "there was something to do"
            );
            assert_eq!(store.log_usage().0, 0, "recovery ends with a checkpoint");
            put(&store, &[("c", Some(&vec![5; 4 + round]))]).await.unwrap();
            assert!(store.log_usage().0 > 0);
        });
        disk = disk.crash(round as u64);
    }
}

#[test]
fn a_log_of_which_nothing_comes_begins_anew() {
    let disk = Disk::new(10);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(true)).await.unwrap();
        put(&store, &[("a", Some(&[1; 9000]))]).await.unwrap();
        put(&store, &[("b", Some(&[2; 10]))]).await.unwrap();
        put(&store, &[("a", None), ("b", None)]).await.unwrap();
    });
    let mut disk = disk.crash(10);
    for round in 0..3u8 {
        let found = simulated(&disk, move || async move {
            let store = Store::open(PATH.as_ref(), options(true)).await.unwrap();
            assert_eq!(store.log_usage().0, 0);
            let found = found(&store, &["a", "b", "c"]).await;
            // Frames of the run before lie behind this one, unless a checkpoint is between them.
            put(&store, &[("c", Some(&vec![3; 1 + usize::from(round)]))]).await.unwrap();
            found
        });
        let kept = (round > 0).then_some(usize::from(round));
        assert_eq!(found, [None, None, kept]);
        disk = disk.crash(round.into());
    }
}

#[test]
fn a_checkpoint_begins_the_log_anew() {
    let disk = Disk::new(2);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(true)).await.unwrap();
        for round in 0..5u8 {
            put(&store, &[("a", Some(&[round; 100]))]).await.unwrap();
            store.checkpoint().await.unwrap();
            let (used, capacity) = store.log_usage();
            assert_eq!((used, capacity), (0, 1 << 20));
            // An older and longer log of the same file is no part of the new one.
            put(&store, &[("b", Some(&vec![round; 50 - 10 * usize::from(round)]))]).await.unwrap();
        }
        store.verify().await.unwrap();
    });
    simulated(&disk.crash(2), || async {
        let store = Store::open(PATH.as_ref(), options(true)).await.unwrap();
        assert_eq!(found(&store, &["a", "b"]).await, [Some(100), Some(10)]);
        store.verify().await.unwrap();
    });
}

#[test]
fn a_checkpoint_leaves_out_what_is_not_to_last_yet() {
    let disk = Disk::new(9);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(true)).await.unwrap();
        put(&store, &[("kept", Some(b"1")), ("undone", Some(b"1"))]).await.unwrap();
        // One transaction has changed two entries and added one; another one is logged later.
        let (tree, io, mut replaced) = (store.catalog(), IoCounters::default(), Redo::default());
        tree.replace(b"undone", b"22", &io).await.unwrap();
        tree.replace(b"kept", b"22", &io).await.unwrap();
        tree.insert(b"new", b"22").await.unwrap();
        for (key, old) in [("undone", Some(&b"1"[..])), ("kept", Some(b"1")), ("new", None)] {
            replaced.push(tree.id(), key.as_bytes(), old);
        }
        store.checkpoint_without(replaced).await.unwrap();
        put(&store, &[("kept", Some(b"333"))]).await.unwrap();
    });
    let mut disk = disk.crash(9);
    for round in 0..2 {
        let found = simulated(&disk, || async {
            let store = Store::open(PATH.as_ref(), options(true)).await.unwrap();
            found(&store, &["kept", "undone", "new"]).await
        });
        assert_eq!(found, [Some(3), Some(1), None]);
        disk = disk.crash(round);
    }
}

#[test]
fn a_file_gets_a_log_when_it_is_wanted_and_keeps_it() {
    let disk = Disk::new(3);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(false)).await.unwrap();
        assert_eq!((store.log_usage(), store.log_room()), ((0, 0), 0));
        store.catalog().insert(b"a", b"1").await.unwrap();
        store.checkpoint().await.unwrap();
        assert_eq!(store.log_room(), 0);
        store.close().await;
        let store = Store::open(PATH.as_ref(), options(true)).await.unwrap();
        store.catalog().insert(b"b", b"1").await.unwrap();
        store.checkpoint().await.unwrap();
        put(&store, &[("c", Some(b"22"))]).await.unwrap();
    });
    simulated(&disk.crash(3), || async {
        let store = Store::open(PATH.as_ref(), options(false)).await.unwrap();
        assert_eq!(found(&store, &["a", "b", "c"]).await, [Some(1), Some(1), Some(2)]);
        store.verify().await.unwrap();
    });
}

#[test]
fn the_log_grows_with_the_file() {
    let disk = Disk::new(4);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(true)).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let mut loader = tree.bulk_loader().await.unwrap();
        for number in 0..20_000u32 {
            loader.push(&number.to_be_bytes(), &[7; 900]).await.unwrap();
        }
        loader.finish().await.unwrap();
        store.checkpoint().await.unwrap();
        store.catalog().insert(b"a", b"1").await.unwrap();
        store.checkpoint().await.unwrap();
        let (_, capacity) = store.log_usage();
        assert!(capacity >= 2 << 20, "{capacity}");
        put(&store, &[("b", Some(b"22"))]).await.unwrap();
        store.verify().await.unwrap();
    });
    simulated(&disk.crash(4), || async {
        let store = Store::open(PATH.as_ref(), options(true)).await.unwrap();
        assert_eq!(found(&store, &["a", "b"]).await, [Some(1), Some(2)]);
        store.verify().await.unwrap();
    });
}

/// What a file says after one bit of its log has rotted.
fn after_flip(contents: &Disk, offset: u64, mask: u8) -> Result<Vec<Option<usize>>> {
    assert!(contents.rot(PATH, offset, mask), "the bit is in the file");
    simulated(contents, || async {
        let store = Store::open(PATH.as_ref(), options(true)).await?;
        Ok(found(&store, &["a", "b", "c"]).await)
    })
}

#[test]
fn each_flipped_bit_of_the_log_is_told_or_harmless() {
    let disk = Disk::new(5);
    let (used, capacity) = simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(true)).await.unwrap();
        for (key, len) in [("a", 1), ("b", 20), ("c", 5)] {
            put(&store, &[(key, Some(&vec![7; len]))]).await.unwrap();
        }
        store.log_usage()
    });
    let bytes = disk.contents(PATH).expect("the file");
    let log = bytes.windows(4).position(|window| window == b"DVLT").expect("a frame");
    assert!(capacity > used && log.is_multiple_of(4096));
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for bit in 0..used as u64 * 8 {
        let flipped = disk.crash(5);
        let found = after_flip(&flipped, log as u64 + bit / 8, 1 << (bit % 8));
        let what = match found {
            Ok(found) if found == [Some(1), Some(20), Some(5)] => "harmless",
            // The last one cannot be told from one that was cut off before anybody was told of it.
            Ok(found) if found == [Some(1), Some(20), None] => "the last commit",
            Err(StorageError::Corrupt { reason: Damage::Log, .. }) => "told",
            other => panic!("bit {bit}: {other:?}"),
        };
        *counts.entry(what).or_default() += 1;
    }
    // Padding is at most seven bytes of a frame.
    assert!(counts["told"] > 600 && counts["the last commit"] > 300, "{counts:?}");
    assert!(counts.get("harmless").is_none_or(|count| *count <= 3 * 7 * 8), "{counts:?}");
}
