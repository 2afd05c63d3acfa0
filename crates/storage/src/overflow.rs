//! Overflow pages: values that are too long for a leaf (`docs/format/page.md`, section 5).
//!
//! The leaf holds a reference instead. The pages of a value are consecutive, and are never changed:
//! another value gets other pages. The interval in which they were born is part of the reference,
//! and the place of a freed page is not used again in the same one; so a reader that comes with an
//! outdated reference notices.

use crate::extent::Extent;
use crate::le::{set_u32, u32_at, u64_at};
use crate::page::{self, Identity, PAGE_HEADER_BYTES, PageId, PageKind};

/// Greatest length of a value in bytes: it is in memory as a whole wherever it is used.
pub const VALUE_LEN_MAX: usize = 64 << 20;

const LEN: usize = PAGE_HEADER_BYTES;
const INDEX: usize = PAGE_HEADER_BYTES + 4;
const OWNER: usize = PAGE_HEADER_BYTES + 8;
const PAYLOAD: usize = PAGE_HEADER_BYTES + 16;

/// Bytes of a reference.
pub(crate) const REFERENCE_BYTES: usize = 16;

/// Where a long value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    pub len: u32,
    pub first: PageId,
    /// Checkpoint interval in which the pages were allocated.
    pub born: u64,
}

impl Reference {
    pub fn encode(self) -> [u8; REFERENCE_BYTES] {
        let mut bytes = [0; REFERENCE_BYTES];
        bytes[..4].copy_from_slice(&self.len.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.first.to_le_bytes());
        bytes[8..].copy_from_slice(&self.born.to_le_bytes());
        bytes
    }

    /// Reads the bytes of a cell that is marked as a reference.
    pub fn decode(bytes: &[u8]) -> Reference {
        Reference { len: u32_at(bytes, 0), first: u32_at(bytes, 4), born: u64_at(bytes, 8) }
    }

    /// The pages of the value.
    pub fn extent(self, page_size: usize) -> Extent {
        let pages = (self.len as usize).div_ceil(capacity(page_size)) as u32;
        Extent { start: self.first, pages }
    }

    /// The piece of the value that `page` holds, if it is page `index` of this value.
    pub fn piece(self, page: &[u8], tree: u32, index: u32) -> Option<&[u8]> {
        let begin = index as usize * capacity(page.len());
        let len = (self.len as usize - begin).min(capacity(page.len()));
        let is_it = page::kind(page) == Some(PageKind::Overflow)
            && page::born(page) == self.born
            && u32_at(page, INDEX) == index
            && u32_at(page, OWNER) == tree
            && u32_at(page, LEN) as usize == len;
        is_it.then(|| &page[PAYLOAD..PAYLOAD + len])
    }
}

/// Bytes of a value that fit a page.
pub(crate) fn capacity(page_size: usize) -> usize {
    page_size - PAYLOAD
}

/// Makes page `index` of a value of tree `owner`. The page belongs to no tree as far as its header
/// goes: nobody is to take it for a node.
pub(crate) fn build(
    page: &mut [u8],
    pid: PageId,
    born: u64,
    owner: u32,
    index: u32,
    payload: &[u8],
) {
    page::init(page, PageKind::Overflow, Identity { pid, tree: 0, epoch: born });
    set_u32(page, LEN, payload.len() as u32);
    set_u32(page, INDEX, index);
    set_u32(page, OWNER, owner);
    page[PAYLOAD..PAYLOAD + payload.len()].copy_from_slice(payload);
}
