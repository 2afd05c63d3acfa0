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
mod page_map;
mod pageset;
mod places;
pub mod planted;
mod pool;
pub mod simulation;
mod space;
mod store;
mod syncs;
mod tree;
mod tree_id;
mod volume;

pub use allocator::SpentReserve;
pub use archive::follow::{Advanced, Changes, FollowError, Followed, Follower, follows, release};
pub use archive::position::{LogPosition, SegmentPlace};
pub use archive::restore::{RestoreError, RestoreProgress, Restored, Until, restore};
pub use archive::ship::{Courier, Inbox, Shipment};
pub use archive::{ArchiveOptions, ArchiveStatus};
pub use error::{Damage, MemberFault, Result, StorageError};
pub use header::{FILE_MAGIC, FILE_VERSION};
pub use log::redo::Redo;
pub use overflow::VALUE_LEN_MAX;
pub use page::{PAGE_SIZE_MAX, PAGE_SIZE_MIN, PageId};
pub use page_map::PlaceStats;
pub use places::Layout;
pub use pool::load::RUN_PAGES_MAX;
pub use pool::{FRAME_COUNT_MIN, PoolStats};
pub use store::backup::CopyProgress;
pub use store::members::{add_member, members, remove_member};
pub use store::progress::{RecoveryPhase, RecoveryProgress, RecoveryStep};
pub use store::undo_space::UndoSpace;
pub use store::verify::{Problem, VerifyReport};
pub use store::{CheckpointTurn, Store, StoreOptions, Underway};
pub use tree::bulk::BulkLoader;
pub use tree::change::Inserted;
pub use tree::cursor::{Cursor, Direction, LeafRows};
pub use tree::long::LongValue;
pub use tree::part::{EXTENT_PAGES, Expanded, RangePart};
pub use tree::ranges::VisitRange;
pub use tree::runs::{LeafEntries, VisitEntries};
pub use tree::verify::TreeReport;
pub use tree::{Depth, Tree, TreeStats};
pub use tree_id::TreeId;
pub use volume::{Geometry, MemberInfo, VolumeOptions};
