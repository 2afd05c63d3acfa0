//! Long values on their way into a tree: their pages are written, and not yet part of anything.

use std::sync::Arc;

use super::StoreInner;
use super::undo_space::UndoSpace;
use crate::error::Result;
use crate::extent::Extent;
use crate::overflow::{self, Reference};
use crate::page::PageId;
use crate::page_map::Claim;
use crate::tree_id::TreeId;

/// Pages of long values. They become part of a tree by `keep`, and are free again without it.
pub(crate) struct Draft {
    store: Arc<StoreInner>,
    load: u64,
    kept: bool,
    claim: Claim,
    /// Pages that are held for it.
    held: Option<Arc<UndoSpace>>,
    /// Number of pages written so far.
    pub pages: u64,
}

impl Draft {
    pub fn new(store: &Arc<StoreInner>) -> Draft {
        Draft::with(store, Claim::Ordinary, None)
    }

    /// The same for a purpose; its pages are those that are `held`, if there are such.
    pub fn with(store: &Arc<StoreInner>, claim: Claim, held: Option<Arc<UndoSpace>>) -> Draft {
        let load = store.space().begin_load();
        Draft { store: Arc::clone(store), load, kept: false, claim, held, pages: 0 }
    }

    async fn take(&self, pages: u32) -> Result<Extent> {
        let taken = self.held.as_ref().and_then(|held| held.take_for_load(self.load, pages));
        if let Some(taken) = taken {
            return Ok(taken);
        }
        let (load, keep) = (self.load, self.store.keep_of(self.claim));
        let allocator = &self.store.allocator;
        allocator.take_by(|space, held| space.take_for_load(load, pages, held, keep)).await
    }

    /// Makes the pages of a value, in the pool.
    ///
    /// # Errors
    /// `Full`, `Io` when the disk is full, `Poisoned`.
    pub async fn write(&mut self, tree: TreeId, value: &[u8]) -> Result<Reference> {
        let store = Arc::clone(&self.store);
        let _pass = store.writers.shared().await;
        store.check_writable()?;
        let len = u32::try_from(value.len()).expect("the length was checked");
        let born = store.pool.epoch();
        let mut reference = Reference { len, first: 0, born };
        let pages = reference.extent(store.pool.page_size()).pages;
        reference.first = self.take(pages).await?.start;
        self.pages += u64::from(pages);
        let pieces = value.chunks(overflow::capacity(store.pool.page_size()));
        for (index, piece) in (0..).zip(pieces) {
            store.pool.reserve_places(1, store.claim(self.claim)).await?;
            let pid: PageId = reference.first + index;
            let init = |page: &mut [u8]| overflow::build(page, pid, born, tree.0, index, piece);
            drop(store.pool.create(pid, init).await?);
        }
        Ok(reference)
    }

    /// The values are part of a tree now. To be called under the pass under which they became so.
    pub fn keep(&mut self) {
        self.store.space().end_load(self.load, Some(&[]));
        self.kept = true;
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let extents = self.store.space().pages_of_load(self.load);
        // A checkpoint that runs counts on the dirty pages that it has found: they stay until its
        // end, or that of the next.
        let pass = self.store.writers.try_shared();
        // One by one, and all of them: `forget` has an effect.
        let forget = |extent: &Extent| {
            let used = extent.pids().filter(|pid| !self.store.pool.forget(*pid)).count();
            used == 0
        };
        let idle: Vec<bool> =
            extents.iter().map(|extent| pass.is_some() && forget(extent)).collect();
        let mut space = self.store.space();
        space.end_load(self.load, Some(&[]));
        for (extent, idle) in extents.into_iter().zip(idle) {
            if idle { space.give(extent) } else { space.release(extent) }
        }
    }
}
