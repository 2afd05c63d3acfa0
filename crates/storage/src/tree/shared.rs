//! What a tree is, apart from its pages.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::directory::TreeRecord;
use crate::page::PageId;
use crate::tree::hashed::directory::HashDirectory;
use crate::tree::shortcuts::Shortcuts;
use crate::tree_id::TreeId;

/// What the tree is, apart from its pages.
pub(crate) struct TreeShared {
    pub id: TreeId,
    pub root: PageId,
    pub(crate) height: AtomicU32,
    pub(crate) leaf_pages: AtomicU64,
    pub(crate) inner_pages: AtomicU64,
    pub(crate) entries: AtomicU64,
    pub(crate) overflow_pages: AtomicU64,
    /// Whether a bulk load is under way.
    pub(crate) loading: AtomicBool,
    /// Whether the tree is gone, whoever has a handle on it.
    pub(crate) dropped: AtomicBool,
    /// Where leaves are, for trees whose keys begin with a hash.
    pub(crate) hashes: HashDirectory,
    pub(crate) shortcuts: Shortcuts,
}

impl TreeShared {
    /// An empty tree whose root is an empty leaf.
    pub fn empty(id: TreeId, root: PageId) -> TreeShared {
        TreeShared::from_record(&TreeRecord {
            id,
            root,
            height: 1,
            leaf_pages: 1,
            inner_pages: 0,
            entries: 0,
            overflow_pages: 0,
        })
    }

    pub fn from_record(record: &TreeRecord) -> TreeShared {
        TreeShared {
            id: record.id,
            root: record.root,
            height: AtomicU32::new(record.height),
            leaf_pages: AtomicU64::new(record.leaf_pages),
            inner_pages: AtomicU64::new(record.inner_pages),
            entries: AtomicU64::new(record.entries),
            overflow_pages: AtomicU64::new(record.overflow_pages),
            loading: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
            hashes: HashDirectory::default(),
            shortcuts: Shortcuts::default(),
        }
    }

    /// Nodes of the tree are neither made nor freed any more.
    pub fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Relaxed);
    }

    pub fn record(&self) -> TreeRecord {
        TreeRecord {
            id: self.id,
            root: self.root,
            height: self.height.load(Ordering::Relaxed),
            leaf_pages: self.leaf_pages.load(Ordering::Relaxed),
            inner_pages: self.inner_pages.load(Ordering::Relaxed),
            entries: self.entries.load(Ordering::Relaxed),
            overflow_pages: self.overflow_pages.load(Ordering::Relaxed),
        }
    }
}
