//! The cleaner of files whose pages lie out of place, full volumes, and space that is given back
//! (`docs/format/places.md`).

mod placed;
mod simulated;

use placed::{PATH, key, options};
use runtime::IoCounters;
use runtime::sim::{Disk, FaultPlan, Latency};
use simulated::simulated;
use storage::{Layout, PlaceStats, Result, Store, StoreOptions, Tree};

const ROWS: u32 = 4000;

async fn load(store: &Store, rows: u32) -> Result<Tree> {
    let tree = store.tree(store.create_tree().await?)?;
    load_into(&tree, rows).await?;
    Ok(tree)
}

async fn load_into(tree: &Tree, rows: u32) -> Result<()> {
    let mut loader = tree.bulk_loader().await?;
    for row in 0..rows {
        loader.push(&key(row), &[0; 100]).await?;
    }
    loader.finish().await
}

/// Changes rows here and there, most of them among a tenth of all.
async fn change(tree: &Tree, rounds: u32) -> Result<()> {
    let io = IoCounters::default();
    for round in 1..=rounds {
        for at in 0..300u32 {
            let row = (at + round * 300).wrapping_mul(2_654_435_761) % ROWS;
            let row = if at % 4 == 0 { row } else { row / 10 };
            assert!(tree.replace(&key(row), &[round as u8; 100], &io).await?);
        }
    }
    Ok(())
}

fn stats(store: &Store) -> PlaceStats {
    store.place_stats().expect("pages lie out of place")
}

/// Checks that the extents are not much more than what is needed in them.
fn check_fill(stats: &PlaceStats) {
    let needed = stats.live + stats.kept + stats.replaced;
    let places = stats.extents * u64::from(stats.extent_pages) - stats.places_left;
    assert!(needed * 100 > places * 50, "{stats:?}");
}

#[test]
fn extents_are_cleaned_without_a_checkpoint() {
    simulated(&Disk::new(1), || async {
        let store = Store::create(PATH.as_ref(), options(48)).await.unwrap();
        let tree = load(&store, ROWS).await.unwrap();
        store.checkpoint().await.unwrap();
        let number = store.checkpoint_number();
        for _ in 0..10 {
            change(&tree, 10).await.unwrap();
            store.quiesce().await;
            check_fill(&stats(&store));
        }
        store.verify().await.unwrap();
        let stats = stats(&store);
        assert_eq!(store.checkpoint_number(), number);
        assert!(stats.written > 1000, "{stats:?}");
        assert!(stats.moved > 100, "{stats:?}");
        assert!(stats.map_pages > 0, "the map was written without a checkpoint: {stats:?}");
    });
}

/// Changes pages behind a checkpoint without another one, and has the power fail at a write.
fn cut_at(write: Option<u64>) -> (Disk, u64) {
    let disk = Disk::new(2);
    let machine = disk.clone();
    let writes = simulated(&disk, move || async move {
        let store = Store::create(PATH.as_ref(), options(48)).await.unwrap();
        let tree = load(&store, ROWS).await.unwrap();
        change(&tree, 2).await.unwrap();
        store.checkpoint().await.unwrap();
        let before = machine.write_count();
        let crash_at_write = write.map(|write| before + write);
        machine.faults(FaultPlan { crash_at_write, ..FaultPlan::default() });
        if change(&tree, 20).await.is_ok() {
            store.quiesce().await;
        }
        machine.write_count() - before
    });
    (disk, writes)
}

async fn rows_of(store: &Store) -> Vec<u8> {
    let io = IoCounters::default();
    let id = store.tree_ids().into_iter().max().expect("there are trees");
    let tree = store.tree(id).unwrap();
    let mut rows = Vec::new();
    for row in 0..ROWS {
        rows.push(tree.get(&key(row), &io, |value| value[0]).await.unwrap().expect("the row"));
    }
    rows
}

#[test]
fn the_last_checkpoint_is_found_whatever_was_moved_since() {
    let found = |disk: &Disk| {
        simulated(disk, || async {
            let store = Store::open(PATH.as_ref(), options(48)).await.unwrap();
            store.verify().await.unwrap();
            rows_of(&store).await
        })
    };
    let expected = found(&cut_at(Some(1)).0.crash(1));
    let (_, writes) = cut_at(None);
    assert!(writes > 300, "{writes}");
    for write in (2..writes).step_by(41) {
        let disk = cut_at(Some(write)).0;
        let after = disk.crash(write);
        assert!(found(&after) == expected, "power cut at write {write}");
        // The state after recovery is whole, too.
        assert!(found(&after.crash(write)) == expected, "again after write {write}");
    }
}

/// Inserts rows until there is no space; how many.
async fn fill(tree: &Tree, from: u32) -> u32 {
    for row in from.. {
        match tree.insert(&key(row), &[1; 100]).await {
            Ok(_) => {}
            Err(error) => {
                assert!(error.is_disk_full(), "{error}");
                return row - from;
            }
        }
    }
    unreachable!("the disk is full at last")
}

#[test]
fn a_full_volume_takes_what_frees_space() {
    let disk = Disk::new(3);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let store = Store::create(PATH.as_ref(), options(48)).await.unwrap();
        let other = load(&store, ROWS).await.unwrap();
        let tree = load(&store, 10).await.unwrap();
        store.checkpoint().await.unwrap();
        inside.faults(FaultPlan { capacity: Some(3 << 20), ..FaultPlan::default() });
        let count = fill(&tree, 10).await;
        assert!(count > 1000, "{count}");
        // Rows are deleted, and a checkpoint makes their space free.
        let io = IoCounters::default();
        for row in 10 + count / 2..10 + count {
            assert!(tree.delete(&key(row), &io).await.unwrap(), "row {row}");
            if row % 50 == 0 {
                store.checkpoint().await.unwrap();
            }
        }
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
        let again = fill(&tree, 50_000).await;
        assert!(again > count / 4, "{again} of {count}");
        // So is a whole tree.
        fill(&tree, 100_000).await;
        let id = other.id();
        drop(other);
        store.drop_tree(id).await.unwrap();
        store.checkpoint().await.unwrap();
        assert!(fill(&tree, 200_000).await > ROWS / 2);
        store.verify().await.unwrap();
    });
}

#[test]
fn a_tree_is_rewritten_on_a_full_volume_by_whoever_spends_the_reserve() {
    const REWRITTEN: u32 = 400;
    let disk = Disk::new(5);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let store = Store::create(PATH.as_ref(), options(48)).await.unwrap();
        let mut tree = load(&store, REWRITTEN).await.unwrap();
        let other = load(&store, ROWS).await.unwrap();
        let empty = store.tree(store.create_tree().await.unwrap()).unwrap();
        store.checkpoint().await.unwrap();
        inside.faults(FaultPlan { capacity: Some(3 << 20), ..FaultPlan::default() });
        fill(&other, 10_000).await;
        store.checkpoint().await.unwrap();
        fill(&other, 50_000).await;
        let refused = load_into(&empty, REWRITTEN).await.unwrap_err();
        assert!(refused.is_disk_full(), "{refused}");
        // The space of the old tree is the reserve of the next round.
        for round in 0..4 {
            let reserve = store.spend_reserve();
            let new = load(&store, REWRITTEN).await;
            let new = new.unwrap_or_else(|error| panic!("round {round}: {error}"));
            let id = tree.id();
            drop(std::mem::replace(&mut tree, new));
            store.drop_tree(id).await.unwrap();
            store.checkpoint().await.unwrap();
            drop(reserve);
            let trees = store.verify().await.unwrap().trees;
            let report = trees.iter().find(|(id, _)| *id == tree.id()).expect("the new tree");
            assert_eq!(report.1.entries, u64::from(REWRITTEN), "round {round}");
        }
    });
}

#[test]
fn a_refused_load_can_be_tried_again_at_once() {
    for layout in [Layout::InPlace, options(48).layout] {
        let disk = Disk::new(6);
        let inside = disk.clone();
        simulated(&disk, move || async move {
            let options = StoreOptions { layout, ..options(48) };
            let store = Store::create(PATH.as_ref(), options).await.unwrap();
            let tree = load(&store, 0).await.unwrap();
            store.checkpoint().await.unwrap();
            inside.faults(FaultPlan { capacity: Some(4 << 20), ..FaultPlan::default() });
            inside.latency(Latency { write_ns: 100_000_000, ..Latency::default() });
            let mut loader = tree.bulk_loader().await.unwrap();
            // Some leaves are being written when a long value finds no space.
            for row in 0..400 {
                loader.push(&key(row), &[0; 100]).await.unwrap();
            }
            let refused = loader.push(&key(400), &vec![0; 8 << 20]).await.unwrap_err();
            assert!(refused.is_disk_full(), "{refused}");
            drop(loader);
            load_into(&tree, 400).await.unwrap();
            store.checkpoint().await.unwrap();
            store.verify().await.unwrap();
        });
    }
}

#[test]
fn space_is_given_back_to_the_file_system_and_asked_for_again() {
    let disk = Disk::new(4);
    simulated(&disk, || async {
        let store = Store::create(PATH.as_ref(), options(48)).await.unwrap();
        for round in 0..3 {
            let tree = load(&store, 10 * ROWS).await.unwrap();
            store.checkpoint().await.unwrap();
            let before = stats(&store).given_back;
            let id = tree.id();
            drop(tree);
            store.drop_tree(id).await.unwrap();
            store.checkpoint().await.unwrap();
            // Frames that somebody looked at are free after another one.
            store.catalog().insert(format!("round {round}").as_bytes(), b"").await.unwrap();
            store.checkpoint().await.unwrap();
            store.verify().await.unwrap();
            let given_back = stats(&store).given_back - before;
            assert!(given_back > 4 << 20, "round {round}: {given_back} bytes");
        }
        store.close().await;
        let store = Store::open(PATH.as_ref(), options(48)).await.unwrap();
        load(&store, 10 * ROWS).await.unwrap();
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
    });
}
