//! Free space: which pages are in use, free, or waiting to become free.

mod holes;
mod promises;
mod runs;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Result, StorageError};
use crate::extent::{Extent, merge};
use crate::page::PageId;
use crate::planted;
use crate::pool::memory::PAGE_COUNT_MAX;
use crate::tree::shared::TreeShared;
use holes::Holes;
use promises::Promised;
use runs::FreeRuns;

/// Outcome of an attempt to take pages.
pub(crate) enum Take<T> {
    /// They are taken.
    Taken(T),
    /// Nothing is taken: the file has to hold this number of pages first.
    Grow(u32),
    /// Nothing is taken: these free pages need space on the disk first.
    Fill(Extent),
}

/// Knows where pages lie, if that is not where their numbers say.
pub(crate) trait Placed: Send + Sync {
    /// These pages are free: no checkpoint that a restart may find has them.
    fn forget(&self, pages: Extent);
}

/// Pages that a dropped tree has left behind.
struct Limbo {
    extents: Vec<Extent>,
    /// While anybody else holds the tree, its pages may still be read.
    tree: Arc<TreeShared>,
}

/// The allocator of a file's pages.
pub(crate) struct Space {
    page_count: u32,
    /// Pages that may be taken now.
    free: FreeRuns,
    limbo: Vec<Limbo>,
    /// Pages that were cut out of trees since the last checkpoint, or were still looked at when it
    /// ended.
    freed: Vec<Extent>,
    /// The double-write buffer's run, those that it has moved away from a moment ago, and other
    /// runs that are needed until the next checkpoint.
    double_write: Vec<Extent>,
    /// What the last checkpoint freed: not to be used before the images of its double-write buffer are in their places,
    /// of which these may be some.
    settling: Vec<Extent>,
    /// Those of these that are no pages of trees.
    settling_runs: Vec<Extent>,
    settling_limbo: Vec<Limbo>,
    /// The run that the log has left for the checkpoint which settles: the one before may need it.
    left_log: Option<Extent>,
    /// A run for the log of a later checkpoint.
    spare_log: Option<Extent>,
    /// Pages that bulk loads have taken and not yet tied to a tree, by load.
    unfinished: BTreeMap<u64, Vec<Extent>>,
    load_count: u64,
    /// Free pages without space.
    holes: Holes,
    /// Free pages whose space is being given back.
    returning: Vec<Extent>,
    promised: Promised,
    /// Knows where pages lie, if that is elsewhere.
    map: Option<Arc<dyn Placed>>,
}

impl Space {
    /// The space of a file with `page_count` pages, of which `free` are free.
    pub fn new(page_count: u32, free: &[Extent]) -> Space {
        let mut space = Space {
            page_count,
            free: FreeRuns::default(),
            limbo: Vec::new(),
            freed: Vec::new(),
            double_write: Vec::new(),
            settling: Vec::new(),
            settling_runs: Vec::new(),
            settling_limbo: Vec::new(),
            left_log: None,
            spare_log: None,
            unfinished: BTreeMap::new(),
            load_count: 0,
            holes: Holes::default(),
            returning: Vec::new(),
            promised: Promised::default(),
            map: None,
        };
        free.iter().for_each(|extent| space.give(*extent));
        space
    }

    /// Has this map forget the places of pages that become free.
    pub fn set_map(&mut self, map: Arc<dyn Placed>) {
        self.map = Some(map);
    }

    /// Pages of the file, in use or not.
    pub fn page_count(&self) -> u32 {
        self.page_count
    }

    /// Runs of pages that are not in use, or will not be after the next checkpoint, at most.
    pub fn extent_count(&self) -> usize {
        let limbo = self.limbo.iter().chain(&self.settling_limbo).map(|limbo| limbo.extents.len());
        let unfinished = self.unfinished.values().map(Vec::len);
        self.free.count()
            + self.freed.len()
            + self.double_write.len()
            + self.settling.len()
            + self.settling_runs.len()
            + self.returning.len()
            + self.left_log.iter().chain(&self.spare_log).count()
            + limbo.chain(unfinished).sum::<usize>()
    }

    /// Length of the longest run of free pages.
    pub fn longest_run(&self) -> u32 {
        self.free.longest()
    }

    /// Pages that may be taken without growing the file.
    pub fn free_pages(&self) -> u64 {
        self.free.page_count()
    }

    /// Pages for which the disk has to have space, so that a run of `keep` is free: in a file that
    /// has these and whose longest free run is so long, or behind them. What the reserve is for
    /// takes runs (a double-write buffer, a directory), so single pages are none.
    pub fn pages_with_reserve(page_count: u32, longest_run: u32, keep: u32) -> u32 {
        let lacking = if longest_run >= keep { 0 } else { keep };
        page_count.saturating_add(lacking)
    }

    /// Takes `pages` consecutive pages: the first ones that are free and have space, else new ones
    /// at the end, as far as there is space behind it, else free ones that get some before. There
    /// is space on the disk for the first `held` pages of the file, and there has to be for `keep`
    /// more than those that are in use then.
    ///
    /// # Errors
    /// `Full` when the file cannot grow.
    pub fn take(&mut self, pages: u32, held: u32, keep: u32) -> Result<Take<Extent>> {
        assert!(pages > 0, "an extent of no pages");
        let Some(start) = self.fitting(pages, held, keep) else {
            return self.take_new(pages, held, keep);
        };
        let taken = Extent { start, pages };
        if self.holes.has_in(taken) {
            return match self.take_new(pages, held, keep) {
                Ok(Take::Taken(new)) => Ok(Take::Taken(new)),
                _ => Ok(Take::Fill(taken)),
            };
        }
        let longest = self.free.longest_without(taken);
        let wanted = Space::pages_with_reserve(self.page_count, longest, keep);
        if wanted > held {
            return Ok(Take::Grow(wanted));
        }
        assert!(self.take_exactly(taken), "{taken:?} is not free");
        Ok(Take::Taken(taken))
    }

    /// The first of so many free pages in a row: ones that have space and leave what is to be kept,
    /// if there are such.
    fn fitting(&self, pages: u32, held: u32, keep: u32) -> Option<PageId> {
        let leaves_reserve = |start: &PageId| {
            if keep == 0 {
                return true;
            }
            let longest = self.free.longest_without(Extent { start: *start, pages });
            Space::pages_with_reserve(self.page_count, longest, keep) <= held
        };
        let first = self.long_runs(pages).next().map(|run| run.start);
        self.with_space(pages).find(leaves_reserve).or(first)
    }

    /// Takes pages at the end of the file.
    fn take_new(&mut self, pages: u32, held: u32, keep: u32) -> Result<Take<Extent>> {
        let start = self.page_count;
        let end = start.checked_add(pages).filter(|end| *end <= PAGE_COUNT_MAX);
        let end = end.ok_or(StorageError::Full)?;
        let wanted = Space::pages_with_reserve(end, self.free.longest(), keep);
        if wanted > held {
            return Ok(Take::Grow(wanted));
        }
        self.page_count = end;
        Ok(Take::Taken(Extent { start, pages }))
    }

    /// There may be no space for any of the free pages: nobody knows, of a file that was opened.
    pub fn assume_holes(&mut self) {
        self.free.iter().for_each(|run| self.holes.add(run));
    }

    /// There is space for these pages.
    pub fn fill(&mut self, extent: Extent) {
        self.holes.fill(extent);
    }

    /// Takes free pages that have space, in runs of `pages_min` or more, the last ones first, but
    /// for `keep` pages in all and for what is promised: their space is to be given back.
    /// `give_returned` makes them free again.
    pub fn take_to_return(&mut self, pages_min: u32, keep: u64) -> Vec<Extent> {
        let full: Vec<Extent> = self.free.iter().flat_map(|run| self.holes.solid(run)).collect();
        let all: u64 = full.iter().map(|run| u64::from(run.pages)).sum();
        let mut left = all.saturating_sub(keep);
        let promised = self.promised_run(&full);
        for run in full.into_iter().rev() {
            let kept = promised.filter(|kept| kept.start == run.start).map_or(0, |kept| kept.pages);
            let pages = u64::from(run.pages - kept).min(left) as u32;
            if pages < pages_min {
                continue;
            }
            left -= u64::from(pages);
            let tail = Extent { start: run.start + run.pages - pages, pages };
            assert!(self.take_exactly(tail), "{tail:?} is not free");
            self.returning.push(tail);
        }
        self.returning.clone()
    }

    /// Space of these was given back, or not; they are free.
    pub fn give_returned(&mut self, run: Extent, is_hole: bool) {
        self.returning.retain(|other| *other != run);
        if is_hole {
            self.holes.add(run);
        }
        self.give(run);
    }

    /// Makes pages free at once: nothing durable refers to them.
    pub fn give(&mut self, extent: Extent) {
        let Extent { mut start, mut pages } = extent;
        assert!(start >= 2 && start + pages <= self.page_count, "{extent:?} is not of this file");
        self.map.iter().for_each(|map| map.forget(extent));
        if let Some(before) = self.free.last_before(start) {
            let end = before.start + before.pages;
            assert!(end <= start, "{extent:?} is free already");
            if end == start {
                self.free.cut(before.start);
                (start, pages) = (before.start, before.pages + pages);
            }
        }
        pages += self.free.cut(start + pages);
        let behind = self.free.first_from(start);
        assert!(behind.is_none_or(|run| run.start > start + pages), "{extent:?} is free already");
        self.free.put(Extent { start, pages });
    }

    /// Remembers the pages of a dropped tree: the last checkpoint still needs them.
    pub fn bury(&mut self, extents: Vec<Extent>, tree: Arc<TreeShared>) {
        if planted::is("dropped-at-once") {
            return extents.into_iter().for_each(|extent| self.give(extent));
        }
        self.limbo.push(Limbo { extents, tree });
    }

    /// Remembers pages that are no longer part of anything: the last checkpoint may still need
    /// them.
    pub fn release(&mut self, extent: Extent) {
        if planted::is("freed-at-once") {
            return self.give(extent);
        }
        self.freed.push(extent);
    }

    /// Remembers a run that is no page of a tree: the last checkpoint still needs it.
    pub fn retire_run(&mut self, run: Extent) {
        self.double_write.push(run);
    }

    /// A checkpoint exists: pages that were cut out of trees, those of dropped trees, those of its double-write buffer
    /// and what `also` only the one before needed may be used once it has settled.
    pub fn begin_settling(&mut self, also: impl IntoIterator<Item = Extent>) {
        assert!(self.settling.is_empty(), "checkpoints settle one after another");
        self.settling = std::mem::take(&mut self.freed);
        self.settling_runs = std::mem::take(&mut self.double_write);
        self.settling_runs.extend(also);
        self.settling_limbo = std::mem::take(&mut self.limbo);
    }

    /// Pages of dropped trees that nobody holds any more: they may be used when the checkpoint has
    /// settled.
    pub fn abandoned(&self) -> Vec<Extent> {
        let is_abandoned = |limbo: &&Limbo| Arc::strong_count(&limbo.tree) == 1;
        let limbo = self.settling_limbo.iter().filter(is_abandoned);
        limbo.flat_map(|limbo| limbo.extents.iter().copied()).collect()
    }

    /// The images of the checkpoint's double-write buffer are in their places: what it freed may be used, but trees that
    /// somebody holds and pages that somebody looks at.
    /// `forget`: whether the pool holds nothing of a page, from now on.
    pub fn settle(&mut self, forget: &dyn Fn(PageId) -> bool) {
        self.promised.outlive();
        for page in std::mem::take(&mut self.settling).into_iter().flat_map(Extent::pids) {
            let page = Extent { start: page, pages: 1 };
            if !self.free_if_idle(page, forget) {
                self.freed.push(page);
            }
        }
        std::mem::take(&mut self.settling_runs).into_iter().for_each(|run| self.give(run));
        self.left_log.take().into_iter().for_each(|run| self.keep_spare_log(run));
        for mut limbo in std::mem::take(&mut self.settling_limbo) {
            if Arc::strong_count(&limbo.tree) == 1 {
                limbo.extents.retain(|extent| !self.free_if_idle(*extent, forget));
            }
            if !limbo.extents.is_empty() {
                self.limbo.push(limbo);
            }
        }
    }

    fn free_if_idle(&mut self, extent: Extent, forget: &dyn Fn(PageId) -> bool) -> bool {
        let idle = extent.pids().all(forget);
        if idle {
            self.give(extent);
        }
        idle
    }

    /// Takes a run for the double-write buffer.
    ///
    /// # Errors
    /// `Full`, as [`Space::take`].
    pub fn take_double_write(&mut self, pages: u32, held: u32, keep: u32) -> Result<Take<Extent>> {
        let take = self.take(pages, held, keep)?;
        if let Take::Taken(extent) = take {
            self.double_write.push(extent);
        }
        Ok(take)
    }

    /// Makes the double-write buffer's run longer by `more` pages, if those behind it are free or there are
    /// none: the new run, or `None`.
    ///
    /// # Errors
    /// `Full`, as [`Space::take`].
    pub fn extend_double_write(
        &mut self,
        extent: Extent,
        more: u32,
        (held, keep): (u32, u32),
    ) -> Result<Take<Option<Extent>>> {
        let end = extent.start + extent.pages;
        let free = self.free.at(end);
        if free < more && end + free != self.page_count {
            return Ok(Take::Taken(None));
        }
        let page_count = self.page_count.checked_add(more.saturating_sub(free));
        let page_count = page_count.filter(|count| *count <= PAGE_COUNT_MAX);
        let page_count = page_count.ok_or(StorageError::Full)?;
        let longest = self.free.longest_without(Extent { start: end, pages: more });
        let wanted = Space::pages_with_reserve(page_count, longest, keep);
        if wanted > held {
            return Ok(Take::Grow(wanted));
        }
        self.free.cut(end);
        if free > more {
            self.free.put(Extent { start: end + more, pages: free - more });
        }
        self.page_count = page_count;
        let run = self.double_write.iter_mut().find(|run| **run == extent);
        let run = run.expect("the double-write buffer's run is known");
        run.pages += more;
        Ok(Take::Taken(Some(*run)))
    }

    /// The double-write buffer has moved from `extent`, where it may still be read before the next checkpoint.
    pub fn retire_double_write(&mut self, extent: Extent) {
        self.double_write.retain(|run| *run != extent);
        if extent.pages > 0 {
            self.freed.push(extent);
        }
    }

    /// The log has left this run for a checkpoint that begins to settle: it is the spare one when it has.
    pub fn leave_log(&mut self, run: Extent) {
        match planted::is("left-log-given") {
            true => self.give(run),
            false => assert!(self.left_log.replace(run).is_none(), "checkpoints settle one by one"),
        }
    }

    /// The spare run that there will be once what settles has settled.
    pub fn next_log(&self) -> Option<Extent> {
        self.left_log.or(self.spare_log)
    }

    /// Takes these pages, if all of them are free; whether they were.
    pub fn take_exactly(&mut self, extent: Extent) -> bool {
        let Extent { start, pages } = extent;
        let Some(run) = self.free.last_before(start.saturating_add(1)) else { return false };
        let (end, free_end) = (start + pages, run.start + run.pages);
        if end > free_end {
            return false;
        }
        self.free.cut(run.start);
        if run.start < start {
            self.free.put(Extent { start: run.start, pages: start - run.start });
        }
        if end < free_end {
            self.free.put(Extent { start: end, pages: free_end - end });
        }
        true
    }

    /// Takes the spare run of the log, if it has so many pages. One with fewer becomes free.
    pub fn take_spare_log(&mut self, pages: u32) -> Option<Extent> {
        let spare = self.spare_log.take()?;
        if spare.pages >= pages {
            return Some(spare);
        }
        self.give(spare);
        None
    }

    /// Makes the spare run of the log free; whether there was one.
    pub fn give_spare_log(&mut self) -> bool {
        let spare = self.spare_log.take();
        spare.into_iter().for_each(|run| self.give(run));
        spare.is_some()
    }

    /// Keeps a run that the log has left, for the next checkpoint: it need not be filled with zeros again.
    pub fn keep_spare_log(&mut self, run: Extent) {
        if let Some(before) = self.spare_log.replace(run) {
            self.give(before);
        }
    }

    /// Begins a bulk load.
    pub fn begin_load(&mut self) -> u64 {
        self.load_count += 1;
        self.unfinished.insert(self.load_count, Vec::new());
        self.load_count
    }

    /// Takes pages for a bulk load.
    ///
    /// # Errors
    /// `Full`, as [`Space::take`].
    pub fn take_for_load(
        &mut self,
        load: u64,
        pages: u32,
        held: u32,
        keep: u32,
    ) -> Result<Take<Extent>> {
        let take = self.take(pages, held, keep)?;
        if let Take::Taken(extent) = take {
            self.unfinished.get_mut(&load).expect("the load has begun").push(extent);
        }
        Ok(take)
    }

    /// Takes a run that is at most `pages` long for one who wants single pages: as a part of what a
    /// load has taken. Its length.
    ///
    /// # Errors
    /// `Full`, as [`Space::take`].
    pub fn take_some_for_load(
        &mut self,
        load: u64,
        pages: u32,
        held: u32,
        keep: u32,
    ) -> Result<Take<u32>> {
        let count = match self.free.longest() {
            0 => pages,
            longest => pages.min(longest),
        };
        Ok(match self.take_for_load(load, count, held, keep)? {
            Take::Taken(_) => Take::Taken(count),
            Take::Grow(page_count) => Take::Grow(page_count),
            Take::Fill(extent) => Take::Fill(extent),
        })
    }

    /// Takes consecutive pages out of those that a load has taken: of the shortest run that has so
    /// many.
    pub fn take_out_of_load(&mut self, load: u64, pages: u32) -> Option<Extent> {
        let taken = self.unfinished.get_mut(&load).expect("the load has begun");
        let fitting = (0..taken.len()).filter(|at| taken[*at].pages >= pages);
        let at = fitting.min_by_key(|at| taken[*at].pages)?;
        let run = &mut taken[at];
        let out = Extent { start: run.start, pages };
        *run = Extent { start: run.start + pages, pages: run.pages - pages };
        if run.pages == 0 {
            taken.swap_remove(at);
        }
        Some(out)
    }

    /// Pages that belong to a load from now on.
    pub fn add_to_load(&mut self, load: u64, extent: Extent) {
        self.unfinished.get_mut(&load).expect("the load has begun").push(extent);
    }

    /// All pages that a bulk load has taken.
    pub fn pages_of_load(&self, load: u64) -> Vec<Extent> {
        self.unfinished[&load].clone()
    }

    /// Ends a bulk load: `unused` of its pages, or all of them, become free.
    pub fn end_load(&mut self, load: u64, unused: Option<&[Extent]>) {
        let taken = self.unfinished.remove(&load).expect("the load has begun");
        unused.unwrap_or(&taken).iter().for_each(|extent| self.give(*extent));
    }

    /// What a restart may use: everything that the coming checkpoint does not reach.
    pub fn free_after_restart(&self, also: &[Extent]) -> Vec<Extent> {
        let mut all: Vec<Extent> = self.free.iter().collect();
        let limbo = self.limbo.iter().chain(&self.settling_limbo);
        all.extend(limbo.flat_map(|limbo| &limbo.extents));
        if !planted::is("freed-pages-lost") {
            all.extend(&self.freed);
        }
        all.extend(&self.double_write);
        all.extend(&self.settling);
        all.extend(&self.settling_runs);
        all.extend(&self.returning);
        all.extend(self.left_log.iter().chain(&self.spare_log));
        all.extend(self.unfinished.values().flatten());
        all.extend(also);
        merge(all)
    }
}

#[cfg(test)]
mod tests;
