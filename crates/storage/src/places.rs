//! Places of pages, where these are not their numbers (`docs/format/places.md`): what map,
//! directory and header say of them.

use crate::page::PageId;

/// Where the pages of a file lie. Chosen when it is made, and never changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// Each page has its place; changed ones go to the double-write buffer first.
    #[default]
    InPlace,
    /// Each image goes to a place that is free, once, and a map says where.
    OutOfPlace {
        /// Pages of an extent, which is filled from front to back.
        extent_pages: u32,
    },
}

impl Layout {
    /// Out of place, with extents of 256 pages: 1 MiB of pages of 4 KiB.
    pub fn out_of_place() -> Layout {
        Layout::OutOfPlace { extent_pages: 256 }
    }
}

/// Where an image lies, and which one it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// 0: there is none.
    pub place: PageId,
    /// The checksum that the image carries.
    pub checksum: u32,
}

/// Whose image lies at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A page's.
    Page(PageId),
    /// That of the piece of the map with this index.
    Map(u32),
}

/// Records of places in the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlaceRecords {
    /// Pages of an extent; 0 in files whose pages lie in place.
    pub extent_pages: u32,
    /// First pages of the extents, ascending.
    pub extents: Vec<PageId>,
    /// The map's pieces.
    pub map_pages: Vec<Entry>,
}

/// Bytes of a piece of the map in the directory.
const ENTRY_BYTES: usize = 8;

/// Bytes of what a directory with so many extents and pieces of the map says of places.
pub(crate) fn places_len(extent_count: usize, map_page_count: usize) -> usize {
    12 + extent_count * 4 + map_page_count * ENTRY_BYTES
}

impl PlaceRecords {
    /// The layout of the file.
    pub fn layout(&self) -> Layout {
        match self.extent_pages {
            0 => Layout::InPlace,
            extent_pages => Layout::OutOfPlace { extent_pages },
        }
    }

    /// Appends them to a directory.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        bytes.extend(self.extent_pages.to_le_bytes());
        bytes.extend((self.extents.len() as u32).to_le_bytes());
        self.extents.iter().for_each(|start| bytes.extend(start.to_le_bytes()));
        bytes.extend((self.map_pages.len() as u32).to_le_bytes());
        for entry in &self.map_pages {
            bytes.extend(entry.place.to_le_bytes());
            bytes.extend(entry.checksum.to_le_bytes());
        }
        let len = places_len(self.extents.len(), self.map_pages.len());
        assert_eq!(bytes.len() - begin, len, "length of what is said of places");
    }

    /// Reads them; `next` gives the next four bytes. `None` when they are none.
    pub fn decode(mut next: impl FnMut() -> Option<u32>) -> Option<PlaceRecords> {
        let extent_pages = next()?;
        let extents = (0..next()?).map(|_| next()).collect::<Option<_>>()?;
        let map_pages = (0..next()?)
            .map(|_| Some(Entry { place: next()?, checksum: next()? }))
            .collect::<Option<_>>()?;
        (extent_pages > 0).then_some(PlaceRecords { extent_pages, extents, map_pages })
    }
}
