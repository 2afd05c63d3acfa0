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
        assert!(self.last_in(extent).is_none(), "{extent:?} has holes already");
        self.0.insert(extent.start, extent.pages);
    }

    /// The last run of holes that reaches into these pages, if there is one.
    fn last_in(&self, Extent { start, pages }: Extent) -> Option<Extent> {
        let (&first, &len) = self.0.range(..start + pages).next_back()?;
        (first + len > start).then_some(Extent { start: first, pages: len })
    }

    /// The parts of a run that have space.
    pub fn solid(&self, run: Extent) -> Vec<Extent> {
        let (mut parts, mut at, end) = (Vec::new(), run.start, run.start + run.pages);
        while at < end {
            let rest = Extent { start: at, pages: end - at };
            // The first hole that reaches into what is left.
            let before = self.0.range(..=at).next_back().filter(|(start, len)| *start + **len > at);
            let hole = before.or_else(|| self.0.range(at..end).next());
            let Some((&start, &len)) = hole else {
                parts.push(rest);
                break;
            };
            if start > at {
                parts.push(Extent { start: at, pages: start - at });
            }
            at = start + len;
        }
        parts
    }

    /// Where the first pages of a run begin of which so many in a row have space.
    pub fn first_solid(&self, run: Extent, pages: u32) -> Option<PageId> {
        let mut start = run.start;
        while start + pages <= run.start + run.pages {
            // The last hole among them: whatever begins before its end has a part of it.
            match self.last_in(Extent { start, pages }) {
                Some(hole) => start = hole.start + hole.pages,
                None => return Some(start),
            }
        }
        None
    }

    pub fn has_in(&self, extent: Extent) -> bool {
        self.last_in(extent).is_some()
    }

    /// There is space for these pages.
    pub fn fill(&mut self, extent: Extent) {
        let end = extent.start + extent.pages;
        while let Some(Extent { start, pages }) = self.last_in(extent) {
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
