//! Splitting a full node, with the entry that did not fit, into two.
//!
//! Why the halves always fit: a key has at most 1/8 of a page and an entry at most 1/4. The fences
//! take at most 1/4 together, so the entries of a node and the new one are at most 3/4 + 1/4 of a
//! page, and the fuller half is at most half of that plus half an entry, 5/8, with fences 7/8.

use super::build::{Entries, Shape, build, bytes_needed, separator};
use super::{Node, Value};
use crate::page::Identity;

/// A split that has been thought out but not done.
pub(crate) struct Split {
    entries: Entries,
    level: u8,
    /// First entry of the right half.
    cut: usize,
    lower: Vec<u8>,
    /// Lower fence of the right half: what the parent has to learn.
    pub separator: Vec<u8>,
    upper: Option<Vec<u8>>,
}

/// Plans the split of `node` with the new entry at `position`, in place of one with the same key if
/// there is one.
pub(crate) fn plan_split(node: &Node<'_>, key: &[u8], value: Value<'_>) -> Split {
    let (position, found) = node.lower_bound(key);
    let mut entries = Entries::default();
    let mut keep = |k: &[u8], v: Value<'_>| entries.push(k, v);
    node.visit_stored(0..position, &mut keep);
    keep(key, value);
    node.visit_stored(position + usize::from(found)..node.count(), &mut keep);
    let ascending = node.upper().is_none() && position == node.count();
    let cut = match ascending {
        true => fullest_cut(node, &entries),
        false => balanced_cut(&entries),
    };
    let separator = match node.is_leaf() {
        true => separator(entries.key(cut - 1), entries.key(cut)).to_vec(),
        false => entries.key(cut).to_vec(),
    };
    Split {
        entries,
        level: node.level(),
        cut,
        lower: node.lower().to_vec(),
        separator,
        upper: node.upper().map(<[u8]>::to_vec),
    }
}

/// First entry of the right half, such that the left half is as full as it can be: right for
/// ascending insertions.
fn fullest_cut(node: &Node<'_>, entries: &Entries) -> usize {
    let fits = |cut: usize| {
        let upper = entries.key(cut);
        let entries_len = (0..cut).map(|i| entries.entry_len(i)).sum();
        bytes_needed(node.lower(), Some(upper), cut, entries_len) <= node.page.len()
    };
    (1..entries.len()).rev().find(|&cut| fits(cut)).unwrap_or(1)
}

/// First entry of the right half, such that the halves are about equally long.
fn balanced_cut(entries: &Entries) -> usize {
    let total: usize = (0..entries.len()).map(|i| entries.entry_len(i) + 10).sum();
    let mut left = 0;
    for i in 0..entries.len() {
        left += entries.entry_len(i) + 10;
        if 2 * left >= total {
            return (i + 1).clamp(1, entries.len() - 1);
        }
    }
    entries.len() - 1
}

impl Split {
    /// Writes the left half.
    pub fn build_left(&self, page: &mut [u8], identity: Identity) {
        let shape = Shape { level: self.level, lower: &self.lower, upper: Some(&self.separator) };
        self.build_part(page, identity, shape, 0..self.cut);
    }

    /// Writes the right half.
    pub fn build_right(&self, page: &mut [u8], identity: Identity) {
        let upper = self.upper.as_deref();
        let shape = Shape { level: self.level, lower: &self.separator, upper };
        self.build_part(page, identity, shape, self.cut..self.entries.len());
    }

    fn build_part(
        &self,
        page: &mut [u8],
        identity: Identity,
        shape: Shape<'_>,
        range: std::ops::Range<usize>,
    ) {
        let entries_len = range.clone().map(|i| self.entries.entry_len(i)).sum();
        let needed = bytes_needed(shape.lower, shape.upper, range.len(), entries_len);
        assert!(!range.is_empty(), "half a node is empty");
        assert!(needed <= page.len(), "half a node needs {needed} bytes");
        build(page, identity, shape, range.map(|i| (self.entries.key(i), self.entries.value(i))));
    }
}
