//! Runs of pages.

use crate::page::PageId;

/// Consecutive pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Extent {
    pub start: PageId,
    pub pages: u32,
}

impl Extent {
    pub fn pids(self) -> std::ops::Range<PageId> {
        self.start..self.start + self.pages
    }
}

/// Joins adjoining extents.
pub(crate) fn merge(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable();
    let mut merged: Vec<Extent> = Vec::new();
    for extent in extents {
        match merged.last_mut() {
            Some(last) if last.start + last.pages == extent.start => last.pages += extent.pages,
            _ => merged.push(extent),
        }
    }
    merged
}
