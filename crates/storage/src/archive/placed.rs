//! A file whose pages lie out of place, on its way to a later state: nobody else knows it before
//! it is whole, so an image goes where the last one of its page lies.

use runtime::IoBuf;
use runtime::fs::File;

use super::failed;
use crate::directory::Directory;
use crate::error::Result;
use crate::header::Header;
use crate::log::place::LogPlace;
use crate::meta;
use crate::page::{self, Identity, PageId};
use crate::page_map;
use crate::page_map::map_page;
use crate::places::{Entry, PlaceRecords};

/// The file, its map and its extents.
pub(super) struct PlacedFile<'f> {
    file: &'f File,
    page_size: usize,
    map: Vec<Entry>,
    records: PlaceRecords,
    /// Places of the last extent that are left.
    left: u32,
    /// Pages of the file.
    end: PageId,
}

impl<'f> PlacedFile<'f> {
    /// A copy of a file with this header and directory that is to have so many page numbers.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub async fn of(
        file: &'f File,
        (header, directory): (&Header, Directory),
        numbers: u32,
    ) -> Result<PlacedFile<'f>> {
        let mut map = page_map::open::read(file, header, &directory.places).await?;
        // Entries of free pages mean nothing.
        for pid in directory.free.iter().flat_map(|extent| extent.pids()) {
            map.get_mut(pid as usize).into_iter().for_each(|entry| *entry = Entry::default());
        }
        map.resize(numbers.max(header.numbers) as usize, Entry::default());
        let records = PlaceRecords { map_pages: vec![], ..directory.places };
        let page_size = header.page_size as usize;
        Ok(PlacedFile { file, page_size, map, records, left: 0, end: header.page_count })
    }

    /// True if the file is to have this page.
    pub fn knows(&self, pid: u64) -> bool {
        pid < self.map.len() as u64
    }

    /// Writes sealed images of pages that follow each other.
    ///
    /// # Errors
    /// `Io`.
    pub async fn put(&mut self, first: PageId, images: &[u8]) -> Result<()> {
        for (pid, image) in (first..).zip(images.chunks(self.page_size)) {
            let place = match self.map[pid as usize].place {
                0 => self.take(),
                place => place,
            };
            self.map[pid as usize] = Entry { place, checksum: page::stored_checksum(image) };
            self.write(place, IoBuf::copy_of(image)).await?;
        }
        Ok(())
    }

    /// A place behind all others.
    fn take(&mut self) -> PageId {
        if self.left == 0 {
            self.left = self.records.extent_pages;
            self.records.extents.push(self.end);
            self.end += self.left;
        }
        self.left -= 1;
        self.end - self.left - 1
    }

    /// Writes the map, and the directory with these trees and free pages; the header that names
    /// both, and a run for its log.
    ///
    /// # Errors
    /// `Io`.
    pub async fn finish(mut self, directory: &Directory, header: Header) -> Result<Header> {
        let map = std::mem::take(&mut self.map);
        for piece in map_page::pieces(self.page_size, header.checkpoint, &map) {
            let entry =
                Entry { place: self.take(), checksum: page::stored_checksum(piece.as_slice()) };
            self.records.map_pages.push(entry);
            self.write(entry.place, piece).await?;
        }
        let (trees, free) = (directory.trees.clone(), directory.free.clone());
        let bytes = Directory { trees, free, places: self.records.clone() }.encode();
        let meta_pid = self.end;
        for (at, payload) in (0..).zip(bytes.chunks(meta::capacity(self.page_size))) {
            let pid = meta_pid + at;
            let mut image = IoBuf::alloc(self.page_size);
            let identity = Identity { pid, tree: 0, epoch: header.checkpoint };
            meta::build(image.as_mut_slice(), identity, payload);
            page::seal(image.as_mut_slice(), pid);
            self.write(pid, image).await?;
            self.end = pid + 1;
        }
        let log = LogPlace { pid: self.end, ..header.log };
        let (meta_pages, page_count) = (self.end - meta_pid, self.end + log.pages);
        Ok(Header { meta_pid, meta_pages, log, page_count, ..header })
    }

    async fn write(&self, place: PageId, image: IoBuf) -> Result<()> {
        let offset = u64::from(place) * self.page_size as u64;
        self.file.write_all_at(image, offset).await.0.map_err(failed("write the restored file"))
    }
}
