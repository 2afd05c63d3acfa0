//! Deleting and replacing: trees shrink, pages are used again, readers beside it see whole trees.

mod layout;

use std::collections::BTreeMap;
use std::ops::Bound;

use runtime::sim::Disk;
use runtime::{Config, IoCounters, RingChoice, Runtime};
use stdx::Prng;
use storage::{Depth, Direction, Inserted, RangePart, Store, StoreOptions, Tree};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Runs a test in a simulated world with a store of `frames` frames.
fn check<F: Future<Output = ()> + 'static>(
    frames: usize,
    page_size: u32,
    test: impl FnOnce(Store, Prng) -> F + Send + 'static,
) {
    let ring = RingChoice::Sim(Disk::new(5));
    let runtime = Runtime::start(Config { workers: 1, ring, ..Config::default() }).unwrap();
    runtime.block_on(move || async move {
        let pool_bytes = frames * page_size as usize;
        let options = StoreOptions { pool_bytes, page_size, ..layout::options() };
        let store = Store::create("/db".as_ref(), options).await.unwrap();
        test(store.clone(), Prng::new(7)).await;
        store.verify().await.unwrap();
    });
}

async fn new_tree(store: &Store) -> Tree {
    store.tree(store.create_tree().await.unwrap()).unwrap()
}

async fn rows_of(tree: &Tree, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    let io = IoCounters::default();
    let (mut rows, mut key) = (Vec::new(), Vec::new());
    let mut cursor = tree.range(Bound::Unbounded, Bound::Unbounded, direction);
    while let Some(leaf) = cursor.next(&io).await.unwrap() {
        for index in 0..leaf.len() {
            let value = leaf.entry(index, &mut key).to_vec();
            rows.push((key.clone(), value));
        }
    }
    rows
}

fn shuffle<T>(items: &mut [T], prng: &mut Prng) {
    for i in (1..items.len()).rev() {
        items.swap(i, prng.below(i as u64 + 1) as usize);
    }
}

#[test]
fn a_tree_that_is_emptied_in_any_order_is_one_leaf_again() {
    for page_size in [4096, 16384] {
        for order in ["ascending", "descending", "random"] {
            check(256, page_size, async move |store, mut prng| {
                let io = IoCounters::default();
                let tree = new_tree(&store).await;
                let mut keys: Vec<_> = (0..20_000u32).map(u32::to_be_bytes).collect();
                shuffle(&mut keys, &mut prng);
                for key in &keys {
                    let inserted = tree.insert(key, &[7; 60]).await.unwrap();
                    assert_eq!(inserted, Inserted::New);
                }
                assert!(tree.stats().height >= 3 || page_size > 4096, "{:?}", tree.stats());
                match order {
                    "ascending" => keys.sort(),
                    "descending" => keys.sort_by(|a, b| b.cmp(a)),
                    _ => shuffle(&mut keys, &mut prng),
                }
                for (at, key) in keys.iter().enumerate() {
                    assert!(tree.delete(key, &io).await.unwrap());
                    assert!(!tree.delete(key, &io).await.unwrap());
                    if at % 4000 == 0 {
                        store.verify().await.unwrap();
                    }
                }
                let stats = tree.stats();
                assert_eq!((stats.height, stats.leaf_pages, stats.inner_pages), (1, 1, 0));
                assert_eq!(stats.entries, 0);
                store.checkpoint().await.unwrap();
                let (pages, free) = store.page_counts();
                assert!(free + 8 > u64::from(pages), "{free} of {pages} pages are free");
            });
        }
    }
}

#[test]
fn leaves_stay_filled_when_most_entries_go() {
    check(512, 4096, async |store, mut prng| {
        let io = IoCounters::default();
        let tree = new_tree(&store).await;
        for number in 0..40_000u32 {
            tree.insert(&number.to_be_bytes(), &[1; 50]).await.unwrap();
        }
        let before = tree.stats();
        for number in 0..40_000u32 {
            if !prng.chance(0.1) {
                tree.delete(&number.to_be_bytes(), &io).await.unwrap();
            }
        }
        let after = tree.stats();
        let fill = after.entries * 64 * 100 / (after.leaf_pages * 4096);
        assert!(fill >= 40, "leaves are {fill} percent full: {before:?} {after:?}");
    });
}

#[test]
fn leaves_stay_filled_when_values_become_shorter() {
    for short_len in [0, 8] {
        check(512, 4096, async move |store, _| {
            let io = IoCounters::default();
            let tree = new_tree(&store).await;
            for number in 0..10_000u32 {
                tree.insert(&number.to_be_bytes(), &[1; 200]).await.unwrap();
            }
            let before = tree.stats();
            for number in 0..10_000u32 {
                let value = vec![2; short_len];
                assert!(tree.replace(&number.to_be_bytes(), &value, &io).await.unwrap());
            }
            let after = tree.stats();
            let fill = after.entries * (14 + short_len as u64) * 100 / (after.leaf_pages * 4096);
            assert!(fill >= 35, "leaves are {fill} percent full: {before:?} {after:?}");
            // Long values leave references behind, which are shorter than what they replace.
            for number in (0..10_000u32).step_by(40) {
                tree.replace(&number.to_be_bytes(), &[3; 900], &io).await.unwrap();
                tree.replace(&number.to_be_bytes(), &[4; 5000], &io).await.unwrap();
            }
            store.verify().await.unwrap();
            let long = tree.get(&40u32.to_be_bytes(), &io, <[u8]>::to_vec).await.unwrap();
            assert_eq!(long, Some(vec![4; 5000]));
        });
    }
}

#[test]
fn a_file_does_not_grow_while_rows_come_and_go() {
    check(512, 4096, async |store, _| {
        let io = IoCounters::default();
        let tree = new_tree(&store).await;
        let mut pages_then = 0;
        for round in 0..60u32 {
            for number in round * 1000..(round + 1) * 1000 {
                tree.insert(&number.to_be_bytes(), &[1; 90]).await.unwrap();
                if number >= 5000 {
                    tree.delete(&(number - 5000).to_be_bytes(), &io).await.unwrap();
                }
            }
            store.checkpoint().await.unwrap();
            if round == 15 {
                pages_then = store.page_counts().0;
            }
        }
        let pages = store.page_counts().0;
        assert!(pages <= pages_then + pages_then / 10, "{pages_then} pages have become {pages}");
    });
}

#[test]
fn random_changes_agree_with_a_sorted_map() {
    check(64, 4096, async |store, mut prng| {
        let io = IoCounters::default();
        let tree = new_tree(&store).await;
        let mut model = Rows::new();
        for step in 0..30_000u32 {
            // Waves: the tree grows for a while, then shrinks.
            let grows = (step / 6000).is_multiple_of(2);
            let key = vec![b'a' + prng.below(20) as u8; 1 + prng.below(80) as usize];
            let key = [key, (prng.below(60) as u16).to_be_bytes().to_vec()].concat();
            let len_max = if prng.chance(0.05) { 900 } else { 80 };
            let value = vec![step as u8; prng.below(len_max) as usize];
            match (prng.below(10), grows) {
                (0..3, _) => {
                    let found = tree.replace(&key, &value, &io).await.unwrap();
                    assert_eq!(found, model.contains_key(&key), "step {step}");
                    model.entry(key).and_modify(|old| *old = value);
                }
                (3..8, true) | (3..4, false) => {
                    tree.insert(&key, &value).await.unwrap();
                    model.entry(key).or_insert(value);
                }
                _ => {
                    let near = model.range(key.clone()..).next().map(|(key, _)| key.clone());
                    let key = near.unwrap_or(key);
                    let found = tree.delete(&key, &io).await.unwrap();
                    assert_eq!(found, model.remove(&key).is_some(), "step {step}");
                }
            }
            if step % 3000 == 0 {
                store.verify().await.unwrap();
                let mut rows: Vec<_> = model.clone().into_iter().collect();
                assert!(rows_of(&tree, Direction::Forward).await == rows, "step {step}");
                rows.reverse();
                assert!(rows_of(&tree, Direction::Backward).await == rows, "step {step}");
            }
        }
    });
}

/// Keys of which one half stays while the other comes and goes: readers must always see all of the
/// first half, each once.
async fn churn(store: Store, tree: Tree, task: u64, rounds: u64) {
    let io = IoCounters::default();
    let mut prng = Prng::new(task);
    for round in 0..rounds {
        let begin = prng.below(3000) as u32;
        for number in begin..begin + 400 {
            let key = (number * 16 + 1 + task as u32).to_be_bytes();
            match round % 2 {
                0 => drop(tree.insert(&key, &[9; 70]).await.unwrap()),
                _ => drop(tree.delete(&key, &io).await.unwrap()),
            }
        }
        for number in 0..3400u32 {
            let key = (number * 16 + 1 + task as u32).to_be_bytes();
            tree.delete(&key, &io).await.unwrap();
        }
        if round % 3 == task % 3 {
            store.checkpoint().await.unwrap();
        }
    }
}

async fn watch(tree: Tree, task: u64, rounds: u32) {
    let io = IoCounters::default();
    let depth = if task.is_multiple_of(2) { Depth::Many } else { Depth::One };
    for round in 0..rounds {
        let keys: Vec<_> = (0..340u32).map(|n| (n * 10 * 16).to_be_bytes()).collect();
        let mut found = 0;
        tree.get_batch(&keys, depth, &io, &mut |_, _| found += 1).await.unwrap();
        assert_eq!(found, keys.len(), "round {round}");
        let mut found = 0;
        let ranges: Vec<_> =
            keys.iter().map(|key| (key.to_vec(), [&key[..], &[0]].concat())).collect();
        tree.range_batch(&ranges, depth, &io, &mut |_, _, _| found += 1).await.unwrap();
        assert_eq!(found, keys.len(), "round {round}");
        let mut seen = Vec::new();
        let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Unbounded)];
        while let Some(part) = parts.pop() {
            let mut visit = |key: &[u8], _: &[u8]| seen.push(key.to_vec());
            let children = tree.expand(part, depth, &io, &mut visit).await.unwrap();
            parts.extend(children.into_iter().rev());
        }
        let backward = rows_of(&tree, Direction::Backward).await.into_iter().rev();
        for rows in [seen, backward.map(|(key, _)| key).collect()] {
            assert!(rows.is_sorted_by(|a, b| a < b), "round {round}: out of order");
            let staying = rows.iter().filter(|key| key[3] & 15 == 0).count();
            assert_eq!(staying, 3400, "round {round}");
        }
    }
}

#[test]
fn readers_see_whole_trees_while_nodes_are_merged_and_pages_used_again() {
    let path = std::env::temp_dir().join(format!("dovetail-changes-{}", std::process::id()));
    let config = Config { workers: 4, ring: RingChoice::Auto, ..Config::default() };
    let runtime = Runtime::start(config).expect("a ring is found");
    runtime.block_on(move || async move {
        let options = StoreOptions { pool_bytes: 100 * 4096, direct: false, ..layout::options() };
        let store = Store::create(&path, options).await.unwrap();
        let tree = new_tree(&store).await;
        for number in 0..3400u32 {
            tree.insert(&(number * 16).to_be_bytes(), &[3; 20]).await.unwrap();
        }
        let mut running = Vec::new();
        for task in 0..6u64 {
            let (store, tree) = (store.clone(), tree.clone());
            let worker = task as usize % 4;
            running.push(match task < 3 {
                true => runtime::spawn_on(worker, move || churn(store, tree, task, 8)),
                false => runtime::spawn_on(worker, move || watch(tree, task, 25)),
            });
        }
        for task in running {
            task.await.unwrap();
        }
        store.quiesce().await;
        store.verify().await.unwrap();
        runtime::fs::remove(&path).await.unwrap();
    });
}

/// Expands parts, in order, to the rows that they have now.
async fn rows_of_parts(tree: &Tree, parts: &[RangePart], depth: Depth) -> Vec<Vec<u8>> {
    let io = IoCounters::default();
    let mut keys = Vec::new();
    let mut stack: Vec<_> = parts.iter().rev().cloned().collect();
    while let Some(part) = stack.pop() {
        let mut visit = |key: &[u8], _: &[u8]| keys.push(key.to_vec());
        let children = tree.expand(part, depth, &io, &mut visit).await.unwrap();
        stack.extend(children.into_iter().rev());
    }
    keys
}

#[test]
fn an_old_search_finds_its_way_whatever_lies_where_its_leaves_were() {
    check(1000, 4096, async |store, _| {
        let io = IoCounters::default();
        let tree = new_tree(&store).await;
        for number in 0..6000u32 {
            tree.insert(&number.to_be_bytes(), &[1; 90]).await.unwrap();
        }
        store.checkpoint().await.unwrap();
        let root = tree.root_part(Bound::Unbounded, Bound::Unbounded);
        let old = tree.expand(root, Depth::Many, &io, &mut |_, _| ()).await.unwrap();
        for number in 500..5500u32 {
            assert!(tree.delete(&number.to_be_bytes(), &io).await.unwrap());
        }
        let staying: Vec<_> =
            (0..500u32).chain(5500..6000).map(|number| number.to_be_bytes().to_vec()).collect();
        let look = async |what: &str| {
            for depth in [Depth::One, Depth::Many] {
                assert!(rows_of_parts(&tree, &old, depth).await == staying, "{what}, {depth:?}");
            }
        };
        look("marked pages").await;
        store.checkpoint().await.unwrap();
        store.drop_cache().await;
        // This leaves the marked pages in the pool, from where the load has to make them go.
        look("marked pages on disk").await;
        let pages = store.page_counts().0;
        let loaded = new_tree(&store).await;
        let mut loader = loaded.bulk_loader().await.unwrap();
        for number in 0..900u32 {
            loader.push(&number.to_be_bytes(), &[2; 90]).await.unwrap();
        }
        loader.finish().await.unwrap();
        assert_eq!(store.page_counts().0, pages, "the load uses the free pages");
        assert_eq!(rows_of(&loaded, Direction::Forward).await.len(), 900);
        look("pages of another tree").await;
        // A double-write buffer over the rest of the free pages: every page of the new tree has changed.
        store.checkpoint().await.unwrap();
        for number in 0..900u32 {
            loaded.replace(&number.to_be_bytes(), &[3; 90], &io).await.unwrap();
        }
        store.checkpoint().await.unwrap();
        assert_eq!(store.page_counts().0, pages, "the double-write buffer uses the free pages");
        store.drop_cache().await;
        look("a double-write buffer").await;
        let numbers: Vec<_> = (0..6000u32).step_by(7).map(u32::to_be_bytes).collect();
        let mut found = 0;
        tree.get_batch(&numbers, Depth::Many, &io, &mut |_, _| found += 1).await.unwrap();
        assert_eq!(found, numbers.iter().filter(|key| staying.contains(&key.to_vec())).count());
    });
}
