//! A file whose pages lie out of place, on its way to a later state: nobody else knows it before
//! it is whole, so an image goes where the last one of its page lies.

use runtime::IoBuf;

use super::failed;
use super::record::RECORD_PAGES_MAX;
use crate::directory::Directory;
use crate::error::{Result, StorageError};
use crate::header::Header;
use crate::log::place::LogPlace;
use crate::meta;
use crate::page::{self, Identity, PageId};
use crate::page_map;
use crate::page_map::map_page;
use crate::places::{Entry, PlaceRecords};
use crate::volume::Volume;

/// Images of the map and the directory that are written at a time: as many as a record of the
/// archive has.
const IMAGES_MAX: usize = RECORD_PAGES_MAX as usize;

/// The file, its map and its extents.
pub(super) struct PlacedFile<'f> {
    file: &'f Volume,
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
        file: &'f Volume,
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

    /// The place to which the sealed image of this page is to be written.
    pub fn place_of(&mut self, pid: PageId, image: &[u8]) -> PageId {
        let place = match self.map[pid as usize].place {
            0 => self.take(),
            place => place,
        };
        self.map[pid as usize] = Entry { place, checksum: page::stored_checksum(image) };
        place
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
        let mut pieces = map_page::pieces(self.page_size, header.checkpoint, &map).peekable();
        while pieces.peek().is_some() {
            let mut images = vec![];
            for piece in pieces.by_ref().take(IMAGES_MAX) {
                let checksum = page::stored_checksum(piece.as_slice());
                let place = self.take();
                self.records.map_pages.push(Entry { place, checksum });
                images.push((place, piece));
            }
            put_images(self.file, self.page_size, images).await?;
        }
        let (trees, free) = (directory.trees.clone(), directory.free.clone());
        let bytes = Directory { trees, free, places: self.records.clone() }.encode();
        let meta_pid = self.end;
        let payloads: Vec<&[u8]> = bytes.chunks(meta::capacity(self.page_size)).collect();
        for payloads in payloads.chunks(IMAGES_MAX) {
            let images = (self.end..).zip(payloads).map(|(pid, payload)| {
                let identity = Identity { pid, tree: 0, epoch: header.checkpoint };
                let mut image = IoBuf::alloc(self.page_size);
                meta::build(image.as_mut_slice(), identity, payload);
                page::seal(image.as_mut_slice(), pid);
                (pid, image)
            });
            put_images(self.file, self.page_size, images.collect()).await?;
            self.end += payloads.len() as u32;
        }
        let log = LogPlace { pid: self.end, ..header.log };
        let (meta_pages, page_count) = (self.end - meta_pid, self.end + log.pages);
        Ok(Header { meta_pid, meta_pages, log, page_count, ..header })
    }
}

/// Writes images to places of a file: those that follow each other in one request, all of them in
/// flight together.
///
/// # Errors
/// `Io`.
pub(super) async fn put_images(
    file: &Volume,
    page_size: usize,
    mut images: Vec<(PageId, IoBuf)>,
) -> Result<()> {
    images.sort_by_key(|(place, _)| *place);
    let mut writes = Vec::new();
    let mut images = images.into_iter().peekable();
    while let Some((first, image)) = images.next() {
        let mut run = vec![image];
        let follows = |place: PageId, run: &[IoBuf]| place as usize == first as usize + run.len();
        while let Some((_, image)) = images.next_if(|(place, _)| follows(*place, &run)) {
            run.push(image);
        }
        let (file, offset) = (file.clone(), u64::from(first) * page_size as u64);
        writes.push(runtime::spawn(async move { file.write_vectored_all_at(run, offset).await.0 }));
    }
    let mut outcome = Ok(());
    for write in writes {
        let written = write.await.map_err(|_| StorageError::Stopped);
        outcome =
            outcome.and(written.and_then(|done| done.map_err(failed("write the restored file"))));
    }
    outcome
}
