//! Pages that are held for putting changes back.
//!
//! A deletion frees pages that the last checkpoint still needs, and putting its entries back takes
//! others. On a full disk there may be none then, and what is half undone must not become durable.
//! So the pages are taken before: two for each merge of nodes, since what was in two full pages is
//! in four half-full ones when it has been split again, and a run for each long value. A leaf
//! without a merge has room for what it had, if changes are undone in reverse order; what others
//! have put there meanwhile is for the reserve ([`super::reserve`]).

use std::sync::{Arc, OnceLock};

use super::{Store, StoreInner};
use crate::error::Result;
use crate::extent::Extent;
use crate::page_map::Claim;

/// Pages held until changes need not be undone any more; free when this is dropped.
pub struct UndoSpace {
    store: Arc<StoreInner>,
    /// To the allocator they are those of a load that ties none of them to a tree.
    load: OnceLock<u64>,
}

impl Store {
    /// Space for undoing what is going to change; none yet.
    pub fn undo_space(&self) -> Arc<UndoSpace> {
        Arc::new(UndoSpace { store: Arc::clone(&self.inner), load: OnceLock::new() })
    }
}

impl UndoSpace {
    fn load(&self) -> u64 {
        *self.load.get_or_init(|| self.store.space().begin_load())
    }

    /// Holds a run of so many pages for each of some long values (`Tree::value_pages`); all or
    /// none.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full.
    pub async fn hold_runs(&self, runs: &[u32]) -> Result<()> {
        for (done, &pages) in runs.iter().enumerate() {
            let (load, keep) = (self.load(), self.store.keep_of(Claim::Ordinary));
            let taken = self
                .store
                .allocator
                .take_by(|space, held| space.take_for_load(load, pages, held, keep));
            if let Err(error) = taken.await {
                runs[..done].iter().for_each(|pages| self.let_go(*pages));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Holds so many more pages, wherever they lie, for undoing what frees space.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. No more are held then.
    pub(crate) async fn hold_pages(&self, pages: u32) -> Result<()> {
        let (load, keep) = (self.load(), self.store.keep_of(Claim::Freeing));
        let mut held_now = 0;
        while held_now < pages {
            let left = pages - held_now;
            let taken = self
                .store
                .allocator
                .take_by(|space, held| space.take_some_for_load(load, left, held, keep));
            match taken.await {
                Ok(count) => held_now += count,
                Err(error) => {
                    (0..held_now).for_each(|_| self.let_go(1));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes consecutive pages of those that are held, if there are such.
    pub(crate) fn take(&self, pages: u32) -> Option<Extent> {
        let load = *self.load.get()?;
        self.store.space().take_out_of_load(load, pages)
    }

    /// The same, as pages of another load.
    pub(crate) fn take_for_load(&self, other: u64, pages: u32) -> Option<Extent> {
        let load = *self.load.get()?;
        let mut space = self.store.space();
        let taken = space.take_out_of_load(load, pages)?;
        space.add_to_load(other, taken);
        Some(taken)
    }

    /// Holds so many consecutive pages less.
    pub(crate) fn let_go(&self, pages: u32) {
        let load = self.load();
        let mut space = self.store.space();
        let taken = space.take_out_of_load(load, pages);
        taken.into_iter().for_each(|extent| space.give(extent));
    }
}

impl Drop for UndoSpace {
    fn drop(&mut self) {
        if let Some(load) = self.load.get() {
            self.store.space().end_load(*load, None);
        }
    }
}
