//! What a transaction has read, as ranges of keys: so rows that come count like rows that change.

use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use storage::{TreeId, planted};

/// Ranges of a tree that are told apart. A transaction with more has read the whole tree.
const RANGES_MAX: usize = 1024;

/// Ranges of keys by tree.
#[derive(Default)]
pub(super) struct ReadSet(Mutex<HashMap<TreeId, Ranges>>);

/// From a key up to and without another one, or to the end.
type Range = (Vec<u8>, Option<Vec<u8>>);

#[derive(Default)]
struct Ranges(Vec<Range>);

impl ReadSet {
    pub(super) fn note(&self, tree: TreeId, low: &[u8], high: Option<&[u8]>) {
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.entry(tree).or_default().note(low, high);
    }

    /// Whether something holds of one of the ranges.
    pub(super) fn any(&self, mut holds: impl FnMut(TreeId, &[u8], Option<&[u8]>) -> bool) -> bool {
        let trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ranges =
            trees.iter().flat_map(|(tree, Ranges(all))| all.iter().map(|r| (*tree, r)));
        ranges.any(|(tree, (low, high))| holds(tree, low, high.as_deref()))
    }
}

impl ReadSet {
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let of_range = |(low, high): &Range| {
            size_of::<Range>() + low.capacity() + high.as_ref().map_or(0, Vec::capacity)
        };
        let trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        trees.values().flat_map(|Ranges(all)| all.iter().map(of_range)).sum()
    }

    /// Whether one of them has one of the keys, which are in order.
    pub(super) fn has(&self, keys: &[(TreeId, &[u8])]) -> bool {
        self.any(|tree, low, high| {
            let first = keys.partition_point(|key| *key < (tree, low));
            keys.get(first)
                .is_some_and(|(of, key)| *of == tree && high.is_none_or(|high| *key < high))
        })
    }
}

impl Ranges {
    fn note(&mut self, low: &[u8], high: Option<&[u8]>) {
        let covers = |(from, to): &Range| {
            let ends_later = to.as_deref().is_none_or(|to| high.is_some_and(|high| high <= to));
            from.as_slice() <= low && (ends_later || planted::is("reads-merged-wrongly"))
        };
        // Loops read the same again and again, and scans go on from where they were.
        let recent = &self.0[self.0.len().saturating_sub(8)..];
        if self.0.first().is_some_and(covers) || recent.iter().any(covers) {
            return;
        }
        if let Some((_, to)) = self.0.last_mut()
            && to.as_deref() == Some(low)
        {
            *to = high.map(<[u8]>::to_vec);
            return;
        }
        match self.0.len() < RANGES_MAX {
            true => self.0.push((low.to_vec(), high.map(<[u8]>::to_vec))),
            false => self.0 = vec![(vec![], None)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(reads: &ReadSet) -> Vec<Range> {
        reads.0.lock().unwrap()[&TreeId(1)].0.clone()
    }

    #[test]
    fn neighbours_are_one_range_and_too_many_are_the_whole_tree() {
        let reads = ReadSet::default();
        reads.note(TreeId(1), b"a", Some(b"c"));
        reads.note(TreeId(1), b"c", Some(b"e"));
        reads.note(TreeId(1), b"b", Some(b"d"));
        assert_eq!(ranges(&reads), [(b"a".to_vec(), Some(b"e".to_vec()))]);
        for at in 0..RANGES_MAX as u32 + 1 {
            let low = [&b"x"[..], &(2 * at).to_be_bytes()].concat();
            let high = [&b"x"[..], &(2 * at + 1).to_be_bytes()].concat();
            reads.note(TreeId(1), &low, Some(&high));
        }
        assert_eq!(ranges(&reads), [(vec![], None)]);
    }
}
