//! Places for those who change pages: some are kept for what frees space, and some for the cleaner.

use std::sync::atomic::Ordering;

use super::{PageMap, SPARE_PLACES, Taken};
use crate::error::Result;
use crate::places::Owner;

/// The part of the extents, and how many at least, that are kept for the cleaner on a full disk,
/// and as many for what frees space.
const RESERVED_PART: usize = 32;
pub(super) const RESERVED_EXTENTS_MIN: usize = 2;

/// The party that wants places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Any change.
    Ordinary,
    /// Work that frees space, if not at once: it gets at what is reserved.
    Freeing,
}

/// Extents that are kept for the cleaner when so many are in use, and as many for what frees space.
pub(super) fn reserved_extents(used: usize) -> usize {
    (used / RESERVED_PART).max(RESERVED_EXTENTS_MIN)
}

impl PageMap {
    /// True if more pages should be changed only when there are more places: there are to be some
    /// for all `dirty` pages and for the map.
    pub fn is_short(&self, dirty: usize, claim: Claim) -> bool {
        self.left() < self.wanted(dirty, claim)
    }

    /// Places that have to be left, so that who claims some leaves what others have.
    fn wanted(&self, dirty: usize, claim: Claim) -> usize {
        let reserved = self.reserved.load(Ordering::Relaxed);
        let parts = match claim {
            Claim::Ordinary => 2,
            Claim::Freeing => 1,
        };
        dirty + SPARE_PLACES + parts * reserved
    }

    /// Makes sure of places for so many dirty pages, and of some more.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full.
    pub async fn reserve(&self, dirty: usize, claim: Claim) -> Result<()> {
        while self.is_short(dirty, claim) {
            let _one = self.growing.acquire().await;
            if self.is_short(dirty, claim) {
                self.add_extent().await?;
            }
        }
        Ok(())
    }

    /// Gives out places for images of pages that are not in the pool, as `take` does, if those of
    /// its `dirty` pages and what the claim does not get at are left. That is one step: of any
    /// number of takers, on any number of workers, none takes what another one has counted on.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. None is given out then.
    pub async fn take_claimed(
        &self,
        owners: &[Owner],
        claim: Claim,
        dirty: impl Fn() -> usize,
    ) -> Result<Taken<'_>> {
        loop {
            if let Some(taken) = self.try_take_claimed(owners, claim, dirty()) {
                return Ok(taken);
            }
            let _one = self.growing.acquire().await;
            if self.is_short(dirty() + owners.len(), claim) {
                self.add_extent().await?;
            }
        }
    }

    fn try_take_claimed(&self, owners: &[Owner], claim: Claim, dirty: usize) -> Option<Taken<'_>> {
        let places = self.change(|state, freed| {
            let is_short = state.extents.left() < self.wanted(dirty + owners.len(), claim);
            (!is_short).then(|| {
                let next = |owner: &Owner| state.take_for(*owner, freed);
                owners.iter().map_while(next).collect::<Vec<_>>()
            })
        })?;
        assert_eq!(places.len(), owners.len(), "there were places for all of them");
        Some(Taken { map: self, places })
    }
}

#[cfg(test)]
mod tests;
