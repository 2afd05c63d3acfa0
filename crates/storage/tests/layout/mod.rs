//! The layout of files in tests: in place, or as `DOVETAIL_LAYOUT=out-of-place` says.

use storage::{Layout, StoreOptions};

/// The defaults with that layout. Tests that count requests, or have a power cut at a write of one
/// schedule, are of files with pages in place alone.
pub fn options() -> StoreOptions {
    let out_of_place = std::env::var("DOVETAIL_LAYOUT").is_ok_and(|name| name == "out-of-place");
    let layout =
        if out_of_place { Layout::OutOfPlace { extent_pages: 16 } } else { Layout::InPlace };
    StoreOptions { layout, ..StoreOptions::default() }
}
