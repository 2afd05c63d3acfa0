//! Conversion of files with pages in place to the layout out of place (`docs/format/places.md`,
//! section 8).

mod placed;
mod simulated;

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;

use placed::{PAGE, PATH, key, options};
use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoCounters, Runtime};
use simulated::simulated;
use storage::{ArchiveOptions, Damage, Direction, Layout, Redo, Result, StorageError};
use storage::{Store, StoreOptions, TreeId};

/// All entries, by tree.
type State = BTreeMap<TreeId, BTreeMap<Vec<u8>, Vec<u8>>>;

const ROWS: u32 = 800;

fn in_place() -> StoreOptions {
    StoreOptions { layout: Layout::InPlace, log: true, ..options(64) }
}

fn placed() -> StoreOptions {
    StoreOptions { log: true, ..options(64) }
}

/// Trees of which one is dropped and two are changed, a long value, and commits in the log alone.
async fn change() -> Result<()> {
    let store = Store::create(PATH.as_ref(), in_place()).await?;
    let mut trees = Vec::new();
    for _ in 0..3 {
        let tree = store.tree(store.create_tree().await?)?;
        let mut loader = tree.bulk_loader().await?;
        for row in 0..ROWS {
            loader.push(&key(row), &[0; 100]).await?;
        }
        loader.finish().await?;
        trees.push(tree);
        store.checkpoint().await?;
    }
    store.catalog().insert(b"long", &[7; 30_000]).await?;
    let dropped = trees.remove(1);
    let id = dropped.id();
    drop(dropped);
    store.drop_tree(id).await?;
    let io = IoCounters::default();
    for round in 1..=3u8 {
        for row in (0..ROWS).step_by(5) {
            let row = row.wrapping_mul(2_654_435_761).wrapping_add(round.into()) % ROWS;
            trees[0].replace(&key(row), &[round; 90], &io).await?;
            trees[1].delete(&key(row), &io).await?;
        }
        store.checkpoint().await?;
        store.catalog().insert(&[round], b"logged").await?;
        let mut redo = Redo::default();
        redo.push(store.catalog().id(), &[round], Some(b"logged"));
        store.log(redo).await?;
    }
    Ok(())
}

/// A file with pages in place, as a power cut has left it: at the end, or at a write.
fn file(seed: u64, write: Option<u64>) -> (Disk, u64) {
    let disk = Disk::new(seed);
    disk.faults(FaultPlan { crash_at_write: write, ..FaultPlan::default() });
    simulated(&disk, || async { drop(change().await) });
    (disk.crash(seed), disk.write_count())
}

/// The contents of the file when it is opened, whole.
fn state(disk: &Disk) -> State {
    simulated(disk, || async {
        let store = Store::open(PATH.as_ref(), in_place()).await.unwrap();
        store.verify().await.unwrap();
        let state = state_of(&store).await;
        store.close().await;
        state
    })
}

async fn state_of(store: &Store) -> State {
    let (io, mut state) = (IoCounters::default(), State::new());
    for id in store.tree_ids() {
        let tree = store.tree(id).unwrap();
        let (rows, mut key) = (state.entry(id).or_default(), Vec::new());
        let mut cursor = tree.range(Unbounded, Unbounded, Direction::Forward);
        while let Some(leaf) = cursor.next(&io).await.unwrap() {
            for index in 0..leaf.len() {
                let value = leaf.entry(index, &mut key).to_vec();
                rows.insert(key.clone(), value);
            }
        }
    }
    state
}

/// A disk with what is on this one, where nobody has anything unsynced.
fn copy_of(disk: &Disk) -> Disk {
    disk.crash(1)
}

fn convert(disk: &Disk, options: StoreOptions) -> Result<()> {
    simulated(disk, || async { Store::convert(PATH.as_ref(), options).await })
}

fn bytes_of(disk: &Disk) -> Vec<u8> {
    disk.contents(PATH).expect("the store has been made")
}

/// Versions in the two header slots.
fn versions(disk: &Disk) -> [u8; 2] {
    let bytes = bytes_of(disk);
    [bytes[8], bytes[PAGE + 8]]
}

#[test]
fn a_converted_file_has_the_same_entries_and_takes_changes() {
    let (disk, _) = file(1, None);
    let before = state(&copy_of(&disk));
    convert(&disk, placed()).unwrap();
    assert_eq!(versions(&disk), [6, 6]);
    assert!(state(&disk) == before);
    let converted = bytes_of(&disk);
    convert(&disk, placed()).unwrap();
    assert!(bytes_of(&disk) == converted, "a converted file stays as it is");
    simulated(&disk, move || async move {
        let store = Store::open(PATH.as_ref(), placed()).await.unwrap();
        let written = store.place_stats().expect("pages lie out of place").written;
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let io = IoCounters::default();
        for round in 0..20u8 {
            for row in 0..ROWS / 2 {
                let key = key(row * 2);
                match round {
                    0 => drop(tree.insert(&key, &[0; 100]).await.unwrap()),
                    _ => drop(tree.replace(&key, &[round; 100], &io).await.unwrap()),
                }
            }
            store.checkpoint().await.unwrap();
        }
        store.verify().await.unwrap();
        assert!(store.place_stats().expect("places").written > written);
        let mut after = state_of(&store).await;
        after.remove(&tree.id());
        assert!(after == before);
    });
}

#[test]
fn a_power_cut_at_each_write_leaves_the_file_as_it_was_or_converted() {
    let mut converted = [0, 0];
    for seed in 0..12 {
        let (_, writes) = file(seed, None);
        let cut = (seed > 0).then(|| writes * (seed % 5 + 5) / 10);
        let (disk, _) = file(seed, cut);
        let expected = state(&copy_of(&disk));
        let whole = copy_of(&disk);
        convert(&whole, placed()).unwrap();
        for write in 1..=whole.write_count() {
            let disk = copy_of(&disk);
            disk.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() });
            convert(&disk, placed()).unwrap_err();
            let after = disk.crash(seed << 32 | write);
            let is_converted = versions(&after).contains(&6);
            converted[usize::from(is_converted)] += 1;
            assert!(state(&copy_of(&after)) == expected, "seed {seed}, write {write}");
            convert(&after, placed()).unwrap();
            assert_eq!(versions(&after), [6, 6]);
            assert!(state(&after) == expected, "seed {seed}, again after write {write}");
        }
    }
    println!("{converted:?}");
    assert!(converted[0] > 50 && converted[1] > 5, "{converted:?}");
}

#[test]
fn what_cannot_be_converted_stays_as_it_is() {
    let (disk, _) = file(1, None);
    state(&disk);
    let before = bytes_of(&disk);
    let archive =
        Some(ArchiveOptions { folder: "/archive".into(), tell: std::sync::Arc::new(|_| {}) });
    let refused = [
        in_place(),
        StoreOptions { unchanged: true, ..placed() },
        StoreOptions { archive, ..placed() },
        StoreOptions { fill_percent: 95, ..placed() },
    ];
    for options in refused {
        let error = convert(&disk, options).unwrap_err();
        assert!(matches!(error, StorageError::Option(_)), "{error}");
        assert!(bytes_of(&disk) == before);
    }
    // A page of a tree is damaged.
    let is_leaf = |at: &usize| before[at + 32] == 1 && before[at + 36] == 2;
    let leaf = (2..before.len() / PAGE).map(|page| page * PAGE).find(is_leaf);
    let leaf = leaf.expect("the tree has leaves");
    assert!(disk.rot(PATH, leaf as u64 + 2000, 1));
    let damaged = StorageError::Corrupt { pid: (leaf / PAGE) as u32, reason: Damage::Checksum };
    assert_eq!(convert(&disk, placed()), Err(damaged));
    assert_eq!(versions(&disk), [5, 5]);
}

#[test]
fn a_volume_that_is_nearly_full_has_room_for_a_map_and_a_full_one_has_not() {
    const ROWS: u32 = 220_000;
    let disk = Disk::new(3);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let store = Store::create(PATH.as_ref(), in_place()).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let mut loader = tree.bulk_loader().await.unwrap();
        for row in 0..ROWS {
            loader.push(&key(row), &[0; 100]).await.unwrap();
        }
        loader.finish().await.unwrap();
        store.checkpoint().await.unwrap();
        let capacity = Some(bytes_of(&inside).len() as u64);
        inside.faults(FaultPlan { capacity, ..FaultPlan::default() });
        let other = store.tree(store.create_tree().await.unwrap()).unwrap();
        for row in 0.. {
            let inserted = other.insert(&key(row), &[0; 100]).await.map(drop);
            let done = match inserted {
                Ok(()) if row % 200 == 0 => store.checkpoint().await,
                inserted => inserted,
            };
            if let Err(error) = done {
                assert!(error.is_disk_full() && row > 1000, "{error} at {row}");
                break;
            }
        }
        store.close().await;
    });
    let expected = state(&disk);
    let len = bytes_of(&disk).len() as u64;
    let refused = convert(&disk, placed()).unwrap_err();
    assert!(refused.is_disk_full(), "{refused}");
    assert!(refused.to_string().contains("another layout"), "{refused}");
    assert_eq!(versions(&disk), [5, 5]);
    assert!(state(&disk) == expected);
    disk.faults(FaultPlan { capacity: Some(len * 100 / 95), ..FaultPlan::default() });
    convert(&disk, placed()).unwrap();
    assert!(state(&disk) == expected);
    // It takes what frees space, and then any change.
    simulated(&disk, || async {
        let store = Store::open(PATH.as_ref(), placed()).await.unwrap();
        let tree = store.tree(TreeId(2)).unwrap();
        let io = IoCounters::default();
        let refused = tree.replace(&key(0), &[1; 100], &io).await.unwrap_err();
        assert!(refused.is_disk_full(), "{refused}");
        let other = store.tree(TreeId(3)).unwrap();
        for row in 0..1000 {
            assert!(other.delete(&key(row), &io).await.unwrap());
        }
        store.checkpoint().await.unwrap();
        drop(other);
        store.drop_tree(TreeId(3)).await.unwrap();
        store.checkpoint().await.unwrap();
        for row in (0..ROWS / 4).step_by(20) {
            assert!(tree.replace(&key(row), &[1; 100], &io).await.unwrap(), "row {row}");
            if row % 2000 == 0 {
                store.checkpoint().await.unwrap();
            }
        }
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
    });
}

#[test]
fn a_file_of_the_system_is_converted() {
    let file = std::env::temp_dir().join(format!("dovetail-convert-{}", std::process::id()));
    let config = Config { workers: 2, pin: false, ..Config::default() };
    let runtime = Runtime::start(config).expect("a runtime starts");
    runtime.block_on(move || async move {
        let store = Store::create(&file, in_place()).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        for row in 0..3000 {
            tree.insert(&key(row), &[1; 100]).await.unwrap();
        }
        store.checkpoint().await.unwrap();
        let before = state_of(&store).await;
        drop(tree);
        store.close().await;
        Store::convert(&file, placed()).await.unwrap();
        let store = Store::open(&file, placed()).await.unwrap();
        store.verify().await.unwrap();
        assert!(store.place_stats().is_some());
        assert!(state_of(&store).await == before);
        store.close().await;
        runtime::fs::remove(&file).await.unwrap();
    });
}
