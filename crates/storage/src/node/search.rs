//! Binary search in a node, by heads first, narrowed by the hints.

use super::Node;
use super::layout::{HINT_COUNT, HINTS, SLOT_BYTES, SLOTS};
use crate::cache::{LINE_BYTES, prefetch_line};
use crate::le::u32_at;

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
        let suffix = &key[prefix.len()..];
        let head = head_of(suffix);
        let (mut low, mut high) = self.hinted(head);
        while low < high {
            let middle = low.midpoint(high);
            let order = self.head(middle).cmp(&head).then_with(|| self.suffix(middle).cmp(suffix));
            match order {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return (middle, true),
            }
        }
        (low, false)
    }

    /// Position of the child responsible for `key`, which must not be below the lower fence.
    #[inline]
    pub fn child_position(&self, key: &[u8]) -> usize {
        match self.lower_bound(key) {
            (position, true) => position,
            (position, false) => position.saturating_sub(1),
        }
    }

    /// Position of the child that holds the greatest keys below `key`.
    pub fn child_position_below(&self, key: &[u8]) -> usize {
        self.lower_bound(key).0.saturating_sub(1)
    }

    /// Brings the slots closer that a search for `key` will compare. Touches header, hints and
    /// lower fence.
    pub fn hint_slots(&self, key: &[u8]) {
        let Some(suffix) = key.strip_prefix(self.prefix()) else { return };
        let (low, high) = self.hinted(head_of(suffix));
        for position in (low..high).step_by(LINE_BYTES / SLOT_BYTES) {
            prefetch_line(&raw const self.page[SLOTS + position * SLOT_BYTES]);
        }
    }

    /// Brings the cell closer that a search for `key` is likely to end at. Touches slots besides.
    pub fn hint_cell(&self, key: &[u8]) {
        let Some(suffix) = key.strip_prefix(self.prefix()) else { return };
        let head = head_of(suffix);
        let (mut low, mut high) = self.hinted(head);
        while low < high {
            let middle = low.midpoint(high);
            if self.head(middle) < head {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low < self.count() {
            prefetch_line(&raw const self.page[self.cell(low).0]);
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
        let hint = |index: usize| u32_at(self.page, HINTS + 4 * index);
        let first = (0..HINT_COUNT).find(|&i| hint(i) >= head).unwrap_or(HINT_COUNT);
        let beyond = (first..HINT_COUNT).find(|&i| hint(i) != head).unwrap_or(HINT_COUNT);
        let high = if beyond < HINT_COUNT { (beyond + 1) * distance } else { count };
        (first * distance, high)
    }
}
