//! A store on a real file, through the ring that works everywhere.

mod layout;

use std::ops::Bound;
use std::path::PathBuf;

use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{Depth, Direction, Inserted, RangePart, StorageError, Store, StoreOptions, Tree};

/// A path that is free, and free again afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let file = format!("dovetail-storage-{}-{name}", std::process::id());
        Scratch(std::env::temp_dir().join(file))
    }
}

fn run<F: Future<Output = ()> + 'static>(
    name: &str,
    test: impl FnOnce(PathBuf) -> F + Send + 'static,
) {
    let scratch = Scratch::new(name);
    let path = scratch.0.clone();
    let config = Config { workers: 2, ring: RingChoice::Threads, ..Config::default() };
    let runtime = Runtime::start(config).expect("threads always start");
    runtime.block_on(move || async move {
        test(path.clone()).await;
        runtime::fs::remove(&path).await.expect("the test has made the file");
    });
}

fn options(pages: usize) -> StoreOptions {
    StoreOptions { pool_bytes: pages * 4096, direct: false, ..layout::options() }
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn value(number: u64) -> Vec<u8> {
    format!("value {number} {}", "x".repeat((number % 50) as usize)).into_bytes()
}

async fn load(store: &Store, count: u64) -> Tree {
    let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
    let mut loader = tree.bulk_loader().await.unwrap();
    for number in 0..count {
        loader.push(&key(2 * number), &value(number)).await.unwrap();
    }
    loader.finish().await.unwrap();
    tree
}

async fn scan(tree: &Tree, depth: Depth, io: &IoCounters) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut parts: Vec<RangePart> = vec![tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    while let Some(part) = parts.pop() {
        let mut visit = |k: &[u8], v: &[u8]| rows.push((k.to_vec(), v.to_vec()));
        let children = tree.expand(part, depth, io, &mut visit).await.unwrap();
        parts.extend(children.into_iter().rev());
    }
    rows
}

#[test]
fn loads_survive_reopening_and_are_found_by_every_search() {
    run("load", |path| async move {
        const COUNT: u64 = 40_000;
        let io = IoCounters::default();
        let store = Store::create(&path, options(256)).await.unwrap();
        let id = load(&store, COUNT).await.id();
        store.checkpoint().await.unwrap();
        store.close().await;
        let store = Store::open(&path, options(256)).await.unwrap();
        let tree = store.tree(id).unwrap();
        assert_eq!(tree.stats().entries, COUNT);
        let report = store.verify().await.unwrap();
        assert!(report.trees.iter().any(|(tree, report)| *tree == id && report.entries == COUNT));
        for number in (0..COUNT).step_by(997) {
            let found = tree.get(&key(2 * number), &io, <[u8]>::to_vec).await.unwrap();
            assert_eq!(found, Some(value(number)));
            assert_eq!(tree.get(&key(2 * number + 1), &io, |_| ()).await.unwrap(), None);
        }
        for depth in [Depth::One, Depth::Many] {
            store.drop_cache().await;
            let rows = scan(&tree, depth, &io).await;
            assert_eq!(rows.len() as u64, COUNT);
            assert!(rows.iter().zip(0..).all(|(row, n)| *row == (key(2 * n), value(n))));
            store.drop_cache().await;
            let keys: Vec<_> = (0..2000).map(|n| key((n * 7919) % (2 * COUNT))).collect();
            let mut found = vec![None; keys.len()];
            let mut visit = |at: usize, v: &[u8]| found[at] = Some(v.to_vec());
            tree.get_batch(&keys, depth, &io, &mut visit).await.unwrap();
            for (n, found) in found.into_iter().enumerate() {
                let number = (n as u64 * 7919) % (2 * COUNT);
                let expected = number.is_multiple_of(2).then(|| value(number / 2));
                assert_eq!(found, expected, "{depth:?} {number}");
            }
            // In a ring, first without the pages and then with them.
            for _ in 0..2 {
                let mut found = vec![None; keys.len()];
                let mut visit = |at: usize, v: &[u8]| found[at] = Some(v.to_vec());
                tree.get_by_state_machines(&keys, 16, &io, &mut visit).await.unwrap();
                for (n, found) in found.into_iter().enumerate() {
                    let number = (n as u64 * 7919) % (2 * COUNT);
                    assert_eq!(found, number.is_multiple_of(2).then(|| value(number / 2)));
                }
            }
            let ranges: Vec<_> = (0..300).map(|n| (key(n * 211), key(n * 211 + n))).collect();
            let mut counts = vec![0; ranges.len()];
            let mut visit = |at: usize, k: &[u8], _: &[u8]| {
                assert!(ranges[at].0.as_slice() <= k && k < ranges[at].1.as_slice());
                counts[at] += 1;
            };
            tree.range_batch(&ranges, depth, &io, &mut visit).await.unwrap();
            for (n, count) in counts.into_iter().enumerate() {
                let (lo, hi) = (n as u64 * 211, n as u64 * 212);
                let expected = (lo..hi).filter(|k| k.is_multiple_of(2) && *k < 2 * COUNT).count();
                assert_eq!(count, expected, "range {n}");
            }
        }
        let stats = store.pool();
        assert_eq!((stats.pins, stats.loading, stats.waiting), (0, 0, 0));
    });
}

#[test]
fn insertions_split_nodes_and_cursors_see_them_in_order() {
    run("insert", |path| async move {
        const COUNT: u64 = 20_000;
        let io = IoCounters::default();
        let store = Store::create(&path, options(64)).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        for n in 0..COUNT {
            let number = (n * 7919) % COUNT;
            let inserted = tree.insert(&key(number), &value(number)).await.unwrap();
            assert_eq!(inserted, Inserted::New);
        }
        assert_eq!(tree.insert(&key(3), b"other").await.unwrap(), Inserted::Duplicate);
        store.verify().await.unwrap();
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
        for direction in [Direction::Forward, Direction::Backward] {
            let (lo, hi) = (key(100), key(15_000));
            let mut cursor = tree.range(Bound::Excluded(&lo), Bound::Included(&hi), direction);
            let mut numbers: Vec<u64> = Vec::new();
            let mut at = Vec::new();
            while let Some(rows) = cursor.next(&io).await.unwrap() {
                for index in 0..rows.len() {
                    let found = rows.entry(index, &mut at).to_vec();
                    let number = u64::from_be_bytes(at.as_slice().try_into().unwrap());
                    assert_eq!(found, value(number));
                    numbers.push(number);
                }
            }
            if direction == Direction::Backward {
                numbers.reverse();
            }
            assert_eq!(numbers, (101..=15_000).collect::<Vec<_>>(), "{direction:?}");
        }
    });
}

#[test]
fn what_no_checkpoint_covers_is_gone_and_pages_are_used_again() {
    run("reuse", |path| async move {
        let store = Store::create(&path, options(64)).await.unwrap();
        let kept = load(&store, 5000).await.id();
        store.checkpoint().await.unwrap();
        let mut page_counts = Vec::new();
        for _ in 0..4 {
            let dropped = load(&store, 5000).await.id();
            store.checkpoint().await.unwrap();
            page_counts.push(store.page_counts().0);
            store.drop_tree(dropped).await.unwrap();
            store.verify().await.unwrap();
            assert_eq!(store.tree(dropped).err(), Some(StorageError::NoSuchTree(dropped)));
            store.checkpoint().await.unwrap();
        }
        assert_eq!(page_counts[1], page_counts[3], "dropped pages are used again");
        let lost = store.create_tree().await.unwrap();
        store.close().await;
        let store = Store::open(&path, options(64)).await.unwrap();
        assert!(store.tree(lost).is_err());
        store.verify().await.unwrap();
        assert_eq!(store.tree(kept).unwrap().stats().entries, 5000);
    });
}

#[test]
fn bad_input_gives_errors() {
    run("errors", |path| async move {
        let store = Store::create(&path, options(64)).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let large = tree.insert(&[1; 513], b"").await;
        assert!(matches!(large, Err(StorageError::TooLarge { .. })), "{large:?}");
        let mut loader = tree.bulk_loader().await.unwrap();
        loader.push(b"b", b"").await.unwrap();
        assert_eq!(loader.push(b"b", b"").await, Err(StorageError::OutOfOrder));
        loader.finish().await.unwrap();
        assert_eq!(tree.bulk_loader().await.err(), Some(StorageError::NotEmpty(tree.id())));
        let second = Store::open(&path, options(64)).await;
        assert_eq!(second.err(), Some(StorageError::Locked));
        let small = Store::create(&path.with_extension("small"), options(3)).await;
        assert!(matches!(small.err(), Some(StorageError::Option(_))));
    });
}
