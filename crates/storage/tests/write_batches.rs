//! Pages leave the pool one at a time or in batches (`Store::write_in_batches_of`): the rows are the same.

mod layout;

use std::collections::BTreeMap;

use runtime::sim::Disk;
use runtime::{Config, IoCounters, RingChoice, Runtime};
use stdx::Prng;
use storage::{Store, StoreOptions};

const ROWS: u32 = 20_000;

/// Changes rows of a table ten times the pool, checkpoints in the middle, and looks at all of them.
fn check(batch: usize) {
    let ring = RingChoice::Sim(Disk::new(11));
    let runtime = Runtime::start(Config { workers: 1, ring, ..Config::default() }).unwrap();
    runtime.block_on(move || async move {
        let options = StoreOptions { pool_bytes: 64 * 4096, ..layout::options() };
        let store = Store::create("/db".as_ref(), options).await.unwrap();
        let tree = store.tree(store.create_tree().await.unwrap()).unwrap();
        let mut model: BTreeMap<u32, u32> = (0..ROWS).map(|row| (row, row)).collect();
        let mut loader = tree.bulk_loader().await.unwrap();
        for (row, value) in &model {
            loader.push(&row.to_be_bytes(), &wide(*value)).await.unwrap();
        }
        loader.finish().await.unwrap();
        store.checkpoint().await.unwrap();
        store.write_in_batches_of(batch);
        let (io, mut prng) = (IoCounters::default(), Prng::new(batch as u64));
        for step in 0..4_000 {
            let (row, value) = (prng.below(u64::from(ROWS)) as u32, prng.next_u64() as u32);
            assert!(tree.replace(&row.to_be_bytes(), &wide(value), &io).await.unwrap());
            model.insert(row, value);
            if step == 2_000 {
                store.checkpoint().await.unwrap();
            }
        }
        for (row, value) in &model {
            let key = row.to_be_bytes();
            let same = tree.get(&key, &io, |bytes| bytes == wide(*value)).await.unwrap();
            assert_eq!(same, Some(true), "row {row}, batches of {batch}");
        }
        let pool = store.pool();
        assert!(pool.kept * 8 <= pool.frames * 3, "changed pages crowd the pool: {pool:?}");
        store.verify().await.unwrap();
    });
}

fn wide(value: u32) -> [u8; 100] {
    let mut bytes = [7; 100];
    bytes[..4].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn one_at_a_time() {
    check(1);
}

#[test]
fn few_at_a_time() {
    check(4);
}

#[test]
fn in_batches() {
    check(64);
}
