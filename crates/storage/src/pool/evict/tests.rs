//! How much is written so that frames become free.

use std::cell::Cell;
use std::rc::Rc;

use runtime::sim::Disk;
use runtime::{Config, IoCounters, RingChoice, Runtime};

use super::{COMING_FACTOR, SWEEP_FRAMES};
use crate::store::{Store, StoreOptions};

const FRAMES: usize = 1024;
const ROWS: u64 = 100_000;
const TASKS: u64 = 128;

#[test]
fn no_more_is_written_ahead_than_is_wanted_soon() {
    let ring = RingChoice::Sim(Disk::new(3));
    let config = Config { workers: 1, ring, attack: false, pin: false, ..Config::default() };
    let runtime = Runtime::start(config).expect("a simulated runtime starts");
    let (most, left) = runtime.block_on(|| async {
        let options = StoreOptions { pool_bytes: FRAMES * 4096, ..StoreOptions::default() };
        let store = Store::create("/db".as_ref(), options).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let mut loader = tree.bulk_loader().await.unwrap();
        for row in 0..ROWS {
            loader.push(&row.to_be_bytes(), &[7; 100]).await.unwrap();
        }
        loader.finish().await.unwrap();
        store.checkpoint().await.unwrap();
        let most = Rc::new(Cell::new(0));
        let task = |_| {
            let (store, tree, most) = (store.clone(), tree.clone(), most.clone());
            runtime::spawn(async move {
                let io = IoCounters::default();
                for _ in 0..100 {
                    let row = runtime::random_u64() % ROWS;
                    tree.replace(&row.to_be_bytes(), &[9; 100], &io).await.unwrap();
                    let coming = store.inner.pool.free.coming();
                    most.set(coming.max(most.get()));
                }
            })
        };
        let tasks: Vec<_> = (0..TASKS).map(task).collect();
        for task in tasks {
            task.await.unwrap();
        }
        store.quiesce().await;
        drop(store.inner.pool.writing.exclusive().await);
        (most.get(), store.inner.pool.free.coming())
    });
    // The last sweep begins below what is enough.
    let enough = COMING_FACTOR * (FRAMES / 8);
    assert!((1..enough + SWEEP_FRAMES).contains(&most), "{most} frames were coming");
    assert_eq!(left, 0, "all that was written has ended");
}
