//! Meta pages: pieces of the directory (`docs/format/page.md`, section 3).

use crate::le::{set_u32, u32_at};
use crate::page::{self, Identity, PAGE_HEADER_BYTES, PageKind};

const LEN: usize = PAGE_HEADER_BYTES;
const PAYLOAD: usize = PAGE_HEADER_BYTES + 8;

/// Payload bytes that fit a page.
pub(crate) fn capacity(page_size: usize) -> usize {
    page_size - PAYLOAD
}

/// Makes a meta page.
pub(crate) fn build(page: &mut [u8], identity: Identity, payload: &[u8]) {
    assert!(payload.len() <= capacity(page.len()), "{} bytes in a meta page", payload.len());
    page::init(page, PageKind::Meta, identity);
    set_u32(page, LEN, payload.len() as u32);
    page[PAYLOAD..PAYLOAD + payload.len()].copy_from_slice(payload);
}

/// The payload of a checked page, `None` when it is no meta page.
pub(crate) fn payload(page: &[u8]) -> Option<&[u8]> {
    let len = u32_at(page, LEN) as usize;
    let is_meta = page::kind(page) == Some(PageKind::Meta);
    page.get(PAYLOAD..PAYLOAD.checked_add(len)?).filter(|_| is_meta)
}
