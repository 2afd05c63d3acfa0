//! Who looks at entries: one after the other, or all that a leaf has at once.

use std::ops::Range;

use crate::node::Node;

/// Takes the entries of a range, in the order of their keys.
pub trait VisitEntries {
    /// One entry.
    fn entry(&mut self, key: &[u8], value: &[u8]);

    /// Entries of a leaf, under its latch.
    fn leaf(&mut self, entries: &LeafEntries<'_>) {
        let mut key = Vec::new();
        for index in 0..entries.len() {
            entries.key_into(index, &mut key);
            self.entry(&key, entries.value(index));
        }
    }
}

/// A function that takes each entry.
pub(super) struct EachEntry<'a>(pub &'a mut dyn FnMut(&[u8], &[u8]));

impl VisitEntries for EachEntry<'_> {
    fn entry(&mut self, key: &[u8], value: &[u8]) {
        self.0(key, value);
    }
}

/// Entries of a leaf that have no long values.
pub struct LeafEntries<'a> {
    node: Node<'a>,
    positions: Range<usize>,
}

impl<'a> LeafEntries<'a> {
    pub(super) fn new(node: Node<'a>, positions: Range<usize>) -> LeafEntries<'a> {
        assert!(!node.has_overflow(), "a leaf with references is visited as a copy");
        LeafEntries { node, positions }
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The value of one of them.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn value(&self, index: usize) -> &'a [u8] {
        assert!(index < self.positions.len(), "an entry beyond the last");
        self.node.value(self.positions.start + index).bytes
    }

    /// Writes the key of one of them into `key`.
    #[inline]
    pub fn key_into(&self, index: usize, key: &mut Vec<u8>) {
        self.node.key_into(self.positions.start + index, key);
    }
}
