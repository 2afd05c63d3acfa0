//! Space on the disk that is promised before anything changes, and the reserve for what frees
//! space.

use super::{Store, StoreInner};
use crate::allocator::SpentReserve;
use crate::directory::encoded_len;
use crate::error::{Result, StorageError};
use crate::meta;
use crate::pool::memory::PAGE_COUNT_MAX;
use crate::space::Space;

/// Old pages that `reserve` allows to be changed by those few changes that still follow: a path of
/// the catalog's tree, split from leaf to root.
const CHANGED_PAGES_MAX: u32 = 32;

impl Store {
    /// Makes sure of space on the disk for a checkpoint of all that has changed so far, of `pages`
    /// new pages besides, and of a few changes in the catalog: what remains to be done then does
    /// not fail for lack of space. To be asked while a statement can still be undone.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. Nothing has changed then.
    pub async fn reserve(&self, pages: u32) -> Result<()> {
        self.inner.reserve(pages).await
    }

    /// True if there is space for that already: [`Store::reserve`] does nothing then.
    pub fn has_reserved(&self, pages: u32) -> bool {
        let inner = &self.inner;
        match &inner.pool.map {
            Some(map) => {
                map.ground().promises(inner.places_of_checkpoint(map, pages, CHANGED_PAGES_MAX))
            }
            None => inner.pages_with_checkpoint(pages) <= inner.allocator.held(),
        }
    }

    /// Lets the reserve for what frees space be used until the guard is dropped.
    pub fn spend_reserve(&self) -> SpentReserve {
        self.inner.allocator.spend_reserve()
    }
}

impl StoreInner {
    /// Makes sure of space for a checkpoint of all that has changed and of `pages` new pages.
    pub(super) async fn reserve(&self, pages: u32) -> Result<()> {
        loop {
            match self.make_room(pages).await {
                Err(error) if error.is_disk_full() && self.give_something() => {}
                made => return made,
            }
        }
    }

    /// The same, without anything that is kept for later.
    pub(super) async fn make_room(&self, pages: u32) -> Result<()> {
        if let Some(map) = &self.pool.map {
            let places = self.places_of_checkpoint(map, pages, CHANGED_PAGES_MAX);
            return map.ground().promise(places).await;
        }
        match self.pages_with_checkpoint(pages) {
            page_count if page_count > PAGE_COUNT_MAX => Err(StorageError::Full),
            page_count => self.allocator.grow(page_count).await,
        }
    }

    /// Pages that a file whose pages lie in place has then.
    fn pages_with_checkpoint(&self, pages: u32) -> u32 {
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
        let longest = space.longest_run();
        let (new, left) = match longest >= needed {
            true => (0, longest - needed),
            false => (needed, longest),
        };
        let page_count = space.page_count().saturating_add(new);
        Space::pages_with_reserve(page_count, left, self.allocator.kept())
    }
}
