//! Files with pages out of place, on a simulated disk.

use runtime::fs::Durability;
use storage::{Layout, StoreOptions};

pub const PATH: &str = "/db";
pub const PAGE: usize = 4096;

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
