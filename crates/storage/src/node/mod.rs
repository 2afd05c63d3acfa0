//! Tree nodes as slotted pages: pure functions over the bytes of a page.
//!
//! ```text
//! parent:        | ... | X | Y | ...      child at X: lower fence X, upper fence Y, X <= keys < Y
//! node:   header | hints | slots -> ... free ... <- cells, fences
//! ```
//!
//! The form is that of the slotted nodes with prefix truncation, fences, heads and hints of
//! LeanStore and vmcache, to which the storage engines of the io_uring paper (section 3.1) and of
//! this one belong.

pub(crate) mod build;
pub(crate) mod layout;
pub(crate) mod order;
mod search;
pub(crate) mod split;
#[cfg(test)]
mod tests;
mod verify;

use std::ops::Range;

pub(crate) use build::{build_empty, insert, remove, replace};
pub(crate) use verify::verify;

use crate::le::{u16_at, u32_at};
use crate::page::PageId;
use layout::{
    CELL_BYTES, COUNT, HAS_OVERFLOW, HEAP_TOP, LEVEL, LOWER_LEN, LOWER_OFF, OVERFLOW_MARK,
    PREFIX_LEN, SLOT_BYTES, SLOTS, UPPER_INF, UPPER_LEN, UPPER_OFF,
};
use order::compare;

/// A value as a node holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    pub bytes: &'a [u8],
    /// Whether the bytes are a reference to overflow pages.
    pub overflow: bool,
}

impl<'a> Value<'a> {
    /// A value that is all in the node.
    pub fn inline(bytes: &'a [u8]) -> Value<'a> {
        Value { bytes, overflow: false }
    }
}

/// A view of a tree node.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    page: &'a [u8],
}

impl<'a> Node<'a> {
    #[inline]
    pub fn new(page: &'a [u8]) -> Node<'a> {
        Node { page }
    }

    /// Number of entries.
    #[inline]
    pub fn count(&self) -> usize {
        usize::from(u16_at(self.page, COUNT))
    }

    /// Distance to the leaves; 0 for a leaf.
    #[inline]
    pub fn level(&self) -> u8 {
        self.page[LEVEL]
    }

    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.level() == 0
    }

    /// Least key that the node may hold.
    #[inline]
    pub fn lower(&self) -> &'a [u8] {
        self.heap(u16_at(self.page, LOWER_OFF), u16_at(self.page, LOWER_LEN))
    }

    /// The key from which on the next node is responsible, `None` for the last node of the level.
    #[inline]
    pub fn upper(&self) -> Option<&'a [u8]> {
        if self.page[UPPER_INF] != 0 {
            return None;
        }
        Some(self.heap(u16_at(self.page, UPPER_OFF), u16_at(self.page, UPPER_LEN)))
    }

    /// Length of the prefix cut from each key.
    #[inline]
    fn prefix_len(&self) -> usize {
        usize::from(u16_at(self.page, PREFIX_LEN))
    }

    /// The prefix cut from each key.
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        &self.lower()[..self.prefix_len()]
    }

    /// Whether the node is responsible for `key`.
    #[inline]
    pub fn covers(&self, key: &[u8]) -> bool {
        compare(self.lower(), key).is_le()
            && self.upper().is_none_or(|upper| compare(key, upper).is_lt())
    }

    /// Free bytes between slots and heap.
    pub fn free_bytes(&self) -> usize {
        usize::from(u16_at(self.page, HEAP_TOP)) - (SLOTS + self.count() * SLOT_BYTES)
    }

    /// Bytes that header, slots, fences and cells take, without the holes of the heap.
    pub fn used_bytes(&self) -> usize {
        let fences = self.lower().len() + self.upper().map_or(0, <[u8]>::len);
        let cells: usize = (0..self.count()).map(|position| self.cell_len(position)).sum();
        SLOTS + fences + self.count() * SLOT_BYTES + cells
    }

    /// Bytes of all keys, with the node's prefix, and values.
    pub fn entries_len(&self) -> usize {
        let cells: usize = (0..self.count()).map(|position| self.cell_len(position)).sum();
        cells + self.count() * self.prefix_len() - self.count() * CELL_BYTES
    }

    /// Whether an entry with a key and a value of these lengths fits, after a compaction if need
    /// be.
    pub fn has_room(&self, key_len: usize, value_len: usize) -> bool {
        let needed = SLOT_BYTES + CELL_BYTES + key_len - self.prefix_len() + value_len;
        self.free_bytes() >= needed || self.used_bytes() + needed <= self.page.len()
    }

    /// Whether the entry at `position` may have a value of this length instead of its own.
    pub fn has_room_instead(&self, position: usize, value_len: usize) -> bool {
        let (_, suffix_len) = self.cell(position);
        let old_len = self.value(position).bytes.len();
        value_len <= old_len
            || self.free_bytes() >= CELL_BYTES + suffix_len + value_len
            || self.used_bytes() + value_len - old_len <= self.page.len()
    }

    #[inline]
    fn heap(&self, offset: u16, len: u16) -> &'a [u8] {
        &self.page[usize::from(offset)..usize::from(offset) + usize::from(len)]
    }

    #[inline]
    fn head(&self, position: usize) -> u32 {
        u32_at(self.page, SLOTS + position * SLOT_BYTES)
    }

    #[inline]
    fn cell(&self, position: usize) -> (usize, usize) {
        let slot = SLOTS + position * SLOT_BYTES;
        (usize::from(u16_at(self.page, slot + 4)), usize::from(u16_at(self.page, slot + 6)))
    }

    fn cell_len(&self, position: usize) -> usize {
        let (cell, suffix_len) = self.cell(position);
        CELL_BYTES + suffix_len + usize::from(u16_at(self.page, cell) & !OVERFLOW_MARK)
    }

    /// Key of an entry without the node's prefix.
    #[inline]
    pub fn suffix(&self, position: usize) -> &'a [u8] {
        let (cell, suffix_len) = self.cell(position);
        &self.page[cell + CELL_BYTES..cell + CELL_BYTES + suffix_len]
    }

    /// Value of an entry.
    #[inline]
    pub fn value(&self, position: usize) -> Value<'a> {
        let (cell, suffix_len) = self.cell(position);
        let begin = cell + CELL_BYTES + suffix_len;
        let mark_and_len = u16_at(self.page, cell);
        let len = usize::from(mark_and_len & !OVERFLOW_MARK);
        let overflow = mark_and_len & OVERFLOW_MARK != 0;
        Value { bytes: &self.page[begin..begin + len], overflow }
    }

    /// Whether some value may be a reference to overflow pages.
    #[inline]
    pub fn has_overflow(&self) -> bool {
        self.page[HAS_OVERFLOW] != 0
    }

    /// Child of an inner entry.
    #[inline]
    pub fn child(&self, position: usize) -> PageId {
        u32_at(self.value(position).bytes, 0)
    }

    /// Writes the whole key of an entry into `key`.
    #[inline]
    pub fn key_into(&self, position: usize, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(self.prefix());
        key.extend_from_slice(self.suffix(position));
    }

    /// The whole key of an entry.
    pub fn key(&self, position: usize) -> Vec<u8> {
        let mut key = Vec::new();
        self.key_into(position, &mut key);
        key
    }

    /// Calls `visit` with key and value of each entry in `positions`; there are no references among
    /// them.
    pub fn visit(&self, positions: Range<usize>, visit: &mut dyn FnMut(&[u8], &[u8])) {
        assert!(!self.has_overflow(), "a leaf with references is visited as a copy");
        self.visit_stored(positions, &mut |key, value| visit(key, value.bytes));
    }

    /// Calls `visit` with key and value of each entry in `positions`, as they are stored.
    #[inline]
    pub fn visit_stored(&self, positions: Range<usize>, visit: &mut impl FnMut(&[u8], Value<'_>)) {
        let mut key = self.prefix().to_vec();
        for position in positions {
            key.truncate(self.prefix_len());
            key.extend_from_slice(self.suffix(position));
            visit(&key, self.value(position));
        }
    }
}
