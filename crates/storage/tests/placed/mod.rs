//! Files with pages out of place, on a simulated disk.

use runtime::fs::Durability;
use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime};
use storage::{Layout, StoreOptions};

pub const PATH: &str = "/db";
pub const PAGE: usize = 4096;

/// Runs tasks in a simulated runtime without faults.
pub fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { workers: 1, ring, attack: false, ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}

/// A pool of so many pages, extents of 16, and a log.
pub fn options(pool_pages: usize) -> StoreOptions {
    let layout = Layout::OutOfPlace { extent_pages: 16 };
    let log_durability = Some(Durability::Sync);
    let pool_bytes = pool_pages * PAGE;
    StoreOptions { pool_bytes, layout, log_durability, ..StoreOptions::default() }
}

pub fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}
