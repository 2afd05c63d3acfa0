//! Room on the disk and in the pool: who is to change something asks for it before.

use std::sync::Arc;

use super::StoreInner;
use crate::error::Result;
use crate::extent::Extent;
use crate::page_map::{Claim, PageMap, Taken};
use crate::places::Owner;

impl StoreInner {
    /// A claim as it counts now: who has the reserve for a while frees space.
    pub(crate) fn claim(&self, claim: Claim) -> Claim {
        if self.allocator.is_spent() { Claim::Freeing } else { claim }
    }

    /// Pages that somebody has to leave free on a full disk.
    pub(crate) fn keep_of(&self, claim: Claim) -> u32 {
        match self.claim(claim) {
            Claim::Ordinary => self.allocator.kept(),
            Claim::Freeing => 0,
        }
    }

    /// True if changed old pages take so much of the pool that no more of them may be changed
    /// before some are written to the double-write buffer.
    pub fn is_crowded(&self, claim: Claim) -> bool {
        self.pool.is_crowded() || self.pool.is_short_of_places(self.claim(claim))
    }

    /// Waits until the pool is not crowded. Where the disk is full, what can be cleaned is.
    ///
    /// # Errors
    /// `Io` when the disk is full; `Poisoned`.
    pub async fn relieve(self: &Arc<Self>, claim: Claim) -> Result<()> {
        let reserve = || self.pool.reserve_places(0, self.claim(claim));
        match reserve().await {
            Err(error) if error.is_disk_full() => {
                self.clean_for_room().await;
                reserve().await?;
            }
            reserved => reserved?,
        }
        self.pool.relieve_of_kept().await
    }

    /// Takes places for images of pages that are not in the pool. Where the disk is full, what can
    /// be cleaned is.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full.
    pub async fn take_places<'m>(
        &self,
        map: &'m PageMap,
        owners: &[Owner],
        claim: Claim,
    ) -> Result<Taken<'m>> {
        let take = || map.take_claimed(owners, self.claim(claim), || self.pool.dirty());
        match take().await {
            Err(error) if error.is_disk_full() => {
                self.clean_for_room().await;
                take().await
            }
            taken => taken,
        }
    }

    /// Lets something go that was kept for later: the next run of the log, or an extent.
    pub(super) fn give_something(&self) -> bool {
        let give = |map: &Arc<PageMap>| map.give_spare(self.pool.dirty());
        self.ground().give_spare_log() || self.pool.map.as_ref().is_some_and(give)
    }

    /// Takes a run for the directory of a file whose pages lie out of place: where the disk is
    /// full, from what is reserved.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full.
    pub(super) async fn take_directory(&self, map: &PageMap, pages: u32) -> Result<Extent> {
        loop {
            match map.ground().take(pages).await {
                Err(error) if error.is_disk_full() && map.give_spare(self.pool.dirty()) => {}
                taken => return taken,
            }
        }
    }
}
