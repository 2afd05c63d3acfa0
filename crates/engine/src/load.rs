//! Bulk load: rows are encoded, sorted per tree, and written bottom-up into new trees, which
//! replace the old ones in one checkpoint. A crash at any moment leaves the old or the new table.

pub(crate) mod index;
pub(crate) mod keys;
pub(crate) mod leaving;
pub(crate) mod loader;
pub(crate) mod sorting;
pub(crate) mod table_loader;
pub(crate) mod target;
pub(crate) mod tree;
