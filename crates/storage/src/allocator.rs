//! The pages of the file: which are free, and for how many there is space on the disk.
//!
//! Space is reserved before pages are taken. A full disk is found out here, when nothing has changed
//! yet; what is written later goes to reserved space and does not fail for lack of it, unless the
//! file system knows no reservations or writes copies (README, rule 18).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use runtime::sync::Semaphore;

use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::pool::memory::PAGE_COUNT_MAX;
use crate::space::{Space, Take};
use crate::volume::Volume;

/// Pages that the file grows by, at least and at most, when there is room: each growth is a system
/// call that waits for the file system's own log.
const STEP_PAGES_MIN: u32 = 64;
const STEP_PAGES_MAX: u32 = 16 * 1024;

/// Share of the file that it grows by: an eighth.
const STEP_SHARE: u32 = 8;

/// Bytes of the reserve, at least and at most, and its share of the file: a statement that deletes
/// few rows changes pages all over a table, and each of them is in the double-write buffer.
const RESERVE_BYTES_MIN: u32 = 1 << 20;
const RESERVE_BYTES_MAX: u32 = 64 << 20;
const RESERVE_SHARE: u32 = 64;

/// Gives out pages.
pub(crate) struct Allocator {
    space: Mutex<Space>,
    /// That of the numbers of pages that lie elsewhere has none.
    file: Option<Volume>,
    page_size: u32,
    /// Pages for which there is space on the disk; 0 when a file has just been opened, which may
    /// have holes.
    held: AtomicU32,
    /// One growth at a time.
    growing: Semaphore,
    /// Bytes that were given back to the file system.
    returned: AtomicU64,
    /// True if some pages are kept for what frees space.
    has_reserve: bool,
    /// The number of those that may use them now.
    spenders: AtomicU32,
}

/// The reserve may be used until this is dropped.
#[must_use = "the reserve is for what is done while this lives"]
pub struct SpentReserve(Arc<Allocator>);

impl Drop for SpentReserve {
    fn drop(&mut self) {
        self.0.spenders.fetch_sub(1, Ordering::Release);
    }
}

impl Allocator {
    pub fn new(file: Volume, page_size: u32, space: Space, has_reserve: bool) -> Allocator {
        let (space, growing) = (Mutex::new(space), Semaphore::new(1));
        let (held, spenders) = (AtomicU32::new(0), AtomicU32::new(0));
        let returned = AtomicU64::new(0);
        Allocator {
            space,
            file: Some(file),
            page_size,
            held,
            growing,
            returned,
            has_reserve,
            spenders,
        }
    }

    /// An allocator of numbers: pages with these take no space where they are numbered.
    pub fn of_numbers(page_size: u32, space: Space) -> Allocator {
        let (space, growing) = (Mutex::new(space), Semaphore::new(1));
        let (held, spenders) = (AtomicU32::new(PAGE_COUNT_MAX), AtomicU32::new(0));
        let returned = AtomicU64::new(0);
        Allocator {
            space,
            file: None,
            page_size,
            held,
            growing,
            returned,
            has_reserve: false,
            spenders,
        }
    }

    /// Lets all use the reserve for a while: one frees space, and others take little meanwhile.
    pub fn spend_reserve(self: &Arc<Self>) -> SpentReserve {
        self.spenders.fetch_add(1, Ordering::Acquire);
        SpentReserve(Arc::clone(self))
    }

    /// True if somebody may use the reserve now.
    pub fn is_spent(&self) -> bool {
        self.spenders.load(Ordering::Acquire) > 0
    }

    /// Pages that stay free, on a disk that is full, of those for which there is space.
    pub fn kept(&self) -> u32 {
        if !self.has_reserve || self.is_spent() {
            return 0;
        }
        let (least, most) =
            (RESERVE_BYTES_MIN / self.page_size, RESERVE_BYTES_MAX / self.page_size);
        (self.held() / RESERVE_SHARE).clamp(least, most)
    }

    pub fn space(&self) -> MutexGuard<'_, Space> {
        self.space.lock().expect("space")
    }

    /// Pages for which there is space on the disk.
    pub fn held(&self) -> u32 {
        self.held.load(Ordering::Acquire)
    }

    /// Takes consecutive pages, and lets the file grow for them.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. Nothing is taken then.
    pub async fn take(&self, pages: u32) -> Result<Extent> {
        self.take_by(|space, held| space.take(pages, held, self.kept())).await
    }

    /// As `take`, for a bulk load.
    pub async fn take_for_load(&self, load: u64, pages: u32) -> Result<Extent> {
        self.take_by(|space, held| space.take_for_load(load, pages, held, self.kept())).await
    }

    /// Repeats an attempt to take something until the file is long enough for it. Suspended only
    /// while nothing is taken: whoever drops this loses no page.
    pub async fn take_by<T>(
        &self,
        mut attempt: impl FnMut(&mut Space, u32) -> Result<Take<T>>,
    ) -> Result<T> {
        loop {
            let take = attempt(&mut self.space(), self.held())?;
            let made = match take {
                Take::Taken(taken) => return Ok(taken),
                Take::Grow(page_count) => self.grow(page_count).await,
                Take::Fill(pages) => self.fill(pages).await,
            };
            match made {
                // A run that is kept for later becomes free instead.
                Err(error) if error.is_disk_full() && self.space().give_spare_log() => {}
                made => made?,
            }
        }
    }

    /// Promises space for so many pages in a row, which are to be taken later.
    ///
    /// # Errors
    /// As `take`.
    pub async fn promise(&self, pages: u32) -> Result<()> {
        self.take_by(|space, held| space.promise(pages, held)).await
    }

    /// True if that is promised at once.
    pub fn promises(&self, pages: u32) -> bool {
        matches!(self.space().promise(pages, self.held()), Ok(Take::Taken(())))
    }

    /// Makes sure that there is space for `page_count` pages, with some in advance when there is
    /// room for that.
    pub async fn grow(&self, page_count: u32) -> Result<()> {
        let _one = self.growing.acquire().await;
        if self.held() >= page_count {
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
        self.held.store(held, Ordering::Release);
        Ok(())
    }

    /// Asks for space; at first from the beginning on: a file that an older program wrote may have
    /// holes.
    async fn hold(&self, page_count: u32) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let (from, to) = (self.bytes(self.held()), self.bytes(page_count));
        let held = file.allocate(from, to - from).await;
        held.map_err(|error| StorageError::io("extend the database file", &error))
    }

    fn bytes(&self, pages: u32) -> u64 {
        u64::from(pages) * u64::from(self.page_size)
    }

    /// The file was opened and holds all its pages, the free ones perhaps as holes.
    pub fn assume_holes(&self) {
        let mut space = self.space();
        space.assume_holes();
        self.held.store(space.page_count(), Ordering::Release);
    }

    /// Makes sure of space for free pages, which may have none.
    async fn fill(&self, pages: Extent) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let _one = self.growing.acquire().await;
        let filled = file.allocate(self.bytes(pages.start), self.bytes(pages.pages)).await;
        filled.map_err(|error| StorageError::io("extend the database file", &error))?;
        self.space().fill(pages);
        Ok(())
    }

    /// Gives space of free pages back to the file system, in runs of `pages_min` or more, but for
    /// `keep` pages. Where that fails nothing is lost. To be run by a task of its own.
    pub async fn give_back(&self, pages_min: u32, keep: u64) {
        let Some(file) = &self.file else { return };
        let _one = self.growing.acquire().await;
        let runs = self.space().take_to_return(pages_min, keep);
        for run in runs {
            let (offset, len) = (self.bytes(run.start), self.bytes(run.pages));
            let is_hole = file.give_back(offset, len).await.unwrap_or(false);
            self.space().give_returned(run, is_hole);
            self.returned.fetch_add(if is_hole { len } else { 0 }, Ordering::Relaxed);
        }
    }

    /// Bytes that were given back.
    pub fn returned(&self) -> u64 {
        self.returned.load(Ordering::Relaxed)
    }
}
