//! Room on the disk and in the pool: who is to change something asks for it before.

use std::sync::Arc;

use super::StoreInner;
use crate::directory::encoded_len;
use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::meta;
use crate::page_map::{Claim, PageMap};
use crate::pool::memory::PAGE_COUNT_MAX;

/// Old pages that `reserve` allows to be changed by those few changes that still follow: a path of
/// the catalog's tree, split from leaf to root.
const CHANGED_PAGES_MAX: u32 = 32;

impl StoreInner {
    /// Whether changed old pages take so much of the pool that no more of them may be changed before
    /// some are written to the double-write buffer.
    pub fn is_crowded(&self, claim: Claim) -> bool {
        self.pool.is_crowded() || self.pool.is_short_of_places(claim)
    }

    /// Waits until the pool is not crowded. Where the disk is full, what can be cleaned is.
    ///
    /// # Errors
    /// `Io` when the disk is full; `Poisoned`.
    pub async fn relieve(self: &Arc<Self>, claim: Claim) -> Result<()> {
        match self.pool.reserve_places(0, claim).await {
            Err(error) if error.is_disk_full() => {
                self.clean_for_room().await;
                match self.pool.is_short_of_places(claim) {
                    true => return Err(error),
                    false => {}
                }
            }
            reserved => reserved?,
        }
        self.pool.relieve_of_kept().await
    }

    /// Makes sure of space for a checkpoint of all that has changed and of `pages` new pages.
    pub(super) async fn reserve(&self, pages: u32) -> Result<()> {
        loop {
            let page_count = self.pages_with_checkpoint(pages);
            if page_count > PAGE_COUNT_MAX {
                return Err(StorageError::Full);
            }
            match self.ground_allocator().grow(page_count).await {
                Err(error) if error.is_disk_full() && self.give_something() => {}
                grown => return grown,
            }
        }
    }

    /// Pages that the file has then.
    pub(super) fn pages_with_checkpoint(&self, pages: u32) -> u32 {
        if let Some(map) = &self.pool.map {
            return self.pages_with_places(map, pages, CHANGED_PAGES_MAX);
        }
        let trees = self.trees().len() + 1;
        let space = self.space();
        // Each page that is taken or freed meanwhile may cut an extent in two.
        let extents = space.extent_count() + pages as usize + CHANGED_PAGES_MAX as usize;
        let capacity = meta::capacity(self.pool.page_size());
        let directory = encoded_len(trees, extents).div_ceil(capacity) as u32;
        let changed = self.pool.kept() as u32 + CHANGED_PAGES_MAX;
        let double_write = self.pool.double_write.pages_wanted(changed);
        let needed = double_write.saturating_add(directory).saturating_add(pages);
        // Whatever is taken first comes from another run or from the beginning of this one.
        let new = if space.longest_run() >= needed { 0 } else { needed };
        space.page_count().saturating_add(new)
    }

    /// Lets something go that was kept for later: the next run of the log, or an extent.
    fn give_something(&self) -> bool {
        let give = |map: &Arc<PageMap>| map.give_spare(self.pool.dirty());
        self.ground().give_spare_log() || self.pool.map.as_ref().is_some_and(give)
    }

    /// Takes a run for the directory of a file whose pages lie out of place: where the disk is full,
    /// from what is reserved.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full.
    pub(super) async fn take_directory(&self, map: &PageMap, pages: u32) -> Result<Extent> {
        loop {
            match map.ground().take(pages).await {
                Err(error) if error.is_disk_full() && map.give_spare(self.pool.dirty()) => {}
                taken => return taken,
            }
        }
    }
}
