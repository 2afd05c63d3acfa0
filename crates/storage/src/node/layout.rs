//! Offsets of a tree node (`docs/format/page.md`, section 2).

use crate::page::PAGE_HEADER_BYTES;

pub(super) const COUNT: usize = PAGE_HEADER_BYTES;
pub(super) const HEAP_TOP: usize = 42;
pub(super) const PREFIX_LEN: usize = 44;
pub(super) const LOWER_OFF: usize = 46;
pub(super) const LOWER_LEN: usize = 48;
pub(super) const UPPER_OFF: usize = 50;
pub(super) const UPPER_LEN: usize = 52;
pub(super) const UPPER_INF: usize = 54;
pub(super) const LEVEL: usize = 55;
pub(super) const HAS_OVERFLOW: usize = 56;
pub(super) const HINTS: usize = 64;
pub(super) const SLOTS: usize = 128;

/// Key heads kept in the node's third cache line.
pub(super) const HINT_COUNT: usize = 16;
/// Bytes of a slot: head, cell offset, suffix length.
pub(super) const SLOT_BYTES: usize = 8;
/// Bytes of a cell besides suffix and value: the value's length.
pub(super) const CELL_BYTES: usize = 2;

/// Set in a cell's value length when the value is a reference. No value in a node is that long.
pub(super) const OVERFLOW_MARK: u16 = 1 << 15;

/// Longest key of a node in a page of `page_size` bytes. With it any split leaves room (see
/// `split`).
pub const fn key_len_max(page_size: usize) -> usize {
    page_size / 8
}

/// Greatest length of key and value together in a leaf of `page_size` bytes; a longer value goes to
/// overflow pages.
pub const fn entry_len_max(page_size: usize) -> usize {
    page_size / 4
}

const _: () = assert!(HINTS + 4 * HINT_COUNT == SLOTS, "slots follow the hints");
const _: () = assert!(SLOTS.is_multiple_of(64), "slots begin at a cache line");
