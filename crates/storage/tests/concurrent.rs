//! Real threads: several workers insert into, read and checkpoint one store with a small pool.

mod layout;

use std::ops::Bound;
use std::sync::atomic::Ordering;

use runtime::sim::Disk;
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{Depth, Inserted, Store, StoreOptions, Tree};

const WORKER_COUNT: usize = 4;
const TASK_COUNT: u64 = 8;
const ROWS_PER_TASK: u64 = 1500;

fn options(frames: usize) -> StoreOptions {
    StoreOptions { pool_bytes: frames * 4096, direct: false, ..layout::options() }
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

async fn insert_rows(tree: Tree, store: Store, task: u64) {
    for n in 0..ROWS_PER_TASK {
        let number = n * TASK_COUNT + task;
        let inserted = tree.insert(&key(number), &[task as u8; 30]).await.unwrap();
        assert_eq!(inserted, Inserted::New);
        if n % 500 == 250 {
            store.checkpoint().await.unwrap();
        }
    }
}

async fn read_rows(tree: Tree, task: u64) {
    let io = IoCounters::default();
    for round in 0..40 {
        let number = (round * 31) % ROWS_PER_TASK * TASK_COUNT + task;
        let found = tree.get(&key(number), &io, |value| value[0]).await.unwrap();
        assert!(found.is_none_or(|owner| u64::from(owner) == task), "row {number}: {found:?}");
        let keys: Vec<_> = (0..50).map(|n| key(n * TASK_COUNT + task)).collect();
        let mut visit = |_: usize, value: &[u8]| assert_eq!(u64::from(value[0]), task);
        tree.get_batch(&keys, Depth::Many, &io, &mut visit).await.unwrap();
        let mut previous = Vec::new();
        let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Excluded(vec![40; 8]))];
        while let Some(part) = parts.pop() {
            let mut visit = |key: &[u8], _: &[u8]| {
                assert!(previous.is_empty() || previous.as_slice() < key, "out of order");
                previous = key.to_vec();
            };
            let children = tree.expand(part, Depth::Many, &io, &mut visit).await.unwrap();
            parts.extend(children.into_iter().rev());
        }
    }
}

/// Runs a test on several real workers with a store in a scratch file.
fn on_workers<F: Future<Output = ()> + 'static>(
    name: &str,
    ring: RingChoice,
    test: impl FnOnce(Store) -> F + Send + 'static,
) {
    let name = format!("dovetail-storage-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let config = Config { workers: WORKER_COUNT, ring, ..Config::default() };
    let runtime = Runtime::start(config).expect("a ring is found");
    runtime.block_on(move || async move {
        let store = Store::create(&path, options(64)).await.unwrap();
        test(store.clone()).await;
        store.quiesce().await;
        let stats = store.pool();
        assert_eq!((stats.pins, stats.loading, stats.waiting), (0, 0, 0));
        store.verify().await.unwrap();
        runtime::fs::remove(&path).await.unwrap();
    });
}

async fn share_a_tree(store: Store) {
    let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
    let mut running = Vec::new();
    for task in 0..TASK_COUNT {
        let worker = task as usize % WORKER_COUNT;
        let (writer, reader, owner) = (tree.clone(), tree.clone(), store.clone());
        running.push(runtime::spawn_on(worker, move || insert_rows(writer, owner, task)));
        running.push(runtime::spawn_on(worker, move || read_rows(reader, task)));
    }
    for task in running {
        task.await.unwrap();
    }
    assert_eq!(tree.stats().entries, TASK_COUNT * ROWS_PER_TASK);
    let io = IoCounters::default();
    for number in 0..TASK_COUNT * ROWS_PER_TASK {
        let found = tree.get(&key(number), &io, |value| value[0]).await.unwrap();
        assert_eq!(found.map(u64::from), Some(number % TASK_COUNT), "row {number}");
    }
}

#[test]
fn workers_share_a_tree_over_threads() {
    on_workers("threads", RingChoice::Threads, share_a_tree);
}

#[test]
fn workers_share_a_tree_over_the_best_ring() {
    on_workers("auto", RingChoice::Auto, share_a_tree);
}

/// Tasks are dropped wherever they are, by another worker than theirs.
async fn drop_tasks(store: Store) {
    let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
    insert_rows(tree.clone(), store.clone(), 0).await;
    for round in 0..60 {
        store.drop_cache().await;
        let start = |task: u64| {
            let (writer, reader, owner) = (tree.clone(), tree.clone(), store.clone());
            let worker = (task + round) as usize % WORKER_COUNT;
            match task {
                1 => runtime::spawn_on(worker, move || async move {
                    // Rows of an earlier round are there already.
                    for n in 0..200 {
                        writer.insert(&key(n * TASK_COUNT + 1), &[1; 30]).await.unwrap();
                    }
                    owner.checkpoint().await.unwrap();
                }),
                _ => runtime::spawn_on(worker, move || read_rows(reader, task % 2)),
            }
        };
        let running: Vec<_> = (0..TASK_COUNT).map(start).collect();
        let pause = std::time::Duration::from_micros(100 * round);
        runtime::time::sleep(pause).await;
        running.iter().for_each(|task| task.abort());
        for task in running {
            assert!(!matches!(task.await, Err(runtime::Aborted::Panicked(_))));
        }
    }
}

#[test]
fn tasks_dropped_from_other_workers_leave_nothing_behind() {
    on_workers("drops", RingChoice::Threads, drop_tasks);
    on_workers("drops-auto", RingChoice::Auto, drop_tasks);
}

/// A store in simulation whose tree of `rows` rows is on disk only.
fn with_cold_tree<F: Future<Output = ()> + 'static>(
    frames: usize,
    rows: u64,
    test: impl FnOnce(Store, Tree) -> F + Send + 'static,
) {
    let config = Config {
        workers: 1,
        ring: RingChoice::Sim(Disk::new(1)),
        attack: false,
        ..Config::default()
    };
    let runtime = Runtime::start(config).expect("a simulated runtime starts");
    runtime.block_on(move || async move {
        let store = Store::create("/db".as_ref(), options(frames)).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let mut loader = tree.bulk_loader().await.unwrap();
        for number in 0..rows {
            loader.push(&number.to_be_bytes(), &[1; 100]).await.unwrap();
        }
        loader.finish().await.unwrap();
        store.checkpoint().await.unwrap();
        store.drop_cache().await;
        test(store, tree).await;
    });
}

#[test]
fn one_absent_page_is_read_once_for_all_who_want_it() {
    with_cold_tree(64, 3000, |_, tree| async move {
        let io: &'static IoCounters = Box::leak(Box::default());
        let look = |tree: Tree| async move {
            let found = tree.get(&77u64.to_be_bytes(), io, |value| value.len()).await;
            assert_eq!(found, Ok(Some(100)));
        };
        let tasks: Vec<_> = (0..50).map(|_| runtime::spawn(look(tree.clone()))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(tree.stats().height, 2);
        assert_eq!(io.reads.load(Ordering::Relaxed), 2, "root and leaf");
        assert_eq!(io.waits.load(Ordering::Relaxed), 100, "each task waits for both");
    });
}

#[test]
fn extents_are_read_in_few_requests() {
    for depth in [Depth::One, Depth::Many] {
        with_cold_tree(512, 3000, move |_, tree| async move {
            let io = IoCounters::default();
            let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Unbounded)];
            let mut rows = 0;
            while let Some(part) = parts.pop() {
                parts.extend(tree.expand(part, depth, &io, &mut |_, _| rows += 1).await.unwrap());
            }
            assert_eq!(rows, 3000);
            let (reads, leaves) = (io.reads.load(Ordering::Relaxed), tree.stats().leaf_pages);
            assert!(leaves > 80 && reads < 12, "{reads} requests for {leaves} leaves, {depth:?}");
            let bytes = io.read_bytes.load(Ordering::Relaxed);
            assert_eq!(bytes, (leaves + 1) * 4096, "no page twice, {depth:?}");
        });
    }
}

#[test]
fn a_full_pool_does_not_stop_large_requests() {
    for depth in [Depth::One, Depth::Many] {
        with_cold_tree(192, 20_000, move |_, tree| async move {
            for round in 0..4 {
                let io = IoCounters::default();
                let mut rows = 0;
                let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Unbounded)];
                while let Some(part) = parts.pop() {
                    let children = tree.expand(part, depth, &io, &mut |_, _| rows += 1).await;
                    parts.extend(children.unwrap());
                }
                assert_eq!(rows, 20_000);
                let (reads, leaves) = (io.reads.load(Ordering::Relaxed), tree.stats().leaf_pages);
                assert!(
                    reads < leaves / 8,
                    "round {round}: {reads} for {leaves} leaves, {depth:?}"
                );
            }
        });
    }
}

#[test]
fn a_batch_finds_its_leaves_together() {
    with_cold_tree(512, 3000, |store, tree| async move {
        let keys: Vec<_> = (0..40u64).map(|n| (n * 75).to_be_bytes()).collect();
        let mut times = Vec::new();
        for depth in [Depth::One, Depth::Many] {
            store.drop_cache().await;
            let (io, mut found) = (IoCounters::default(), 0);
            let begin = runtime::time::now();
            tree.get_batch(&keys, depth, &io, &mut |_, _| found += 1).await.unwrap();
            assert_eq!(found, 40);
            times.push(begin.elapsed());
        }
        assert!(times[0] > 8 * times[1], "one at a time {:?}, together {:?}", times[0], times[1]);
    });
}

#[test]
fn a_pool_that_is_full_of_readers_goes_on() {
    with_cold_tree(32, 3000, |store, tree| async move {
        let look = |tree: Tree, task: u64| async move {
            let io = IoCounters::default();
            for n in 0..30 {
                let number = (task * 97 + n * 101) % 3000;
                let found = tree.get(&number.to_be_bytes(), &io, |value| value.len()).await;
                assert_eq!(found, Ok(Some(100)));
            }
        };
        let tasks: Vec<_> = (0..300).map(|t| runtime::spawn(look(tree.clone(), t))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        store.quiesce().await;
        let stats = store.pool();
        assert_eq!((stats.pins, stats.loading, stats.waiting), (0, 0, 0));
    });
}
