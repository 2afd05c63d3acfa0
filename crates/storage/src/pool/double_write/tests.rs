//! Batches of the double-write buffer that are under way together, and what becomes of those that fail.

use std::sync::Arc;
use std::time::Duration;

use runtime::sim::{Disk, FaultPlan};
use runtime::{Config, IoBuf, RingChoice, Runtime, time};

use super::super::state::Tag;
use super::Pool;
use crate::error::Result;
use crate::page::PageId;
use crate::store::{Store, StoreOptions};

const PATH: &str = "/db";
const ROWS: u32 = 2_000;

/// A page of its own each.
type Batches = Vec<Vec<(PageId, IoBuf)>>;

fn simulated<T, F>(disk: &Disk, make: impl FnOnce() -> F + Send + 'static) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
{
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { workers: 1, ring, attack: false, pin: false, ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

/// A store with a tree that its checkpoint has, and images of some of its pages. Its double-write buffer has room.
async fn store_with_images(count: usize) -> (Store, Batches) {
    let options = StoreOptions { pool_bytes: 256 * 4096, ..StoreOptions::default() };
    let store = Store::create(PATH.as_ref(), options).await.unwrap();
    let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
    for row in 0..ROWS {
        tree.insert(&row.to_be_bytes(), &[7; 100]).await.unwrap();
    }
    store.checkpoint().await.unwrap();
    store.quiesce().await;
    let pool = &store.inner.pool;
    let resident =
        |frame: &u32| pool.frames[*frame as usize].state.snapshot().tag() == Tag::Resident;
    let frames = (0..pool.frames.len() as u32).filter(resident).take(1 + count);
    let image = |frame| (pool.frames[frame as usize].pid(), pool.image(frame).unwrap().0);
    let mut batches: Batches = frames.map(|frame| vec![image(frame)]).collect();
    pool.append_to_double_write(batches.remove(0), true).await.unwrap();
    (store, batches)
}

/// Appends all of them at the same time.
async fn append(pool: &Arc<Pool>, batches: Batches) -> Vec<Result<()>> {
    let begin = |images| {
        let pool = Arc::clone(pool);
        runtime::spawn(async move { pool.append_to_double_write(images, true).await })
    };
    let appends: Vec<_> = batches.into_iter().map(begin).collect();
    let mut outcomes = vec![];
    for append in appends {
        outcomes.push(append.await.expect("no append panics"));
    }
    outcomes
}

/// The next write finds no space.
fn fill_for_one_write(disk: &Disk) {
    let next = disk.space_op_count() + 1;
    disk.faults(FaultPlan { no_space: Some(next..next + 1), ..FaultPlan::default() });
}

#[test]
fn batches_are_written_at_the_same_time() {
    let disk = Disk::new(5);
    let (elapsed, found) = simulated(&disk, || async {
        let (store, batches) = store_with_images(8).await;
        let began = time::now();
        let outcomes = append(&store.inner.pool, batches).await;
        assert!(outcomes.iter().all(Result::is_ok));
        (began.elapsed(), store.inner.pool.double_write.len())
    });
    assert_eq!(found, 9);
    // A write takes 12 to 50 us of simulated time: one after the other they take 96 at least.
    assert!(elapsed < Duration::from_micros(90), "{elapsed:?}");
}

#[test]
fn what_a_header_names_has_no_gap() {
    let disk = Disk::new(5);
    let inside = disk.clone();
    let crashed = simulated(&disk, move || async move {
        let (store, batches) = store_with_images(8).await;
        let pool = &store.inner.pool;
        fill_for_one_write(&inside);
        let outcomes = append(pool, batches).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1);
        assert!(pool.double_write.taken().has_gap, "others follow the batch that failed");
        assert_eq!(pool.double_write.len(), 8);
        store.checkpoint().await.unwrap();
        // The images are not in their places yet: recovery reads them from the double-write buffer, all of it.
        inside.crash(1)
    });
    simulated(&crashed, || async {
        let store = Store::open(PATH.as_ref(), StoreOptions::default()).await.unwrap();
        store.verify().await.unwrap();
    });
}

#[test]
fn the_last_batch_gives_its_places_back() {
    let disk = Disk::new(5);
    let inside = disk.clone();
    simulated(&disk, move || async move {
        let (store, mut batches) = store_with_images(2).await;
        let double_write = &store.inner.pool.double_write;
        let before = *double_write.taken();
        fill_for_one_write(&inside);
        let outcomes = append(&store.inner.pool, vec![batches.remove(0)]).await;
        assert!(outcomes[0].as_ref().is_err_and(|error| error.is_disk_full()));
        let after = *double_write.taken();
        assert_eq!((after.pages, after.checksum), (before.pages, before.checksum));
        assert!(!after.has_gap);
        append(&store.inner.pool, batches).await.remove(0).unwrap();
        store.checkpoint().await.unwrap();
        store.verify().await.unwrap();
    });
}
