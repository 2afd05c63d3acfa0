//! Growth of the file: space is reserved before anything is written to it.
//!
//! A full disk is found out here, when pages are taken and nothing has changed yet. What is written
//! later goes to reserved space and does not fail for lack of it, unless the file system knows no
//! reservations or writes copies (README, rule 18).

use std::sync::atomic::{AtomicU32, Ordering};

use runtime::sync::Semaphore;

use super::StoreInner;
use crate::directory::encoded_len;
use crate::error::{Result, StorageError};
use crate::meta::capacity;
use crate::pool::memory::PAGE_COUNT_MAX;
use crate::space::{Extent, Take};

/// Pages that the file grows by, at least and at most, when there is room: each growth is a system
/// call that waits for the file system's own log.
const STEP_PAGES_MIN: u32 = 64;
const STEP_PAGES_MAX: u32 = 16 * 1024;

/// Old pages that `reserve` allows to be changed by those few changes that still follow: a path of
/// the catalog's tree, split from leaf to root.
const CHANGED_PAGES_MAX: u32 = 32;

/// Share of the file that it grows by: an eighth.
const STEP_SHARE: u32 = 8;

/// How many pages the file holds.
pub(super) struct Growth {
    /// Pages for which there is space on the disk; 0 when a file has just been opened, which may
    /// have holes.
    held: AtomicU32,
    /// One growth at a time.
    growing: Semaphore,
}

impl Growth {
    pub fn new() -> Growth {
        Growth { held: AtomicU32::new(0), growing: Semaphore::new(1) }
    }

    pub fn held(&self) -> u32 {
        self.held.load(Ordering::Acquire)
    }
}

impl StoreInner {
    /// Takes consecutive pages, and lets the file grow for them.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. Nothing is taken then.
    pub async fn take(&self, pages: u32) -> Result<Extent> {
        self.take_by(|store| store.space().take(pages, store.growth.held())).await
    }

    /// As `take`, for a bulk load.
    pub async fn take_for_load(&self, load: u64, pages: u32) -> Result<Extent> {
        self.take_by(|store| store.space().take_for_load(load, pages, store.growth.held())).await
    }

    /// Repeats an attempt to take something until the file is long enough for it. Suspended only
    /// while nothing is taken: whoever drops this loses no page.
    pub(super) async fn take_by<T>(
        &self,
        mut attempt: impl FnMut(&Self) -> Result<Take<T>>,
    ) -> Result<T> {
        loop {
            match attempt(self)? {
                Take::Taken(taken) => return Ok(taken),
                Take::Grow(page_count) => self.grow(page_count).await?,
            }
        }
    }

    /// Makes sure of space for a checkpoint of all that has changed and of `pages` new pages.
    pub(super) async fn reserve(&self, pages: u32) -> Result<()> {
        let page_count = {
            let trees = self.trees().len() + 1;
            let space = self.space();
            // Each page that is taken or freed meanwhile may cut an extent in two.
            let extents = space.extent_count() + pages as usize + CHANGED_PAGES_MAX as usize;
            let directory = encoded_len(trees, extents).div_ceil(capacity(self.pool.page_size()));
            let journal = self.pool.kept() as u32 + CHANGED_PAGES_MAX;
            let needed = journal.saturating_add(directory as u32).saturating_add(pages);
            // Whatever is taken first comes from another run or from the beginning of this one.
            let new = if space.longest_run() >= needed { 0 } else { needed };
            space.page_count().saturating_add(new)
        };
        if page_count > PAGE_COUNT_MAX {
            Err(StorageError::Full)
        } else {
            self.grow(page_count).await
        }
    }

    /// Makes sure that there is space for `page_count` pages, with some in advance when there is
    /// room for that.
    pub(super) async fn grow(&self, page_count: u32) -> Result<()> {
        let _one = self.growth.growing.acquire().await;
        if self.growth.held() >= page_count {
            return Ok(());
        }
        let step = (page_count / STEP_SHARE).clamp(STEP_PAGES_MIN, STEP_PAGES_MAX);
        let ample = page_count.saturating_add(step).min(PAGE_COUNT_MAX);
        let held = match self.hold(ample).await {
            Err(error) if error.is_disk_full() => {
                self.hold(page_count).await.map(|()| page_count)?
            }
            done => done.map(|()| ample)?,
        };
        self.growth.held.store(held, Ordering::Release);
        Ok(())
    }

    /// Asks for space from the beginning on: a file that an older program wrote may have holes.
    async fn hold(&self, page_count: u32) -> Result<()> {
        let held = self.pool.file().allocate(0, self.pool.offset(page_count)).await;
        held.map_err(|error| StorageError::io("extend the database file", &error))
    }
}
