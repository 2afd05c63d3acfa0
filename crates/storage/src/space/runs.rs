//! Runs of free pages, by where they begin and by how long they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::extent::Extent;
use crate::page::PageId;

/// Free pages in runs that never adjoin.
#[derive(Default)]
pub(super) struct FreeRuns {
    by_start: BTreeMap<PageId, u32>,
    by_len: BTreeSet<(u32, PageId)>,
    page_count: u64,
}

impl FreeRuns {
    /// Adds a run.
    pub fn put(&mut self, Extent { start, pages }: Extent) {
        self.page_count += u64::from(pages);
        let before = self.by_start.insert(start, pages);
        assert!(before.is_none(), "a run begins once");
        self.by_len.insert((pages, start));
    }

    /// Removes the run that begins at `start`, if one does; its length, or 0.
    pub fn cut(&mut self, start: PageId) -> u32 {
        let pages = self.by_start.remove(&start).unwrap_or(0);
        self.by_len.remove(&(pages, start));
        self.page_count -= u64::from(pages);
        pages
    }

    /// Number of runs.
    pub fn count(&self) -> usize {
        self.by_start.len()
    }

    /// Number of pages.
    pub fn page_count(&self) -> u64 {
        self.page_count
    }

    /// Length of the longest run, or 0.
    pub fn longest(&self) -> u32 {
        self.by_len.last().map_or(0, |(pages, _)| *pages)
    }

    /// Length of the longest run when these pages are taken, if a run has them.
    pub fn longest_without(&self, taken: Extent) -> u32 {
        let run = self.last_before(taken.start.saturating_add(1));
        let Some(run) = run.filter(|run| run.start + run.pages > taken.start) else {
            return self.longest();
        };
        let other = self.by_len.iter().rev().find(|(_, start)| *start != run.start);
        let other = other.map_or(0, |(pages, _)| *pages);
        let end = taken.start.saturating_add(taken.pages);
        other.max(taken.start - run.start).max((run.start + run.pages).saturating_sub(end))
    }

    /// Length of the run that begins at `start`, or 0.
    pub fn at(&self, start: PageId) -> u32 {
        self.by_start.get(&start).copied().unwrap_or(0)
    }

    /// The last run that begins before `end`.
    pub fn last_before(&self, end: PageId) -> Option<Extent> {
        self.by_start.range(..end).next_back().map(extent)
    }

    /// The first run that begins at `start` or behind it.
    pub fn first_from(&self, start: PageId) -> Option<Extent> {
        self.by_start.range(start..).next().map(extent)
    }

    /// All runs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Extent> + Clone {
        self.by_start.iter().map(extent)
    }
}

fn extent((&start, &pages): (&PageId, &u32)) -> Extent {
    Extent { start, pages }
}
