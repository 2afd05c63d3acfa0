//! Merging nodes that have become underfull, from a leaf upward, and lowering the root.
//!
//! A node and a neighbour below the same parent become one when they fill a page well but not
//! fully. The left page stays and becomes responsible for both ranges; the right one is marked free
//! under its latch, so that whoever comes with its number sees that the page is nobody's. Its place
//! in the file is used again after the next checkpoint.
//!
//! As in `split`, whoever merges has `structure` exclusively; each merge is one moment under the
//! latches of two nodes and their parent, and leaves the tree whole.

use std::sync::atomic::Ordering;

use runtime::IoCounters;

use super::{Tree, misplaced};
use crate::error::Result;
use crate::latch::ExclusiveGuard;
use crate::node::Node;
use crate::node::build::{Entries, Shape, build, bytes_needed, remove};
use crate::page::{Identity, PageId};
use crate::page_map::Claim;
use crate::pool::Pin;

/// A node that fills less of its page, in percent, looks for a neighbour to merge with.
const UNDERFULL_PERCENT: usize = 40;

/// Most that merged nodes fill, in percent: the next insertions are not to split them again. An
/// empty node is merged in any case.
const MERGED_PERCENT_MAX: usize = 85;

/// From this many entries on, a leaf is measured at every eighth deletion, or when every eighth entry
/// is replaced, only: measuring looks at each entry.
const MEASURED_ALWAYS_BELOW: usize = 16;

/// Unless the replacement has freed a sixteenth of the page.
const MUCH_SHARE: usize = 16;

/// Pages that are held for undoing a merge, or the lowering of a root: what filled two pages fills
/// four when splits leave them half full, and a root that is split moves both of its halves.
const PAGES_OF_MERGE: u32 = 2;

/// Outcome of an attempt to merge two nodes.
enum Attempt {
    Merged,
    /// Together they are too full.
    TooFull,
    Latched,
}

/// Whether a deletion should try to merge the leaf that it has left like this.
pub(super) fn wants_merge(leaf: &[u8]) -> bool {
    let count = Node::new(leaf).count();
    (count < MEASURED_ALWAYS_BELOW || count.is_multiple_of(8)) && is_underfull(leaf)
}

/// The same of a replacement at `position`, which has freed so many bytes of the leaf.
pub(super) fn wants_merge_after_replace(leaf: &[u8], position: usize, freed: usize) -> bool {
    let count = Node::new(leaf).count();
    let is_measured = count < MEASURED_ALWAYS_BELOW
        || position.is_multiple_of(8)
        || freed * MUCH_SHARE >= leaf.len();
    freed > 0 && is_measured && is_underfull(leaf)
}

fn is_underfull(page: &[u8]) -> bool {
    Node::new(page).used_bytes() * 100 < page.len() * UNDERFULL_PERCENT
}

impl Tree {
    /// Merges the leaf of `key`, if it is underfull, with a neighbour, then their parent likewise,
    /// and so on; lowers a root that has one child only.
    ///
    /// # Errors
    /// `Io`, `Corrupt` when a node cannot be read. The tree is whole, and holds the same entries.
    pub(super) async fn merge_around(&self, key: &[u8], io: &IoCounters) -> Result<()> {
        let _structure = self.store.structure.exclusive().await;
        self.check_not_dropped()?;
        let mut path = self.pin_path(key, io).await?;
        while let [.., parent, node] = path.as_slice() {
            if !self.merge_node(parent, node, io).await? {
                break;
            }
            path.pop();
        }
        drop(path);
        while self.lower_root(io).await? {}
        Ok(())
    }

    /// Merges `node` with one of its neighbours below `parent`. False when it stays as it is.
    async fn merge_node(&self, parent: &Pin<'_>, node: &Pin<'_>, io: &IoCounters) -> Result<bool> {
        let pool = &self.store.pool;
        let lower =
            pool.look(node, |page| (is_underfull(page)).then(|| Node::new(page).lower().to_vec()));
        let Some(lower) = lower.await else { return Ok(false) };
        let children = |page: &[u8]| {
            let parent = Node::new(page);
            let position = parent.child_position(&lower);
            let left = position.checked_sub(1).map(|left| parent.child(left));
            let right = (position + 1 < parent.count()).then(|| parent.child(position + 1));
            (position, left, right)
        };
        let (position, left, right) = pool.look(parent, children).await;
        if let Some(right) = right {
            let right = pool.fix(right, io).await?;
            if self.merge_pair(parent, position, node, &right).await {
                return Ok(true);
            }
        }
        let Some(left) = left else { return Ok(false) };
        let left = pool.fix(left, io).await?;
        Ok(self.merge_pair(parent, position - 1, &left, node).await)
    }

    /// Merges the children at `position` of `parent` and behind it, unless they are too full or
    /// the pool is too crowded for a change that need not be.
    async fn merge_pair(
        &self,
        parent: &Pin<'_>,
        position: usize,
        left: &Pin<'_>,
        right: &Pin<'_>,
    ) -> bool {
        if !self.holds_more().await {
            return false;
        }
        let merged = loop {
            if self.store.is_crowded(Claim::Freeing) {
                break false;
            }
            match self.try_merge(parent, position, left, right) {
                Attempt::Merged => break true,
                Attempt::TooFull => break false,
                Attempt::Latched => runtime::yield_now().await,
            }
        };
        self.holds_less(!merged);
        merged
    }

    /// Holds the pages that it takes to undo a merge, where it may have to be; false when there are
    /// none: a merge need not be.
    async fn holds_more(&self) -> bool {
        match &self.undo {
            Some(undo) => undo.hold_pages(PAGES_OF_MERGE).await.is_ok(),
            None => true,
        }
    }

    /// Lets them go, if the merge was not made.
    fn holds_less(&self, is_unneeded: bool) {
        if let Some(undo) = self.undo.as_ref().filter(|_| is_unneeded) {
            (0..PAGES_OF_MERGE).for_each(|_| undo.let_go(1));
        }
    }

    /// Latches all three and merges, or does nothing.
    fn try_merge(
        &self,
        parent: &Pin<'_>,
        position: usize,
        left: &Pin<'_>,
        right: &Pin<'_>,
    ) -> Attempt {
        let latches = (parent.try_exclusive(), left.try_exclusive(), right.try_exclusive());
        let (Some(mut parent), Some(mut left), Some(mut right)) = latches else {
            return Attempt::Latched;
        };
        let (l, r) = (Node::new(left.page()), Node::new(right.page()));
        assert!(self.owns(left.page()) && self.owns(right.page()), "children of this tree");
        assert_eq!(l.level(), r.level(), "neighbours have one level");
        assert_eq!(l.upper(), Some(r.lower()), "neighbours adjoin");
        assert_eq!(
            Node::new(parent.page()).child(position + 1),
            pid_of(&right),
            "neighbours have one parent"
        );
        if !fit_together(&l, &r, left.page().len()) {
            return Attempt::TooFull;
        }
        let mut entries = Entries::default();
        l.visit_stored(0..l.count(), &mut |key, value| entries.push(key, value));
        r.visit_stored(0..r.count(), &mut |key, value| entries.push(key, value));
        let (lower, upper) = (l.lower().to_vec(), r.upper().map(<[u8]>::to_vec));
        let shape = Shape { level: l.level(), lower: &lower, upper: upper.as_deref() };
        let identity = Identity::of(left.page());
        build(left.page_mut(), identity, shape, entries.iter());
        remove(parent.page_mut(), position + 1);
        let pages = match shape.level {
            0 => &self.shared.leaf_pages,
            _ => &self.shared.inner_pages,
        };
        pages.fetch_sub(1, Ordering::Relaxed);
        self.store.free_page(&mut right);
        Attempt::Merged
    }

    /// Makes the only child of the root the root, as far as the contents go: the page stays. False
    /// when the root has more children, or none.
    async fn lower_root(&self, io: &IoCounters) -> Result<bool> {
        let pool = &self.store.pool;
        let only_child = |page: &[u8]| {
            let node = Node::new(page);
            (!node.is_leaf() && node.count() == 1).then(|| node.child(0))
        };
        let root = pool.fix(self.shared.root, io).await?;
        let Some(child) = pool.look(&root, only_child).await else { return Ok(false) };
        let child = pool.fix(child, io).await?;
        if !self.holds_more().await {
            return Ok(false);
        }
        loop {
            if self.store.is_crowded(Claim::Freeing) {
                self.holds_less(true);
                return Ok(false);
            }
            if let (Some(root), Some(child)) = (root.try_exclusive(), child.try_exclusive()) {
                self.replace_root(root, child)?;
                return Ok(true);
            }
            runtime::yield_now().await;
        }
    }

    fn replace_root(
        &self,
        mut root: ExclusiveGuard<'_>,
        mut child: ExclusiveGuard<'_>,
    ) -> Result<()> {
        let node = Node::new(child.page());
        if !node.lower().is_empty() || node.upper().is_some() {
            return Err(misplaced(pid_of(&child), "an only child that does not cover all keys"));
        }
        let mut entries = Entries::default();
        node.visit_stored(0..node.count(), &mut |key, value| entries.push(key, value));
        let shape = Shape { level: node.level(), lower: b"", upper: None };
        let identity = Identity::of(root.page());
        build(root.page_mut(), identity, shape, entries.iter());
        self.shared.height.fetch_sub(1, Ordering::Relaxed);
        self.shared.inner_pages.fetch_sub(1, Ordering::Relaxed);
        self.store.free_page(&mut child);
        Ok(())
    }
}

fn pid_of(guard: &ExclusiveGuard<'_>) -> PageId {
    Identity::of(guard.page()).pid
}

/// Whether one page holds the entries of both, with room to spare unless one of them has none.
fn fit_together(left: &Node<'_>, right: &Node<'_>, page_len: usize) -> bool {
    let count = left.count() + right.count();
    let entries_len = left.entries_len() + right.entries_len();
    let needed = bytes_needed(left.lower(), right.upper(), count, entries_len);
    let one_is_empty = left.count() == 0 || right.count() == 0;
    let limit = if one_is_empty { 100 } else { MERGED_PERCENT_MAX };
    needed * 100 <= page_len * limit
}
