//! Pages: buffer pool, B+tree, free space, checkpoint.
//!
//! A [`Store`] is one file of [`Tree`]s. All reading goes through the buffer pool, whose `fix` is
//! the one place where a search suspends; changes become durable by [`Store::checkpoint`], those of
//! single entries also by [`Store::log`]. The file's form is specified in `docs/format/`, the rules of the pool in this crate's `README.md`.

mod allocator;
mod archive;
mod cache;
mod directory;
mod error;
mod extent;
mod gate;
mod header;
pub mod latch;
mod le;
mod log;
mod meta;
mod node;
mod overflow;
mod page;
mod pageset;
pub mod planted;
mod pool;
pub mod simulation;
mod space;
mod store;
mod syncs;
mod tree;
mod tree_id;

pub use archive::{
    ArchiveOptions, ArchiveStatus, RestoreError, RestoreProgress, Restored, Until, restore,
};
pub use error::{Damage, Result, StorageError};
pub use header::{FILE_MAGIC, FILE_VERSION};
pub use log::Redo;
pub use overflow::VALUE_LEN_MAX;
pub use page::{PAGE_SIZE_MAX, PAGE_SIZE_MIN, PageId};
pub use pool::{FRAME_COUNT_MIN, PoolStats, RUN_PAGES_MAX};
pub use store::{
    CheckpointTurn, CopyProgress, Problem, RecoveryPhase, RecoveryProgress, RecoveryStep, Store,
    StoreOptions, Underway, VerifyReport,
};
pub use tree::{
    BulkLoader, Cursor, Depth, Direction, EXTENT_PAGES, Inserted, LeafEntries, LeafRows, LongValue,
    RangePart, Tree, TreeReport, TreeStats, VisitEntries, VisitRange,
};
pub use tree_id::TreeId;
