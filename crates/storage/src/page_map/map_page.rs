//! Map pages: pieces of the map from page numbers to places (`docs/format/places.md`, section 3).

use runtime::IoBuf;

use crate::le::{set_u32, u32_at};
use crate::page::{self, Identity, PAGE_HEADER_BYTES, PageId, PageKind};
use crate::places::Entry;

const ENTRY_BYTES: usize = 8;

/// Entries of a map page.
pub(super) fn capacity(page_size: usize) -> usize {
    (page_size - PAGE_HEADER_BYTES) / ENTRY_BYTES
}

/// Sealed pieces of a map that is written anew.
pub(crate) fn pieces(page_size: usize, epoch: u64, map: &[Entry]) -> impl Iterator<Item = IoBuf> {
    let entries = (0..).zip(map.chunks(capacity(page_size)));
    entries.map(move |(index, entries)| {
        let mut image = IoBuf::alloc(page_size);
        build(image.as_mut_slice(), index, epoch, entries);
        image
    })
}

/// The number that the map page at `index` carries.
pub(super) fn number(index: u32) -> PageId {
    index + 2
}

/// Makes a map page, sealed.
pub(super) fn build(page: &mut [u8], index: u32, epoch: u64, entries: &[Entry]) {
    assert!(entries.len() <= capacity(page.len()), "{} entries in a map page", entries.len());
    page::init(page, PageKind::Map, Identity { pid: number(index), tree: 0, epoch });
    for (at, entry) in entries.iter().enumerate() {
        let at = PAGE_HEADER_BYTES + at * ENTRY_BYTES;
        set_u32(page, at, entry.place);
        set_u32(page, at + 4, entry.checksum);
    }
    page::seal(page, number(index));
}

/// The entries of the image that is meant by `expected`; `None` when this is another one.
pub(super) fn entries(page: &[u8], index: u32, expected: Entry) -> Option<Vec<Entry>> {
    let is_it = page::check(page, number(index)).is_ok()
        && page::kind(page) == Some(PageKind::Map)
        && page::stored_checksum(page) == expected.checksum;
    let entry = |at: usize| {
        let at = PAGE_HEADER_BYTES + at * ENTRY_BYTES;
        Entry { place: u32_at(page, at), checksum: u32_at(page, at + 4) }
    };
    is_it.then(|| (0..capacity(page.len())).map(entry).collect())
}
