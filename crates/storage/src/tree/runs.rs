//! Stretches of keys: bounds in one form, and walking the leaves of a stretch.

use std::ops::{Bound, Range};

use runtime::IoCounters;

use super::overflow::LeafCopy;
use super::{Depth, Suspects, Tree, misplaced};
use crate::error::Result;
use crate::node::Node;
use crate::page::PageId;
use crate::pool::load::RUN_PAGES_MAX;

/// Keys from `lo` up to and without `hi`; no `hi`: to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub lo: Vec<u8>,
    pub hi: Option<Vec<u8>>,
}

impl Stretch {
    /// The stretch between two bounds. The key that follows `k` is `k` and a zero byte.
    pub fn new(lo: Bound<Vec<u8>>, hi: Bound<Vec<u8>>) -> Stretch {
        let after = |mut key: Vec<u8>| {
            key.push(0);
            key
        };
        let lo = match lo {
            Bound::Included(key) => key,
            Bound::Excluded(key) => after(key),
            Bound::Unbounded => Vec::new(),
        };
        let hi = match hi {
            Bound::Included(key) => Some(after(key)),
            Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        Stretch { lo, hi }
    }

    pub fn is_empty(&self) -> bool {
        self.hi.as_ref().is_some_and(|hi| *hi <= self.lo)
    }

    /// Whether a node that ends at `upper` is not the last one of the stretch.
    pub fn goes_beyond(&self, upper: Option<&[u8]>) -> bool {
        match (&self.hi, upper) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(hi), Some(upper)) => upper < hi.as_slice(),
        }
    }

    /// Positions of the node's entries that lie in the stretch.
    pub fn positions(&self, node: &Node<'_>) -> Range<usize> {
        let begin = node.lower_bound(&self.lo).0;
        let end = match &self.hi {
            Some(hi) if self.hi_cuts(node) => node.lower_bound(hi).0,
            _ => node.count(),
        };
        begin..end.max(begin)
    }

    /// How far a leaf goes that has been visited.
    fn behind(&self, leaf: &Node<'_>) -> Visit {
        match leaf.upper() {
            Some(upper) if self.goes_beyond(Some(upper)) => Visit::Until(upper.to_vec()),
            _ => Visit::Over,
        }
    }

    fn hi_cuts(&self, node: &Node<'_>) -> bool {
        let hi = self.hi.as_deref();
        node.upper().is_none_or(|upper| hi.is_some_and(|hi| hi < upper))
    }
}

impl Tree {
    /// Visits the entries of `stretch`, until so many bytes of long values have been read: the rest
    /// of it then, with the number of its first leaf. `leaves` says where its leaves were lately,
    /// in key order; where that is no longer so, the leaf is looked for from the root.
    pub(super) async fn walk(
        &self,
        leaves: &[PageId],
        mut stretch: Stretch,
        (depth, mut long_bytes_left): (Depth, usize),
        io: &IoCounters,
        visit: &mut dyn VisitEntries,
    ) -> Result<Option<(Stretch, usize)>> {
        let mut known = 0;
        let mut misses = 0;
        let mut suspects = Suspects::default();
        while !stretch.is_empty() {
            let pid = match leaves.get(known) {
                Some(&pid) if misses == 0 => {
                    self.read_ahead(leaves, known, depth, io);
                    pid
                }
                _ => self.leaf_for(&stretch.lo, io).await?,
            };
            let look = |page: &[u8]| self.visit_leaf(page, &stretch, visit);
            let seen = self.store.pool.read(pid, io, look).await;
            let is_known = misses == 0 && leaves.get(known) == Some(&pid);
            let seen = match seen {
                Ok(Visit::Copy(leaf)) => {
                    let positions = stretch.positions(&leaf.node());
                    let mut each = |key: &[u8], value: &[u8]| visit.entry(key, value);
                    let left = &mut long_bytes_left;
                    if let Some(key) =
                        self.visit_copy(&leaf, positions, left, io, &mut each).await?
                    {
                        stretch.lo = key;
                        return Ok(Some((stretch, known)));
                    }
                    Ok(stretch.behind(&leaf.node()))
                }
                seen => seen,
            };
            match seen.or_else(|error| suspects.excuse(error).map(|()| Visit::Gone))? {
                Visit::Over => return Ok(None),
                Visit::Until(upper) => {
                    stretch.lo = upper;
                    known += usize::from(leaves.get(known) == Some(&pid));
                    misses = 0;
                    if long_bytes_left == 0 {
                        return Ok(Some((stretch, known)));
                    }
                    // Clients do not wait for a stretch of leaves that are all in memory.
                    if runtime::need_preempt() {
                        runtime::step_aside().await;
                    }
                }
                Visit::Astray | Visit::Gone if misses == super::ASTRAY_MAX => {
                    return Err(misplaced(pid, "a leaf that is not responsible for its keys"));
                }
                // What is no leaf of this tree any more need not be looked at for the next keys.
                Visit::Gone if is_known => (known, misses) = (known + 1, misses + 1),
                Visit::Astray | Visit::Gone => misses += 1,
                Visit::Copy(_) => unreachable!("a copy has been visited"),
            }
        }
        Ok(None)
    }

    /// Starts the reads that the depth allows before leaf `known` is looked at.
    fn read_ahead(&self, leaves: &[PageId], known: usize, depth: Depth, io: &IoCounters) {
        let pool = &self.store.pool;
        let pages = pool.window(RUN_PAGES_MAX);
        let window = &leaves[known..leaves.len().min(known + pages)];
        match depth {
            Depth::Many if known.is_multiple_of(pages / 2) => {
                pool.prefetch(window.iter().copied(), io);
            }
            // One request: the pages that follow each other on disk from this one on.
            Depth::One if pool.is_absent(window[0]) => {
                let adjoining =
                    window.iter().zip(window[0]..).take_while(|(pid, next)| *pid == next);
                let absent = adjoining.map(|(pid, _)| *pid).take_while(|pid| pool.is_absent(*pid));
                pool.prefetch(absent, io);
            }
            _ => {}
        }
    }

    fn visit_leaf(&self, page: &[u8], stretch: &Stretch, visit: &mut dyn VisitEntries) -> Visit {
        let node = Node::new(page);
        if !self.owns(page) || !node.is_leaf() {
            return Visit::Gone;
        }
        if !node.covers(&stretch.lo) {
            return Visit::Astray;
        }
        if let Some(copy) = LeafCopy::of(page) {
            return Visit::Copy(copy);
        }
        let positions = stretch.positions(&node);
        let behind = stretch.behind(&node);
        visit.leaf(&LeafEntries::new(node, positions));
        behind
    }
}

/// How far a leaf went.
enum Visit {
    /// To the end of the stretch.
    Over,
    /// To this key.
    Until(Vec<u8>),
    /// Nowhere: it is not responsible.
    Astray,
    /// Nowhere yet: it has to be visited as a copy.
    Copy(LeafCopy),
    /// Nowhere: it is no leaf of this tree.
    Gone,
}

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

/// Entries of a leaf that have no long values.
pub struct LeafEntries<'a> {
    node: Node<'a>,
    positions: Range<usize>,
}

impl<'a> LeafEntries<'a> {
    fn new(node: Node<'a>, positions: Range<usize>) -> LeafEntries<'a> {
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
