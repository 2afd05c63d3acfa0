//! Space that was promised to whoever cannot turn back later, for a checkpoint
//! (`Store::reserve`): nobody holds the pages, but their space is not given back meanwhile.

use super::{Space, Take};
use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::page::PageId;
use crate::pool::memory::PAGE_COUNT_MAX;

/// The most pages in a row that were promised since the last checkpoint settled, and between that
/// and the one before: who was promised some may have missed the last one by a moment.
#[derive(Default)]
pub(super) struct Promised {
    now: u32,
    before: u32,
}

impl Promised {
    /// A checkpoint has settled.
    pub fn outlive(&mut self) {
        *self = Promised { now: 0, before: self.now };
    }
}

impl Space {
    /// Promises space for so many pages in a row, which may be taken in parts: free ones, or new
    /// ones, of which the first `held` of the file have space.
    ///
    /// # Errors
    /// `Full` when the file cannot grow.
    pub fn promise(&mut self, pages: u32, held: u32) -> Result<Take<()>> {
        let end = self.page_count.checked_add(pages).filter(|end| *end <= PAGE_COUNT_MAX);
        let is_behind = end.is_some_and(|end| end <= held);
        if is_behind || self.with_space(pages).next().is_some() {
            self.promised.now = self.promised.now.max(pages);
            return Ok(Take::Taken(()));
        }
        match self.long_runs(pages).next() {
            Some(run) => Ok(Take::Fill(Extent { start: run.start, pages })),
            None => Ok(Take::Grow(end.ok_or(StorageError::Full)?)),
        }
    }

    /// Free runs of so many pages or more.
    pub(super) fn long_runs(&self, pages: u32) -> impl Iterator<Item = Extent> {
        self.free.iter().filter(move |run| run.pages >= pages)
    }

    /// Where so many free pages in a row begin that have space, one place for each run that has
    /// such.
    pub(super) fn with_space(&self, pages: u32) -> impl Iterator<Item = PageId> {
        self.long_runs(pages).filter_map(move |run| self.holes.first_solid(run, pages))
    }

    /// The rest of the promise in these runs: the front of the first one that is long enough,
    /// else the longest one, of which some was taken.
    pub(super) fn promised_run(&self, solid: &[Extent]) -> Option<Extent> {
        let pages = self.promised.now.max(self.promised.before);
        let whole = solid.iter().find(|run| run.pages >= pages);
        let run = whole.or_else(|| solid.iter().max_by_key(|run| run.pages))?;
        Some(Extent { start: run.start, pages: pages.min(run.pages) })
    }
}
