//! The cleaner of files whose pages lie out of place (`docs/format/places.md`, section 6).

use runtime::fs::Durability;
use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoCounters, RingChoice, Runtime};
use storage::{Layout, PlaceStats, Result, Store, StoreOptions, Tree};

const PATH: &str = "/db";
const PAGE: usize = 4096;
const ROWS: u32 = 4000;

fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { workers: 1, ring, attack: false, ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

fn options() -> StoreOptions {
    let layout = Layout::OutOfPlace { extent_pages: 16 };
    let log_durability = Some(Durability::Sync);
    StoreOptions { pool_bytes: 48 * PAGE, layout, log_durability, ..StoreOptions::default() }
}

fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}

async fn load(store: &Store, rows: u32) -> Result<Tree> {
    let tree = store.tree(store.create_tree().await?)?;
    let mut loader = tree.bulk_loader().await?;
    for row in 0..rows {
        loader.push(&key(row), &[0; 100]).await?;
    }
    loader.finish().await?;
    Ok(tree)
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
        let store = Store::create(PATH.as_ref(), options()).await.unwrap();
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
        let store = Store::create(PATH.as_ref(), options()).await.unwrap();
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
            let store = Store::open(PATH.as_ref(), options()).await.unwrap();
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
        // What recovery leaves is whole, too.
        assert!(found(&after.crash(write)) == expected, "again after write {write}");
    }
}
