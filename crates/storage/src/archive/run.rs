//! Runs of images that a segment gets from the file.

use std::collections::VecDeque;

use runtime::IoBuf;

use super::failed;
use super::record::RECORD_PAGES_MAX;
use crate::error::{Damage, Result, StorageError};
use crate::extent::Extent;
use crate::page::{self, PageId};
use crate::places::Entry;
use crate::volume::Volume;

/// Images that follow each other in the file, of pages that follow each other.
pub(super) struct Run {
    pub pages: Extent,
    place: PageId,
    /// The checksum that each carries, if pages lie where a map says.
    checksums: Vec<u32>,
}

/// The images of these pages, in runs that fit a record.
pub(super) fn runs(pages: &[Extent], places: Option<&dyn Fn(PageId) -> Entry>) -> VecDeque<Run> {
    match places {
        Some(places) => placed_runs(pages, places),
        None => pages.iter().flat_map(|extent| pieces(*extent)).collect(),
    }
}

/// An extent in pieces that fit a record.
fn pieces(extent: Extent) -> impl Iterator<Item = Run> {
    let starts = (0..extent.pages).step_by(RECORD_PAGES_MAX as usize);
    starts.map(move |at| {
        let (start, pages) = (extent.start + at, RECORD_PAGES_MAX.min(extent.pages - at));
        Run { pages: Extent { start, pages }, place: start, checksums: vec![] }
    })
}

/// The same where a map says where pages lie. Those without a place have become free meanwhile.
fn placed_runs(pages: &[Extent], places: &dyn Fn(PageId) -> Entry) -> VecDeque<Run> {
    let mut runs: VecDeque<Run> = VecDeque::new();
    for pid in pages.iter().flat_map(|extent| extent.pids()) {
        let Entry { place, checksum } = places(pid);
        let follows = |run: &&mut Run| {
            let Extent { start, pages } = run.pages;
            (start + pages, run.place + pages) == (pid, place) && pages < RECORD_PAGES_MAX
        };
        if place == 0 {
            continue;
        }
        if let Some(run) = runs.back_mut().filter(follows) {
            run.pages.pages += 1;
            run.checksums.push(checksum);
        } else {
            let pages = Extent { start: pid, pages: 1 };
            runs.push_back(Run { pages, place, checksums: vec![checksum] });
        }
    }
    runs
}

/// Reads the images of a run, and checks them: damage does not go on into the archive.
pub(super) async fn read_run(file: &Volume, page_size: usize, run: Run) -> Result<IoBuf> {
    let offset = u64::from(run.place) * page_size as u64;
    let bytes = IoBuf::alloc(run.pages.pages as usize * page_size);
    let (read, bytes) = file.read_exact_at(bytes, offset).await;
    read.map_err(failed("read pages for the archive"))?;
    let mut checksums = run.checksums.iter();
    for (pid, image) in run.pages.pids().zip(bytes.as_slice().chunks(page_size)) {
        page::check(image, pid).map_err(|reason| StorageError::Corrupt { pid, reason })?;
        if checksums.next().is_some_and(|checksum| *checksum != page::stored_checksum(image)) {
            return Err(StorageError::Corrupt { pid, reason: Damage::Outdated });
        }
    }
    Ok(bytes)
}
