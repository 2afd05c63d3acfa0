//! The layout of files in tests: in place, or as `DOVETAIL_LAYOUT=out-of-place` says.

use storage::{Layout, StoreOptions};

/// The defaults with that layout.
pub fn options() -> StoreOptions {
    let out_of_place = std::env::var("DOVETAIL_LAYOUT").is_ok_and(|name| name == "out-of-place");
    let layout =
        if out_of_place { Layout::OutOfPlace { extent_pages: 16 } } else { Layout::InPlace };
    StoreOptions { layout, ..StoreOptions::default() }
}
