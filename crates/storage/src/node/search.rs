//! Binary search in a node, by heads first, narrowed by the hints.

use std::cmp::Ordering;
use std::hint::select_unpredictable;

use super::Node;
use super::layout::{HINT_COUNT, HINTS, SLOT_BYTES, SLOTS};
use super::order::compare;
use crate::cache::{LINE_BYTES, prefetch_line};

/// First four bytes of a key as a number that orders like the key, as far as four bytes can tell.
#[inline]
pub(super) fn head_of(suffix: &[u8]) -> u32 {
    if let Some(word) = suffix.first_chunk::<4>() {
        return u32::from_be_bytes(*word);
    }
    let mut word = [0; 4];
    word[..suffix.len()].copy_from_slice(suffix);
    u32::from_be_bytes(word)
}

impl Node<'_> {
    /// First position whose key is not below `key`, and whether it is `key` itself.
    /// `key` may lie outside of the fences.
    #[inline]
    pub fn lower_bound(&self, key: &[u8]) -> (usize, bool) {
        let prefix = self.prefix();
        if !key.starts_with(prefix) {
            return (if key < prefix { 0 } else { self.count() }, false);
        }
        self.suffix_bound(&key[prefix.len()..])
    }

    /// As [`Node::lower_bound`], for a key between the fences, which has the prefix for certain.
    #[inline]
    pub fn covered_bound(&self, key: &[u8]) -> (usize, bool) {
        debug_assert!(self.covers(key));
        self.suffix_bound(&key[self.prefix_len()..])
    }

    #[inline]
    fn suffix_bound(&self, suffix: &[u8]) -> (usize, bool) {
        let head = head_of(suffix);
        let (mut low, mut high) = self.hinted(head);
        low = self.head_bound(head, low, high);
        // Among equal heads the rest decides. Almost always there is one, which comes first.
        let mut middle = low;
        while low < high {
            let order = self.head(middle).cmp(&head);
            match order.then_with(|| compare(self.suffix(middle), suffix)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return (middle, true),
                Ordering::Greater => high = middle,
            }
            middle = low.midpoint(high);
        }
        (low, false)
    }

    /// First position from `low` to `high` whose head is not below `head`. Without branches on the keys: where a random
    /// key belongs cannot be predicted.
    #[inline]
    fn head_bound(&self, head: u32, mut low: usize, high: usize) -> usize {
        let mut len = high - low;
        while len > 0 {
            let half = len.div_ceil(2);
            low += select_unpredictable(self.head(low + half - 1) < head, half, 0);
            len -= half;
        }
        low
    }

    /// Position of the child responsible for `key`, which must lie between the fences.
    #[inline]
    pub fn child_position(&self, key: &[u8]) -> usize {
        match self.covered_bound(key) {
            (position, true) => position,
            (position, false) => position.saturating_sub(1),
        }
    }

    /// Position of the child that holds the greatest keys below `key`.
    pub fn child_position_below(&self, key: &[u8]) -> usize {
        self.lower_bound(key).0.saturating_sub(1)
    }

    /// Brings the slots closer that a search for `key` will compare, if the node is responsible for it. Touches
    /// header and hints.
    pub fn hint_slots(&self, key: &[u8]) {
        let Some(suffix) = key.get(self.prefix_len()..) else { return };
        let (low, high) = self.hinted(head_of(suffix));
        for position in (low..high).step_by(LINE_BYTES / SLOT_BYTES) {
            prefetch_line(&raw const self.page[SLOTS + position * SLOT_BYTES]);
        }
    }

    /// Brings the cell closer that a search for `key` is likely to end at. Touches slots besides.
    pub fn hint_cell(&self, key: &[u8]) {
        let Some(suffix) = key.get(self.prefix_len()..) else { return };
        let head = head_of(suffix);
        let (low, high) = self.hinted(head);
        let position = self.head_bound(head, low, high);
        if position < self.count() {
            prefetch_line(&raw const self.page[self.cell(position).0]);
        }
    }

    /// Narrows the slots that may hold `head` by means of the hints.
    #[inline]
    fn hinted(&self, head: u32) -> (usize, usize) {
        let count = self.count();
        let distance = count / (HINT_COUNT + 1);
        if count <= 2 * HINT_COUNT {
            return (0, count);
        }
        // Counted rather than searched: the hints ascend, and nothing depends on a guess.
        let hints: &[u8; 4 * HINT_COUNT] = self.page[HINTS..].first_chunk().expect("hints");
        let (mut first, mut beyond) = (0, 0);
        for word in hints.as_chunks::<4>().0 {
            let hint = u32::from_le_bytes(*word);
            first += usize::from(hint < head);
            beyond += usize::from(hint <= head);
        }
        let high = if beyond < HINT_COUNT { (beyond + 1) * distance } else { count };
        (first * distance, high)
    }
}
