//! Extents over the pages of a file in which these lie in place.

use crate::extent::Extent;
use crate::page::PageId;

/// The extents that pages of trees are to lie in: what else lies there is dead.
#[derive(Default)]
pub(super) struct Cover {
    pub starts: Vec<PageId>,
    /// Pages before the log which no extent can have that ends there.
    pub strays: Vec<Extent>,
}

impl Cover {
    pub fn of(used: &[Extent], log: Option<Extent>, extent_pages: u32) -> Cover {
        let (mut cover, mut end) = (Cover::default(), 2);
        for run in used {
            let run_end = run.start + run.pages;
            let mut start = run.start.max(end);
            while start < run_end {
                end = start + extent_pages;
                if log.is_some_and(|log| start < log.start && log.start < end) {
                    cover.strays.push(Extent { start, pages: run_end - start });
                    end = run_end;
                } else {
                    cover.starts.push(start);
                }
                start = end;
            }
        }
        cover
    }
}

/// Runs of pages between the free ones.
pub(super) fn between(free: &[Extent], page_count: u32) -> Vec<Extent> {
    let (mut used, mut start) = (Vec::new(), 2);
    let end = Extent { start: page_count, pages: 0 };
    for run in free.iter().copied().chain([end]) {
        if run.start > start {
            used.push(Extent { start, pages: run.start - start });
        }
        start = run.start + run.pages;
    }
    used
}

#[cfg(test)]
mod tests;
