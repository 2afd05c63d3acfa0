//! Free pages for which there is no space on the disk: it was given back.

use std::collections::BTreeMap;

use crate::extent::Extent;
use crate::page::PageId;

/// A set of pages.
#[derive(Default)]
pub(super) struct Holes(BTreeMap<PageId, u32>);

impl Holes {
    /// Adds pages, of which none is a hole yet.
    pub fn add(&mut self, extent: Extent) {
        assert!(self.first_in(extent).is_none(), "{extent:?} has holes already");
        self.0.insert(extent.start, extent.pages);
    }

    /// A run of holes that reaches into these pages, if there is one.
    fn first_in(&self, Extent { start, pages }: Extent) -> Option<Extent> {
        let (&first, &len) = self.0.range(..start + pages).next_back()?;
        (first + len > start).then_some(Extent { start: first, pages: len })
    }

    pub fn has_in(&self, extent: Extent) -> bool {
        self.first_in(extent).is_some()
    }

    /// There is space for these pages.
    pub fn fill(&mut self, extent: Extent) {
        let end = extent.start + extent.pages;
        while let Some(Extent { start, pages }) = self.first_in(extent) {
            self.0.remove(&start);
            if start < extent.start {
                self.0.insert(start, extent.start - start);
            }
            if start + pages > end {
                self.0.insert(end, start + pages - end);
            }
        }
    }
}
