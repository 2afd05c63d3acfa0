//! The catalog in memory: an immutable snapshot per version. It holds definitions, which only DDL
//! changes; how many rows and pages there are the trees know, and row ids and sequences are counters that
//! all versions share. So a statement that changes rows makes a version without touching a table.

pub(crate) mod entry;
pub(crate) mod legacy;
pub(crate) mod persist;
pub(crate) mod records;
pub(crate) mod row_ids;
pub(crate) mod sequence;
pub(crate) mod snapshot;
pub(crate) mod tables;
pub(crate) mod temporary;
pub(crate) mod trees;
