//! What is left of a checkpoint once it exists: the images of its double-write buffer go to their places, while pages
//! change on.

use std::sync::Arc;

use super::StoreInner;
use super::checkpoint::{CHUNK_PAGES, first_slot};
use crate::archive::write::Settled;
use crate::directory::Directory;
use crate::error::Result;
use crate::extent::Extent;
use crate::header::{DoubleWrite, Header};
use crate::log::place::LogPlace;
use crate::page::PageId;
use crate::places::Entry;
use crate::planted;

impl StoreInner {
    /// Puts the images of `pages` in their places, and lets what the checkpoint freed be used. What cannot be
    /// written poisons the store: opening the file again does the rest.
    pub(super) async fn settle(
        &self,
        header: Header,
        directory: &Arc<Directory>,
        pages: &[(PageId, PageId)],
    ) {
        match self.place(header, directory, pages).await {
            Ok(header) => *self.header.lock().expect("header") = header,
            Err(error) => {
                self.poisoned_by(error);
                return;
            }
        }
        self.pool.double_write.end_placing().await;
        self.forget_abandoned().await;
        let forget = |pid| self.pool.is_absent(pid) || self.pool.forget(pid);
        self.space().settle(&forget);
        if let Some(map) = &self.pool.map {
            map.settle();
            // Nothing of a tree is given out there.
            self.ground().settle(&|_| true);
            map.give_space_back().await;
        }
    }

    /// Has the pool forget the pages of large trees beforehand, some at a time.
    async fn forget_abandoned(&self) {
        let abandoned = self.space().abandoned();
        for pid in abandoned.into_iter().flat_map(Extent::pids) {
            if !self.pool.is_absent(pid) {
                self.pool.forget(pid);
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
    }

    /// The header that the file has then, in both slots.
    async fn place(
        &self,
        mut header: Header,
        directory: &Arc<Directory>,
        pages: &[(PageId, PageId)],
    ) -> Result<Header> {
        let has_double_write = header.double_write.pages > 0;
        if has_double_write {
            for chunk in pages.chunks(CHUNK_PAGES) {
                let images = self.pool.read_double_write(chunk).await?;
                self.pool.write_images(images).await?;
            }
            if !planted::is("images-not-synced") {
                self.sync().await?;
            }
        }
        // Before the double-write buffer goes, which says what has changed.
        let line = self.archived(&header, directory, pages).await;
        let next = self.next_log(&header);
        if !has_double_write && line == header.archive && next == header.next_log {
            self.write_slot(&header, 1 - first_slot(&header)).await?;
            return Ok(header);
        }
        let first = PageId::from(has_double_write);
        header.sequence += 1;
        header.double_write = DoubleWrite::default();
        header.archive = line;
        header.next_log = next;
        let written = match planted::is("next-run-not-named") {
            true => Header { next_log: LogPlace::default(), ..header.clone() },
            false => header.clone(),
        };
        // Slot 0 holds the double-write buffer's header, which is whole until slot 1 holds this one; without a double-write buffer
        // it is slot 1 that holds the checkpoint.
        self.write_both_slots(&written, first).await?;
        Ok(header)
    }

    /// Where the log goes on with the next checkpoint, if there is a run for it. What was written there before has
    /// another salt.
    fn next_log(&self, header: &Header) -> LogPlace {
        let run = self.ground().next_log();
        match run {
            Some(_) if header.next_log.extent() == run => header.next_log,
            Some(Extent { start: pid, pages }) => {
                LogPlace { pid, pages, salt: u64::from_le_bytes(runtime::entropy()) }
            }
            None => LogPlace::default(),
        }
    }

    /// Has the checkpoint archived; the line that it belongs to then.
    async fn archived(
        &self,
        header: &Header,
        directory: &Arc<Directory>,
        pages: &[(PageId, PageId)],
    ) -> u64 {
        let Some(archive) = &self.archive else { return 0 };
        let double_written: Vec<PageId> = pages.iter().map(|(pid, _)| *pid).collect();
        let file = self.pool.file();
        let map = self.pool.map.as_ref();
        let place = map.map(|map| |pid| map.durable_entry(pid));
        let places = place.as_ref().map(|place| place as &dyn Fn(PageId) -> Entry);
        let double_written = &double_written;
        archive.take(Settled { file, header, directory, double_written, places }).await
    }
}
