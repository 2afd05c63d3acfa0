//! Cursors: the leaves of a range one after the other, forward or backward.

use std::ops::{Bound, Range};

use runtime::IoCounters;

use super::runs::Stretch;
use super::{Descent, Step, Tree};
use crate::error::{Result, StorageError};
use crate::node::Node;
use crate::page::PageId;

/// Where a cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// A scan of a range. Holds no page between calls: it finds its way back by key.
pub struct Cursor {
    tree: Tree,
    stretch: Stretch,
    direction: Direction,
    over: bool,
}

/// The entries of one leaf that lie in the range, copied out of the pool: they may be kept as long
/// as one likes.
pub struct LeafRows {
    page: Vec<u8>,
    positions: Range<usize>,
    direction: Direction,
    /// Values that lie on pages of their own, by position.
    long: Vec<(usize, Vec<u8>)>,
}

impl LeafRows {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Writes the key of entry `index`, counted in the cursor's direction, into `key`, and returns
    /// the value.
    pub fn entry(&self, index: usize, key: &mut Vec<u8>) -> &[u8] {
        assert!(index < self.len(), "entry {index} of {}", self.len());
        let position = match self.direction {
            Direction::Forward => self.positions.start + index,
            Direction::Backward => self.positions.end - 1 - index,
        };
        let node = Node::new(&self.page);
        node.key_into(position, key);
        let value = node.value(position);
        if !value.overflow {
            return value.bytes;
        }
        let index = self.long.binary_search_by_key(&position, |(position, _)| *position);
        &self.long[index.expect("long values were read with the leaf")].1
    }
}

impl Tree {
    /// A scan of the entries between two bounds.
    pub fn range(&self, lo: Bound<&[u8]>, hi: Bound<&[u8]>, direction: Direction) -> Cursor {
        let stretch = Stretch::new(lo.map(<[u8]>::to_vec), hi.map(<[u8]>::to_vec));
        let over = stretch.is_empty();
        // A leaf is copied as a whole, in the order of its lines: to prefetch steps of the search costs more
        // than it hides (`dovetail bench ycsb --mix scan10`: 0.87 to 0.93 of the rate).
        Cursor { tree: self.clone().interleaved(false), stretch, direction, over }
    }
}

impl Cursor {
    /// The entries of the next leaf that has any, `None` at the end.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when a page cannot be read; the cursor may be asked again.
    pub async fn next(&mut self, io: &IoCounters) -> Result<Option<LeafRows>> {
        while !self.over {
            let rows = match self.direction {
                Direction::Forward => self.next_forward(io).await?,
                Direction::Backward => self.next_backward(io).await?,
            };
            if let Some(rows) = rows.filter(|rows| !rows.is_empty()) {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    async fn next_forward(&mut self, io: &IoCounters) -> Result<Option<LeafRows>> {
        let pid = self.tree.leaf_for(&self.stretch.lo, io).await?;
        let Some(mut rows) =
            self.copy(pid, io, |cursor, node| node.covers(&cursor.stretch.lo)).await?
        else {
            return Ok(None);
        };
        self.read_long(&mut rows, io).await?;
        match Node::new(&rows.page).upper() {
            Some(upper) if self.stretch.goes_beyond(Some(upper)) => {
                self.stretch.lo = upper.to_vec()
            }
            _ => self.over = true,
        }
        Ok(Some(rows))
    }

    async fn next_backward(&mut self, io: &IoCounters) -> Result<Option<LeafRows>> {
        let pid = self.leaf_below(io).await?;
        let Some(mut rows) =
            self.copy(pid, io, |cursor, node| covers_below(node, cursor.hi())).await?
        else {
            return Ok(None);
        };
        self.read_long(&mut rows, io).await?;
        let lower = Node::new(&rows.page).lower();
        self.over = lower <= self.stretch.lo.as_slice();
        self.stretch.hi = Some(lower.to_vec());
        Ok(Some(rows))
    }

    fn hi(&self) -> Option<&[u8]> {
        self.stretch.hi.as_deref()
    }

    /// The leaf with the greatest keys below the stretch's end.
    async fn leaf_below(&self, io: &IoCounters) -> Result<PageId> {
        let mut descent = Descent::new(&self.tree);
        loop {
            let pid = descent.pid;
            let look = |page: &[u8]| {
                let node = Node::new(page);
                if !self.tree.owns(page) || !covers_below(&node, self.hi()) {
                    return Step::Astray;
                }
                let last = node.count().saturating_sub(1);
                match node.level() {
                    0 => Step::Leaf,
                    level => {
                        let child = self.hi().map_or(last, |hi| node.child_position_below(hi));
                        Step::Down(node.child(child), level - 1)
                    }
                }
            };
            match self.tree.store.pool.read(pid, io, look).await {
                Ok(Step::Leaf) => return Ok(pid),
                Ok(step) => descent.follow(step)?,
                Err(error) => descent.doubt(error)?,
            }
        }
    }

    async fn read_long(&self, rows: &mut LeafRows, io: &IoCounters) -> Result<()> {
        if Node::new(&rows.page).has_overflow() {
            let LeafRows { page, positions, .. } = rows;
            rows.long = self.tree.resolve_copy(page, positions, io).await?;
        }
        Ok(())
    }

    /// Copies a leaf, unless it is no longer the wanted one.
    async fn copy(
        &self,
        pid: PageId,
        io: &IoCounters,
        is_wanted: impl FnOnce(&Cursor, &Node<'_>) -> bool,
    ) -> Result<Option<LeafRows>> {
        let look = |page: &[u8]| {
            let node = Node::new(page);
            let wanted = self.tree.owns(page) && node.is_leaf() && is_wanted(self, &node);
            wanted.then(|| LeafRows {
                page: page.to_vec(),
                positions: self.stretch.positions(&node),
                direction: self.direction,
                long: Vec::new(),
            })
        };
        match self.tree.store.pool.read(pid, io, look).await {
            // It was intact a moment ago: the way is outdated, or the next one ends here as well.
            Err(StorageError::Corrupt { .. }) => Ok(None),
            copied => copied,
        }
    }
}

/// Whether a node is responsible for the keys right below `hi`.
fn covers_below(node: &Node<'_>, hi: Option<&[u8]>) -> bool {
    match (hi, node.upper()) {
        (None, upper) => upper.is_none(),
        (Some(hi), upper) => node.lower() < hi && upper.is_none_or(|upper| hi <= upper),
    }
}
