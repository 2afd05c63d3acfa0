//! What is left of a checkpoint once it exists: the images of its journal go to their places, while pages
//! change on.

use super::StoreInner;
use super::checkpoint::{CHUNK_PAGES, first_slot};
use crate::error::Result;
use crate::header::{Header, Journal};
use crate::page::PageId;
use crate::planted;

impl StoreInner {
    /// Puts the images of `pages` in their places, and lets what the checkpoint freed be used. What cannot be
    /// written poisons the store: opening the file again does the rest.
    pub(super) async fn settle(&self, header: Header, pages: &[(PageId, PageId)]) {
        match self.place(header, pages).await {
            Ok(header) => *self.header.lock().expect("header") = header,
            Err(error) => {
                self.poisoned_by(error);
                return;
            }
        }
        self.pool.journal.end_placing().await;
        self.space().settle(&self.pool);
    }

    /// The header that the file has then, in both slots.
    async fn place(&self, mut header: Header, pages: &[(PageId, PageId)]) -> Result<Header> {
        if header.journal.pages == 0 {
            self.write_slot(&header, 1 - first_slot(&header)).await?;
            return Ok(header);
        }
        for chunk in pages.chunks(CHUNK_PAGES) {
            let images = self.pool.read_journal(chunk).await?;
            self.pool.write_images(images).await?;
        }
        if !planted::is("images-not-synced") {
            self.sync().await?;
        }
        header.sequence += 1;
        header.journal = Journal::default();
        // Slot 0 holds the journal's header, which is whole until slot 1 holds this one.
        self.write_both_slots(&header, 1).await?;
        Ok(header)
    }
}
