//! Values that are longer than a leaf takes: every way to read them, and their pages.

mod layout;

use std::ops::Bound;
use std::sync::atomic::Ordering::Relaxed;

use runtime::sim::Disk;
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{
    Depth, Direction, Inserted, StorageError, Store, StoreOptions, Tree, VALUE_LEN_MAX,
    VisitEntries,
};

/// Runs a test in a simulated world with a store of 64 frames of `page_size` bytes.
fn check<F: Future<Output = ()> + 'static>(
    page_size: u32,
    test: impl FnOnce(Store) -> F + Send + 'static,
) {
    let ring = RingChoice::Sim(Disk::new(5));
    let runtime = Runtime::start(Config { workers: 1, ring, ..Config::default() }).unwrap();
    runtime.block_on(move || async move {
        let pool_bytes = 64 * page_size as usize;
        let options = StoreOptions { pool_bytes, page_size, ..layout::options() };
        let store = Store::create("/db".as_ref(), options).await.unwrap();
        test(store.clone()).await;
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
    });
}

async fn new_tree(store: &Store) -> Tree {
    store.tree(store.create_tree().await.unwrap()).unwrap()
}

/// Every fifth value is short.
fn value(number: u32) -> Vec<u8> {
    let len = if number.is_multiple_of(5) { 10 } else { 500 + number as usize * 977 % 40_000 };
    (0..len as u32).map(|at| (at * 7 + number) as u8).collect()
}

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

const ROW_COUNT: u32 = 120;

/// Reads all rows in every way that there is.
async fn check_rows(tree: &Tree) {
    let io = IoCounters::default();
    let all: Vec<_> = (0..ROW_COUNT).map(|number| (key(number), value(number))).collect();
    for (key, value) in &all {
        assert_eq!(tree.get(key, &io, <[u8]>::to_vec).await.unwrap().as_ref(), Some(value));
    }
    for (key, value) in &all {
        let long = tree.long_value(key, &io).await.unwrap().unwrap();
        assert_eq!((long.len(), long.is_empty()), (value.len(), false));
        let end = value.len();
        for range in [0..end, 0..0, end..end, end / 3..end / 3 + 1, end / 2..end, 0..end / 2] {
            long.prefetch(range.clone(), &io);
            assert!(long.read(range.clone(), &io).await.unwrap() == value[range.clone()]);
        }
    }
    assert!(tree.long_value(&key(ROW_COUNT), &io).await.unwrap().is_none());
    for direction in [Direction::Forward, Direction::Backward] {
        let (mut rows, mut key) = (Vec::new(), Vec::new());
        let mut cursor = tree.range(Bound::Unbounded, Bound::Unbounded, direction);
        while let Some(leaf) = cursor.next(&io).await.unwrap() {
            for index in 0..leaf.len() {
                let value = leaf.entry(index, &mut key).to_vec();
                rows.push((key.clone(), value));
            }
        }
        if direction == Direction::Backward {
            rows.reverse();
        }
        assert!(rows == all, "{direction:?}");
    }
    for depth in [Depth::One, Depth::Many] {
        let keys: Vec<_> = all.iter().rev().map(|(key, _)| key).collect();
        let mut found = vec![Vec::new(); keys.len()];
        let mut visit = |at: usize, value: &[u8]| found[at] = value.to_vec();
        tree.get_batch(&keys, depth, &io, &mut visit).await.unwrap();
        assert!(found.iter().rev().eq(all.iter().map(|(_, value)| value)), "batch {depth:?}");
        let ranges = [(key(0), key(50)), (key(20), key(90)), (key(119), key(500))];
        let mut found = [const { Vec::new() }; 3];
        let mut visit = |at: usize, k: &[u8], v: &[u8]| found[at].push((k.to_vec(), v.to_vec()));
        tree.range_batch(&ranges, depth, &io, &mut visit).await.unwrap();
        for (found, range) in found.iter().zip([0..50, 20..90, 119..120]) {
            assert!(found.as_slice() == &all[range.clone()], "range {range:?} {depth:?}");
        }
        let mut rows = Vec::new();
        let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Excluded(key(100)))];
        while let Some(part) = parts.pop() {
            let mut visit = |key: &[u8], value: &[u8]| rows.push((key.to_vec(), value.to_vec()));
            let children = tree.expand(part, depth, &io, &mut visit).await.unwrap();
            parts.extend(children.into_iter().rev());
        }
        assert!(rows.as_slice() == &all[..100], "parts {depth:?}");
    }
}

#[test]
fn long_values_are_read_in_every_way() {
    for page_size in [4096, 8192, 16384, 32768] {
        check(page_size, async |store| {
            let tree = new_tree(&store).await;
            for number in 0..ROW_COUNT {
                let inserted = tree.insert(&key(number), &value(number)).await.unwrap();
                assert_eq!(inserted, Inserted::New);
                let again = tree.insert(&key(number), &value(number + 1)).await.unwrap();
                assert_eq!(again, Inserted::Duplicate);
            }
            check_rows(&tree).await;
            store.checkpoint().await.unwrap();
            store.drop_cache().await;
            check_rows(&tree).await;
            let loaded = new_tree(&store).await;
            let mut loader = loaded.bulk_loader().await.unwrap();
            for number in 0..ROW_COUNT {
                loader.push(&key(number), &value(number)).await.unwrap();
            }
            loader.finish().await.unwrap();
            assert_eq!(loaded.stats().overflow_pages, tree.stats().overflow_pages);
            check_rows(&loaded).await;
            store.verify().await.unwrap();
        });
    }
}

#[test]
fn pages_of_long_values_are_used_again() {
    check(4096, async |store| {
        let io = IoCounters::default();
        let tree = new_tree(&store).await;
        let mut pages = 0;
        for round in 0..20u32 {
            for number in 0..30 {
                let (key, value) = (key(number), vec![round as u8; 20_000]);
                match round {
                    0 => drop(tree.insert(&key, &value).await.unwrap()),
                    _ => assert!(tree.replace(&key, &value, &io).await.unwrap()),
                }
            }
            store.checkpoint().await.unwrap();
            pages = if round == 3 { store.page_counts().0 } else { pages };
        }
        assert_eq!(tree.stats().overflow_pages, 30 * 5);
        assert!(store.page_counts().0 <= pages, "{} pages after {pages}", store.page_counts().0);
        for number in 0..30 {
            match number % 3 {
                0 => assert!(tree.delete(&key(number), &io).await.unwrap()),
                1 => assert!(tree.replace(&key(number), b"short", &io).await.unwrap()),
                _ => {}
            }
        }
        assert_eq!(tree.stats().overflow_pages, 10 * 5);
        store.verify().await.unwrap();
        let id = tree.id();
        drop(tree);
        store.drop_tree(id).await.unwrap();
        store.checkpoint().await.unwrap();
        let (pages, free) = store.page_counts();
        assert!(free + 8 > u64::from(pages), "{free} of {pages} pages are free");
    });
}

#[test]
fn a_value_that_is_dropped_halfway_leaves_nothing() {
    check(4096, async |store| {
        let tree = new_tree(&store).await;
        for yields in 0..60 {
            let mut loader = tree.bulk_loader().await.unwrap();
            loader.push(b"a", &[1; 90_000]).await.unwrap();
            drop(loader);
            let other = tree.clone();
            let task = runtime::spawn(async move { other.insert(b"k", &[1; 600_000]).await });
            for _ in 0..yields {
                runtime::yield_now().await;
            }
            task.abort();
            drop(task.await);
            let io = IoCounters::default();
            tree.delete(b"k", &io).await.unwrap();
            store.verify().await.unwrap();
        }
        assert_eq!(tree.stats().overflow_pages, 0);
    });
}

#[test]
fn a_value_has_a_greatest_length() {
    check(4096, async |store| {
        let tree = new_tree(&store).await;
        let too_long = tree.insert(b"k", &vec![1; VALUE_LEN_MAX + 1]).await;
        assert!(matches!(too_long, Err(StorageError::TooLarge { .. })), "{too_long:?}");
        let io = IoCounters::default();
        tree.insert(b"k", &vec![7; VALUE_LEN_MAX]).await.unwrap();
        let len = tree.get(b"k", &io, |value| {
            assert!(value.iter().all(|byte| *byte == 7));
            value.len()
        });
        assert_eq!(len.await.unwrap(), Some(VALUE_LEN_MAX));
    });
}

#[test]
fn damage_to_a_page_of_a_value_is_reported() {
    let disk = Disk::new(9);
    let ring = RingChoice::Sim(disk.clone());
    let runtime = Runtime::start(Config { workers: 1, ring, ..Config::default() }).unwrap();
    runtime.block_on(move || async move {
        let options = StoreOptions { pool_bytes: 64 * 4096, ..layout::options() };
        let store = Store::create("/db".as_ref(), options).await.unwrap();
        let tree = new_tree(&store).await;
        tree.insert(b"short", b"s").await.unwrap();
        tree.insert(b"long", &[5; 10_000]).await.unwrap();
        store.checkpoint().await.unwrap();
        store.drop_cache().await;
        let bytes = disk.contents("/db").unwrap();
        let at = bytes.windows(2000).position(|bytes| bytes == [5; 2000]).expect("the value");
        assert!(disk.rot("/db", at as u64, 8));
        let io = IoCounters::default();
        let damaged = tree.get(b"long", &io, <[u8]>::to_vec).await;
        assert!(matches!(damaged, Err(StorageError::Corrupt { .. })), "{damaged:?}");
        assert_eq!(tree.get(b"short", &io, <[u8]>::len).await, Ok(Some(1)));
        assert!(matches!(store.verify().await, Err(StorageError::Corrupt { .. })));
    });
}

#[test]
fn readers_see_whole_values_while_others_replace_them() {
    let path = std::env::temp_dir().join(format!("dovetail-long-{}", std::process::id()));
    let config = Config { workers: 4, ring: RingChoice::Auto, ..Config::default() };
    let runtime = Runtime::start(config).expect("a ring is found");
    runtime.block_on(move || async move {
        let options = StoreOptions { pool_bytes: 80 * 4096, direct: false, ..layout::options() };
        let store = Store::create(&path, options).await.unwrap();
        let tree = new_tree(&store).await;
        for number in 0..40 {
            tree.insert(&key(number), &vec![number as u8; 9000]).await.unwrap();
        }
        let (first, second) = (store.clone(), tree.clone());
        let writer = runtime::spawn_on(1, move || async move {
            let io = IoCounters::default();
            for round in 0..30u32 {
                for number in 0..40 {
                    let value = vec![number as u8; 2000 + (round * 977 % 20_000) as usize];
                    assert!(second.replace(&key(number), &value, &io).await.unwrap());
                }
                first.checkpoint().await.unwrap();
            }
        });
        let readers = (0..3).map(|worker| {
            let tree = tree.clone();
            runtime::spawn_on(worker, move || async move {
                let io = IoCounters::default();
                let keys: Vec<_> = (0..40).map(key).collect();
                for _ in 0..60 {
                    let mut found = 0;
                    let mut visit = |at: usize, value: &[u8]| {
                        assert!(value.iter().all(|byte| usize::from(*byte) == at), "value {at}");
                        found += 1;
                    };
                    tree.get_batch(&keys, Depth::Many, &io, &mut visit).await.unwrap();
                    assert_eq!(found, 40);
                    let mut key = Vec::new();
                    let mut cursor =
                        tree.range(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
                    while let Some(leaf) = cursor.next(&io).await.unwrap() {
                        for index in 0..leaf.len() {
                            let value = leaf.entry(index, &mut key);
                            assert!(value.iter().all(|byte| *byte == key[3]), "value {key:?}");
                        }
                    }
                }
            })
        });
        for reader in readers.collect::<Vec<_>>() {
            reader.await.unwrap();
        }
        writer.await.unwrap();
        store.quiesce().await;
        store.verify().await.unwrap();
        runtime::fs::remove(&path).await.unwrap();
    });
}

#[test]
fn a_part_of_a_value_is_one_request() {
    check(4096, |store| async move {
        let (tree, io) = (new_tree(&store).await, IoCounters::default());
        let value: Vec<u8> = (0..1_000_000u32).map(|at| (at / 3) as u8).collect();
        tree.insert(b"k", &value).await.unwrap();
        store.checkpoint().await.unwrap();
        store.drop_cache().await;
        let long = tree.long_value(b"k", &io).await.unwrap().unwrap();
        let before = io.reads.load(Relaxed);
        // 16 pages at most: a quarter of the frames.
        let part = long.read(300_000..360_000, &io).await.unwrap();
        assert!(part == value[300_000..360_000]);
        // Out of place they lie in as many runs as they were written in.
        let runs = if store.place_stats().is_some() { 4 } else { 1 };
        assert!(
            io.reads.load(Relaxed) - before <= runs,
            "{} reads",
            io.reads.load(Relaxed) - before
        );
    });
}

/// Keys, and the lengths of their values.
#[derive(Default)]
struct Lengths(Vec<(Vec<u8>, usize)>);

impl VisitEntries for Lengths {
    fn entry(&mut self, key: &[u8], value: &[u8]) {
        self.0.push((key.to_vec(), value.len()));
    }
}

#[test]
fn a_step_of_a_search_reads_some_long_values() {
    check(4096, |store| async move {
        let (tree, io) = (new_tree(&store).await, IoCounters::default());
        let len = |number: u32| if number.is_multiple_of(3) { 10 } else { 200_000 };
        for number in 0..30 {
            tree.insert(&key(number), &vec![1; len(number)]).await.unwrap();
        }
        let all: Vec<_> = (0..30).map(|number| (key(number), len(number))).collect();
        let (mut found, mut steps) = (vec![], 0);
        let mut next = Some(tree.root_part(Bound::Unbounded, Bound::Unbounded));
        while let Some(part) = next {
            let mut lengths = Lengths::default();
            let step = tree.expand_by_leaf(part, Depth::Many, &io, &mut lengths).await.unwrap();
            assert!(step.parts.is_empty() || lengths.0.is_empty());
            next = step.rest.or_else(|| step.parts.into_iter().next());
            steps += usize::from(!lengths.0.is_empty());
            let bytes: usize = lengths.0.iter().map(|(_, len)| len).sum();
            assert!(bytes < (1 << 20) + 200_100, "{bytes} bytes in one step");
            found.append(&mut lengths.0);
        }
        assert_eq!((found, steps), (all, 4));
        assert_eq!(tree.entries_at_once(), 7);
    });
}
