//! A batch of short ranges, descended together: the index prefixes of a nested-loop join, say.

use std::ops::Range;

use runtime::IoCounters;

use super::overflow::LeafCopy;
use super::{ASTRAY_MAX, Depth, Suspects, Tree, misplaced};
use crate::error::{Result, StorageError};
use crate::node::Node;
use crate::page::PageId;

/// A piece of one range below one node. Bounds that are the range's own are not repeated.
struct Piece {
    pid: PageId,
    range: u32,
    lo: Option<Vec<u8>>,
    hi: Option<Vec<u8>>,
}

type Bounds = (Vec<u8>, Vec<u8>);

/// Is told position of the range, key and value.
pub type VisitRange<'a> = dyn FnMut(usize, &[u8], &[u8]) + 'a;

impl Piece {
    fn lo<'a>(&'a self, ranges: &'a [Bounds]) -> &'a [u8] {
        self.lo.as_deref().unwrap_or(&ranges[self.range as usize].0)
    }

    fn hi<'a>(&'a self, ranges: &'a [Bounds]) -> &'a [u8] {
        self.hi.as_deref().unwrap_or(&ranges[self.range as usize].1)
    }
}

impl Tree {
    /// Visits the entries of all `ranges`, each from its first key up to and without its second:
    /// `visit` is told the position in `ranges`, key and value. Entries of one range come in key
    /// order as long as nobody inserts meanwhile; ranges come in no particular order.
    ///
    /// With [`Depth::Many`] the reads of a level are started together, consecutive pages in one
    /// request.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when a page cannot be read; some entries may have been visited by then.
    pub async fn range_batch(
        &self,
        ranges: &[(Vec<u8>, Vec<u8>)],
        depth: Depth,
        io: &IoCounters,
        visit: &mut VisitRange<'_>,
    ) -> Result<()> {
        let root = self.shared.root;
        if let [(low, _)] = ranges {
            self.approach_hashed(low).await;
        }
        let first = |range: u32| self.guess(&ranges[range as usize].0).unwrap_or(root);
        let mut pieces: Vec<Piece> = (0..ranges.len() as u32)
            .filter(|range| ranges[*range as usize].0 < ranges[*range as usize].1)
            .map(|range| Piece { pid: first(range), range, lo: None, hi: None })
            .collect();
        pieces.sort_by(|a, b| a.lo(ranges).cmp(b.lo(ranges)));
        let mut astray = 0;
        let mut suspects = Suspects::default();
        let mut guessed = self.hashed;
        while !pieces.is_empty() {
            let mut next = Vec::with_capacity(pieces.len());
            let groups: Vec<&[Piece]> = pieces.chunk_by(|a, b| a.pid == b.pid).collect();
            let mut strayed = false;
            for (index, group) in groups.iter().enumerate() {
                self.look_ahead(index, groups.len(), |i| groups[i][0].pid, depth, io);
                let mut copy = None;
                let look = |page: &[u8]| {
                    if self.owns(page) && Node::new(page).is_leaf() {
                        copy = LeafCopy::of(page);
                    }
                    for piece in *group {
                        strayed |= !self.spread(page, piece, ranges, &mut next, visit);
                    }
                };
                if let Err(error) = self.store.pool.read(group[0].pid, io, look).await {
                    if !(guessed && matches!(error, StorageError::Corrupt { .. })) {
                        suspects.excuse(error)?;
                    }
                    next.extend(group.iter().map(|piece| piece.again(root, piece.lo.clone())));
                }
                let Some(copy) = copy else { continue };
                for piece in group.iter().filter(|piece| copy.node().covers(piece.lo(ranges))) {
                    let positions = piece.positions(&copy.node(), ranges);
                    let range = piece.range as usize;
                    let mut visit = |key: &[u8], value: &[u8]| visit(range, key, value);
                    let mut all = usize::MAX;
                    self.visit_copy(&copy, positions, &mut all, io, &mut visit).await?;
                }
            }
            astray += u32::from(strayed);
            if astray > ASTRAY_MAX {
                return Err(misplaced(root, "a tree whose nodes do not cover its keys"));
            }
            pieces = next;
            guessed = false;
        }
        Ok(())
    }

    /// Takes a piece one level down, or visits its entries. False when a part of it has to begin at
    /// the root again.
    fn spread(
        &self,
        page: &[u8],
        piece: &Piece,
        ranges: &[Bounds],
        next: &mut Vec<Piece>,
        visit: &mut VisitRange<'_>,
    ) -> bool {
        let node = Node::new(page);
        let (lo, hi) = (piece.lo(ranges), piece.hi(ranges));
        let root = self.shared.root;
        if !self.owns(page) || !node.covers(lo) {
            next.push(piece.again(root, piece.lo.clone()));
            return false;
        }
        if node.is_leaf() {
            self.note_hashed(piece.pid, &node, lo);
            // One with references is visited as a copy, by the caller.
            if !node.has_overflow() {
                node.visit(piece.positions(&node, ranges), &mut |key, value| {
                    visit(piece.range as usize, key, value)
                });
            }
        } else {
            let end = end_below(&node, hi);
            let first = node.child_position(lo);
            self.descend(&node, piece, first..end.max(first + 1), hi, next);
        }
        match node.upper() {
            Some(upper) if upper < hi => {
                next.push(piece.again(root, Some(upper.to_vec())));
                false
            }
            _ => true,
        }
    }

    /// A piece for each child from `first` up to `end`; the last one ends where the piece or the
    /// node ends.
    fn descend(
        &self,
        node: &Node<'_>,
        piece: &Piece,
        positions: Range<usize>,
        hi: &[u8],
        next: &mut Vec<Piece>,
    ) {
        for position in positions.clone() {
            let lo = match position == positions.start {
                true => piece.lo.clone(),
                false => Some(node.key(position)),
            };
            let hi = match (position + 1 == positions.end, node.upper()) {
                (false, _) => Some(node.key(position + 1)),
                (true, Some(upper)) if upper < hi => Some(upper.to_vec()),
                (true, _) => piece.hi.clone(),
            };
            next.push(Piece { pid: node.child(position), range: piece.range, lo, hi });
        }
    }
}

/// Position behind the last entry below `hi`.
fn end_below(node: &Node<'_>, hi: &[u8]) -> usize {
    match node.upper() {
        Some(upper) if upper <= hi => node.count(),
        _ => node.lower_bound(hi).0,
    }
}

impl Piece {
    /// Positions of the leaf's entries that lie in the piece.
    fn positions(&self, leaf: &Node<'_>, ranges: &[Bounds]) -> Range<usize> {
        let begin = leaf.lower_bound(self.lo(ranges)).0;
        begin..end_below(leaf, self.hi(ranges)).max(begin)
    }

    fn again(&self, root: PageId, lo: Option<Vec<u8>>) -> Piece {
        Piece { pid: root, range: self.range, lo, hi: self.hi.clone() }
    }
}
