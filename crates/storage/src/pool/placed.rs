//! Pages that are written out of place: each batch goes to places that nothing durable needs, and
//! is found there when all of it is written (`docs/format/places.md`).

use std::sync::atomic::Ordering;

use runtime::IoBuf;

use super::Pool;
use crate::error::Result;
use crate::page::{self, PageId};
use crate::page_map::{Claim, PageMap, Taken};
use crate::places::Owner;

impl Pool {
    /// Writes sealed images of pages: to their places, or to others, where they are found from then
    /// on.
    ///
    /// # Errors
    /// `Io` when the disk is full: the pages have the images that they had. `Io`: the pool is
    /// poisoned.
    pub(crate) async fn write_images(&self, images: Vec<(PageId, IoBuf)>) -> Result<()> {
        let Some(map) = &self.map else { return self.write_at_places(images).await };
        let owned = images.into_iter().map(|(pid, image)| (Owner::Page(pid), image)).collect();
        self.write_elsewhere(map, owned).await
    }

    /// Writes sealed images to new places.
    pub(crate) async fn write_elsewhere(
        &self,
        map: &PageMap,
        images: Vec<(Owner, IoBuf)>,
    ) -> Result<()> {
        if images.is_empty() {
            return Ok(());
        }
        let owners: Vec<Owner> = images.iter().map(|(owner, _)| *owner).collect();
        let taken = map.take(&owners).await.inspect_err(|e| self.after_failed_write(e))?;
        self.write_taken(map, taken, images).await
    }

    /// Writes sealed images to the places that were given out for them.
    ///
    /// # Errors
    /// As `write_images`.
    pub(crate) async fn write_taken(
        &self,
        map: &PageMap,
        taken: Taken<'_>,
        images: Vec<(Owner, IoBuf)>,
    ) -> Result<()> {
        let sum =
            |(owner, image): &(Owner, IoBuf)| (*owner, page::stored_checksum(image.as_slice()));
        let owners: Vec<(Owner, u32)> = images.iter().map(sum).collect();
        let images = images.into_iter().map(|(_, image)| image);
        let placed: Vec<(PageId, IoBuf)> = taken.places.iter().copied().zip(images).collect();
        self.write_at_places(placed).await?;
        map.install(taken, owners);
        Ok(())
    }

    /// True if something else than the pool has an image of this page.
    pub(super) fn is_old(&self, pid: PageId) -> bool {
        self.double_write.contains(pid) || self.map.as_ref().is_some_and(|map| map.has(pid))
    }

    /// Pages that differ from disk.
    pub(crate) fn dirty(&self) -> usize {
        self.dirty.load(Ordering::Relaxed)
    }

    /// True if places are short for the pages that are dirty.
    pub(crate) fn is_short_of_places(&self, claim: Claim) -> bool {
        self.map.as_ref().is_some_and(|map| map.is_short(self.dirty(), claim))
    }

    /// Makes sure of places for the pages that are dirty and so many more.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full.
    pub(crate) async fn reserve_places(&self, more: usize, claim: Claim) -> Result<()> {
        match &self.map {
            Some(map) => map.reserve(self.dirty() + more, claim).await,
            None => Ok(()),
        }
    }
}
