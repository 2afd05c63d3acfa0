//! Stores whose pages are written out of place (`docs/format/places.md`): page numbers and pages of
//! the file are given out apart, and a checkpoint writes a map instead of images to places.

use std::sync::{Arc, MutexGuard};

use super::checkpoint::{CHUNK_PAGES, Places};
use super::{Store, StoreInner, StoreOptions};
use crate::allocator::Allocator;
use crate::directory::{Directory, encoded_len};
use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::meta;
use crate::page::{self, PageId};
use crate::page_map::{PageMap, PlaceStats};
use crate::pageset::PageSet;
use crate::places::{Layout, Owner};
use crate::planted;
use crate::space::Space;
use crate::tree::misplaced;

/// Pages of an extent, at most.
const EXTENT_PAGES_MAX: u32 = 1 << 16;

/// The fullest that extents may be kept, in percent: the cleaner rewrites the rest over and over.
const FILL_PERCENT_MAX: u32 = 90;

impl Store {
    /// How the extents are used, of a file whose pages lie out of place.
    pub fn place_stats(&self) -> Option<PlaceStats> {
        self.inner.pool.map.as_ref().map(|map| map.stats())
    }
}

impl StoreInner {
    /// Gives out pages of the file; with pages in place it is what gives out page numbers, too.
    pub(super) fn ground_allocator(&self) -> &Allocator {
        self.pool.map.as_ref().map_or(&self.allocator, |map| map.ground())
    }

    /// The pages of the file that are in use.
    pub(super) fn ground(&self) -> MutexGuard<'_, Space> {
        self.ground_allocator().space()
    }

    /// Free places in a row that are enough for a checkpoint of all that has changed and `pages`
    /// new pages, whatever is taken first.
    pub(super) fn places_of_checkpoint(&self, map: &PageMap, pages: u32, changed: u32) -> u32 {
        let dirty = self.pool.dirty() + (changed + pages) as usize;
        let wanted = dirty + map.map_pages_wanted(dirty);
        let extent_pages = map.extent_pages() as usize;
        let missing = wanted.saturating_sub(map.left()).div_ceil(extent_pages) * extent_pages;
        let extents = self.space().extent_count() + pages as usize + changed as usize;
        let trees = self.trees().len() + 1;
        let records = map.records_len(missing / extent_pages + 1, map.map_pages_wanted(dirty));
        let bytes = encoded_len(trees, extents) + records;
        let directory = bytes.div_ceil(meta::capacity(self.pool.page_size()));
        u32::try_from(missing + directory).unwrap_or(u32::MAX).saturating_add(pages)
    }

    /// Writes all dirty pages, the map and the directory. The pages are clean then: a checkpoint
    /// that fails for want of space finds less to do when it is tried again. Nobody changes pages
    /// meanwhile.
    pub(super) async fn write_placed(
        &self,
        map: &PageMap,
        dirty: &[(PageId, u32)],
    ) -> Result<Places> {
        for chunk in dirty.chunks(CHUNK_PAGES) {
            self.pool.write_images(self.images(chunk)).await?;
            chunk.iter().for_each(|(_, frame)| self.pool.mark_clean(*frame));
        }
        self.write_map(map).await?;
        let trees: Vec<_> = self.trees().values().map(|tree| tree.record()).collect();
        let numbers = self.space().page_count();
        let free = self.space().free_after_restart(&[]);
        let directory = Arc::new(Directory { trees, free, places: map.records() });
        let capacity = meta::capacity(self.pool.page_size());
        let pages = directory.encode().len().div_ceil(capacity);
        let meta = self.take_directory(map, pages as u32).await?;
        let page_count = self.ground().page_count();
        let places = Places { meta, directory, page_count, numbers };
        self.write_directory(&places).await.inspect_err(|_| self.ground().give(places.meta))?;
        Ok(places)
    }

    /// Writes the pieces of the map that have changed: each page that is part of a tree lies where
    /// it says.
    async fn write_map(&self, map: &PageMap) -> Result<()> {
        let (epoch, mut from) = (self.pool.epoch(), 0);
        loop {
            let images = map.outdated(from, CHUNK_PAGES, epoch);
            let Some((last, _)) = images.last() else { return Ok(()) };
            from = last + 1;
            let written: Vec<(u32, u32)> = images
                .iter()
                .map(|(index, image)| (*index, page::stored_checksum(image.as_slice())))
                .collect();
            let images = images.into_iter().map(|(index, image)| (Owner::Map(index), image));
            if !planted::is("map-not-written") {
                self.pool.write_elsewhere(map, images.collect()).await?;
            }
            map.note_written(&written, epoch);
        }
    }

    /// Checks that each page that is not free has a place, and that extents, directory, log and
    /// free space share the pages of the file.
    pub(super) async fn account_places(&self, map: &PageMap, meta: Extent) -> Result<()> {
        let header = self.header.lock().expect("header").clone();
        let (numbers, free) = {
            let space = self.space();
            (space.page_count(), space.free_after_restart(&[]))
        };
        let mut unused = PageSet::new(numbers);
        for pid in free.iter().flat_map(|extent| extent.pids()) {
            unused.insert(pid).map_err(|_| misplaced(pid, "a page number that is free twice"))?;
        }
        let mut dirty: Vec<PageId> = self.pool.dirty_frames().into_iter().map(|d| d.0).collect();
        dirty.sort_unstable();
        let is_dirty = |pid: &PageId| dirty.binary_search(pid).is_ok();
        let lost = |pid: &PageId| !unused.contains(*pid) && !map.has(*pid) && !is_dirty(pid);
        if let Some(pid) = (2..numbers).find(lost) {
            return Err(misplaced(pid, "a page without a place"));
        }
        let (runs, free, place_count) = map.survey().await;
        let mut seen = PageSet::new(place_count);
        let others = [meta].into_iter().chain(header.log.extent());
        for page in runs.into_iter().chain(others).chain(free).flat_map(|run| run.pids()) {
            seen.insert(page).map_err(|_| misplaced(page, "a place that is used twice"))?;
        }
        match (2..place_count).find(|page| !seen.contains(*page)) {
            Some(page) => Err(misplaced(page, "a place that belongs to nothing")),
            None => Ok(()),
        }
    }
}

/// Refuses options that a file with this layout cannot have.
///
/// # Errors
/// `Option`.
pub(super) fn check(layout: Layout, options: &StoreOptions) -> Result<()> {
    match layout {
        Layout::OutOfPlace { .. } if !(1..=FILL_PERCENT_MAX).contains(&options.fill_percent) => {
            Err(StorageError::Option("extents are kept full to 1 to 90 percent"))
        }
        Layout::OutOfPlace { extent_pages } if !(1..=EXTENT_PAGES_MAX).contains(&extent_pages) => {
            Err(StorageError::Option("an extent has 1 to 65536 pages"))
        }
        _ => Ok(()),
    }
}
