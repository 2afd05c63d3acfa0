//! Range search decomposed at inner nodes (anagodb paper, section 2): a part is a piece of the
//! search, to be expanded by a task of its own.

use std::ops::Bound;

use runtime::IoCounters;

use super::runs::{Stretch, VisitEntries};
use super::{Depth, Tree};
use crate::error::{Result, StorageError};
use crate::node::Node;
use crate::page::PageId;

/// Most leaves of one part.
pub const EXTENT_PAGES: usize = 64;

/// A piece of a range search: a subtree, or an extent of leaves, with the bounds of the search.
#[derive(Debug, Clone)]
pub struct RangePart {
    stretch: Stretch,
    target: Target,
}

#[derive(Debug, Clone)]
enum Target {
    /// All of the tree that lies in the stretch.
    Root,
    /// The subtree below this node.
    Subtree(PageId),
    /// These leaves, in key order.
    Extent(Vec<PageId>),
}

impl RangePart {
    /// The keys that it covers: from the first up to and without the second, if there is one.
    pub fn bounds(&self) -> (&[u8], Option<&[u8]>) {
        (&self.stretch.lo, self.stretch.hi.as_deref())
    }

    /// The same up to and without a key.
    pub fn up_to(self, key: &[u8]) -> RangePart {
        let stretch = Stretch { hi: Some(key.to_vec()), ..self.stretch };
        RangePart { stretch, ..self }
    }

    /// Whether expanding the part visits entries, and yields no parts unless the tree has changed
    /// its shape.
    pub fn is_extent(&self) -> bool {
        matches!(self.target, Target::Extent(_))
    }

    /// Number of leaves of an extent, 0 for a subtree.
    pub fn leaf_count(&self) -> usize {
        match &self.target {
            Target::Extent(leaves) => leaves.len(),
            Target::Root | Target::Subtree(_) => 0,
        }
    }
}

/// The result of a step of a range search.
#[derive(Debug)]
pub struct Expanded {
    /// Smaller parts, in key order: nothing was visited then.
    pub parts: Vec<RangePart>,
    /// The part behind the entries that were visited, where their long values were many.
    pub rest: Option<RangePart>,
}

impl Expanded {
    fn visited() -> Expanded {
        Expanded { parts: vec![], rest: None }
    }
}

/// Bytes of long values after which a step ends: entries are few then, and the memory of a step is
/// limited.
const LONG_BYTES_AT_ONCE: usize = 1 << 20;

/// A function that takes each entry.
struct EachEntry<'a>(&'a mut dyn FnMut(&[u8], &[u8]));

impl VisitEntries for EachEntry<'_> {
    fn entry(&mut self, key: &[u8], value: &[u8]) {
        self.0(key, value);
    }
}

impl Tree {
    /// Entries that are best read together by their keys: where values are long on the average,
    /// few.
    pub fn entries_at_once(&self) -> usize {
        let stats = self.stats();
        let bytes = stats.overflow_pages as usize * self.store.pool.page_size();
        match bytes / (stats.entries as usize).max(1) {
            0 => usize::MAX,
            average => (LONG_BYTES_AT_ONCE / average).max(1),
        }
    }

    /// The whole of a range search.
    pub fn root_part(&self, lo: Bound<Vec<u8>>, hi: Bound<Vec<u8>>) -> RangePart {
        let stretch = Stretch::new(lo, hi);
        let guess = self.guess(&stretch.lo);
        RangePart { stretch, target: guess.map_or(Target::Root, Target::Subtree) }
    }

    /// Takes a search one step further. At an inner node: the parts for its children, in key order,
    /// at most [`EXTENT_PAGES`] leaves in each; nothing is visited. At leaves: `visit` is called
    /// with each key and value in range, in key order; there are no parts. A tree that consists of
    /// its root only is visited at once, and so is what lies within one leaf of a tree by hash.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when a page cannot be read.
    pub async fn expand(
        &self,
        part: RangePart,
        depth: Depth,
        io: &IoCounters,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Vec<RangePart>> {
        let mut each = EachEntry(visit);
        let mut step = self.expand_by_leaf(part, depth, io, &mut each).await?;
        while let Some(rest) = step.rest {
            step = self.expand_by_leaf(rest, depth, io, &mut each).await?;
        }
        Ok(step.parts)
    }

    /// As [`Tree::expand`], for those that take entries a leaf at a time, and not all at once where
    /// they have long values.
    ///
    /// # Errors
    /// As [`Tree::expand`].
    pub async fn expand_by_leaf(
        &self,
        part: RangePart,
        depth: Depth,
        io: &IoCounters,
        visit: &mut dyn VisitEntries,
    ) -> Result<Expanded> {
        let RangePart { stretch, target } = part;
        if stretch.is_empty() {
            return Ok(Expanded::visited());
        }
        let pid = match target {
            Target::Extent(leaves) => {
                return self.visit_leaves(&leaves, stretch, depth, io, visit).await;
            }
            Target::Subtree(pid) => {
                self.approach_hashed(&stretch.lo).await;
                pid
            }
            Target::Root => {
                self.note_leaf(&stretch.lo, io).await?;
                self.shared.root
            }
        };
        match self.store.pool.read(pid, io, |page| self.cut(page, &stretch)).await {
            Ok(Cut::Parts(parts)) => Ok(Expanded { parts, rest: None }),
            Ok(Cut::Leaf) => self.visit_leaves(&[pid], stretch, depth, io, visit).await,
            // The number may be outdated: leaf by leaf from the root.
            Err(StorageError::Corrupt { .. }) => {
                self.visit_leaves(&[], stretch, depth, io, visit).await
            }
            Err(error) => Err(error),
            // The node was split or merged since: the search for this stretch begins at the root
            // again.
            Ok(Cut::Astray) => {
                let parts = vec![RangePart { stretch, target: Target::Root }];
                Ok(Expanded { parts, rest: None })
            }
        }
    }

    async fn visit_leaves(
        &self,
        leaves: &[PageId],
        stretch: Stretch,
        depth: Depth,
        io: &IoCounters,
        visit: &mut dyn VisitEntries,
    ) -> Result<Expanded> {
        let how = (depth, LONG_BYTES_AT_ONCE);
        let left = self.walk(leaves, stretch, how, io, visit).await?;
        let rest = left.map(|(stretch, known)| {
            let leaves = leaves.get(known..).unwrap_or_default();
            RangePart { stretch, target: Target::Extent(leaves.to_vec()) }
        });
        Ok(Expanded { parts: vec![], rest })
    }

    fn cut(&self, page: &[u8], stretch: &Stretch) -> Cut {
        let node = Node::new(page);
        if !self.owns(page) || !node.covers(&stretch.lo) || stretch.goes_beyond(node.upper()) {
            return Cut::Astray;
        }
        if node.is_leaf() {
            return Cut::Leaf;
        }
        let first = node.child_position(&stretch.lo);
        let end = stretch.hi.as_ref().map_or(node.count(), |hi| node.lower_bound(hi).0);
        let positions = first..end.max(first + 1);
        let step = if node.level() == 1 { EXTENT_PAGES } else { 1 };
        let parts = positions.clone().step_by(step).map(|begin| {
            let children = begin..(begin + step).min(positions.end);
            let lo = if begin == first { stretch.lo.clone() } else { node.key(begin) };
            let hi = if children.end == positions.end {
                stretch.hi.clone()
            } else {
                Some(node.key(children.end))
            };
            let target = match node.level() {
                1 => Target::Extent(children.map(|i| node.child(i)).collect()),
                _ => Target::Subtree(node.child(begin)),
            };
            RangePart { stretch: Stretch { lo, hi }, target }
        });
        Cut::Parts(parts.collect())
    }
}

/// What a node makes of a part.
enum Cut {
    Parts(Vec<RangePart>),
    Leaf,
    Astray,
}
