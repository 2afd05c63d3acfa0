//! Changing an entry of a leaf that has no room for it: by a split.
//!
//! Whoever changes inner nodes has the store's `structure` lock exclusively: so a path that is
//! pinned stays a path, only its leaf may change until it is latched. All pages are pinned first, while waiting is allowed; then all
//! latches are tried, and either all are got and the work is done at once, or all are released.

use std::sync::atomic::Ordering;

use runtime::IoCounters;

use super::change::{Change, Place};
use super::{Step, Tree, misplaced};
use crate::error::Result;
use crate::latch::ExclusiveGuard;
use crate::node::build::{Shape, build, insert};
use crate::node::split::{Split, plan_split};
use crate::node::{Node, Value};
use crate::page::{Identity, PageId};
use crate::page_map::Claim;
use crate::pool::Pin;
use crate::store::NewPage;

/// Outcome of an attempt to split.
enum AtPath {
    /// Whether the tree has changed.
    Done(bool),
    NeedPages(usize),
    Latched,
}

impl Tree {
    /// Changes the entry, splitting as many nodes of its path as it takes. True when the tree has
    /// changed.
    pub(super) async fn change_with_split(
        &self,
        key: &[u8],
        change: Change<'_>,
        io: &IoCounters,
    ) -> Result<bool> {
        let _structure = self.store.structure.exclusive().await;
        self.check_not_dropped()?;
        let path = self.pin_path(key, io).await?;
        let mut fresh: Vec<NewPage<'_>> = Vec::new();
        loop {
            match self.try_split(&path, &mut fresh, key, change) {
                AtPath::Done(changed) => return Ok(changed),
                AtPath::Latched => runtime::yield_now().await,
                AtPath::NeedPages(count) => {
                    let (claim, held) = (self.purpose(Claim::Ordinary), self.held());
                    while fresh.len() < count {
                        let held = held.map(AsRef::as_ref);
                        fresh.push(NewPage::make(&self.store, claim, held).await?);
                    }
                }
            }
        }
    }

    /// Pins the nodes from the root to the leaf of `key`.
    pub(super) async fn pin_path(&self, key: &[u8], io: &IoCounters) -> Result<Vec<Pin<'_>>> {
        let pool = &self.store.pool;
        let mut path = Vec::new();
        let mut pid = self.shared.root;
        loop {
            path.push(pool.fix(pid, io).await?);
            match pool.read(pid, io, |page| self.step(page, key)).await? {
                Step::Down(child, _) => pid = child,
                Step::Leaf => return Ok(path),
                Step::Astray => return Err(misplaced(pid, "a child that is not responsible")),
            }
        }
    }

    /// Latches the path and the new pages and does all splits, or nothing.
    fn try_split(
        &self,
        path: &[Pin<'_>],
        fresh: &mut Vec<NewPage<'_>>,
        key: &[u8],
        change: Change<'_>,
    ) -> AtPath {
        let Some(mut nodes) =
            path.iter().map(|pin| pin.try_exclusive()).collect::<Option<Vec<_>>>()
        else {
            return AtPath::Latched;
        };
        let leaf = nodes.last().expect("a path has a leaf").page();
        let place = Place::of(leaf, key);
        if place.found != change.wants_entry() {
            return AtPath::Done(false);
        }
        if change.fits(leaf, key, place) {
            let leaf = nodes.last_mut().expect("a path has a leaf");
            self.apply(leaf.page_mut(), key, change, place);
            return AtPath::Done(true);
        }
        let value = change.value().expect("what needs room has a value");
        let old = place.reference(leaf);
        let plan = self.plan(&nodes, fresh, key, value);
        if plan.pages_needed > fresh.len() {
            return AtPath::NeedPages(plan.pages_needed);
        }
        // A reader with an outdated translation may touch even a new page's frame for a moment.
        let pins = fresh[..plan.pages_needed].iter().map(NewPage::pin);
        let Some(mut new) = pins.map(Pin::try_exclusive).collect::<Option<Vec<_>>>() else {
            return AtPath::Latched;
        };
        self.carry_out(&plan, &mut nodes, &mut new, fresh);
        drop((new, nodes));
        for page in fresh.drain(..plan.pages_needed) {
            page.keep();
        }
        self.release_value(old);
        self.count(change);
        AtPath::Done(true)
    }

    /// Thinks out the splits, from the leaf, which is full, upward.
    fn plan(
        &self,
        nodes: &[ExclusiveGuard<'_>],
        fresh: &[NewPage<'_>],
        key: &[u8],
        value: Value<'_>,
    ) -> Plan {
        let mut plan =
            Plan { splits: Vec::new(), pages_needed: 0, key: key.to_vec(), child: [0; 4] };
        for (depth, guard) in nodes.iter().enumerate().rev() {
            let node = Node::new(guard.page());
            let is_leaf = depth + 1 == nodes.len();
            if !is_leaf && node.has_room(plan.key.len(), plan.child.len()) {
                return plan;
            }
            let value = if is_leaf { value } else { Value::inline(&plan.child) };
            let split = plan_split(&node, &plan.key, value);
            // The root stays where it is, so both of its halves move.
            let right = plan.pages_needed + usize::from(depth == 0);
            plan.pages_needed = right + 1;
            plan.key = split.separator.clone();
            plan.child = fresh.get(right).map_or(0, NewPage::pid).to_le_bytes();
            plan.splits.push(split);
        }
        plan
    }

    fn carry_out(
        &self,
        plan: &Plan,
        nodes: &mut [ExclusiveGuard<'_>],
        new: &mut [ExclusiveGuard<'_>],
        pages: &[NewPage<'_>],
    ) {
        let leaf_depth = nodes.len() - 1;
        let mut used = 0;
        for (height, split) in plan.splits.iter().enumerate() {
            let depth = leaf_depth - height;
            if depth == 0 {
                let (left, right) = (used, used + 1);
                split.build_left(new[left].page_mut(), self.identity(pages[left].pid()));
                split.build_right(new[right].page_mut(), self.identity(pages[right].pid()));
                self.raise_root(&mut nodes[0], split, pages[left].pid(), pages[right].pid());
                used += 2;
            } else {
                let kept = Identity::of(nodes[depth].page());
                split.build_right(new[used].page_mut(), self.identity(pages[used].pid()));
                split.build_left(nodes[depth].page_mut(), kept);
                if height == 0 && Node::new(new[used].page()).upper().is_none() {
                    self.shared.shortcuts.push(&split.separator, pages[used].pid());
                }
                used += 1;
            }
            let pages =
                if height == 0 { &self.shared.leaf_pages } else { &self.shared.inner_pages };
            pages.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(used, plan.pages_needed, "each new page is used");
        if plan.splits.len() <= leaf_depth {
            let top = &mut nodes[leaf_depth - plan.splits.len()];
            let position = Node::new(top.page()).lower_bound(&plan.key).0;
            let child = Value::inline(&plan.child);
            let inserted = insert(top.page_mut(), position, &plan.key, child);
            assert!(inserted, "the lowest unsplit node has room");
        }
    }

    /// Makes the root an inner node above its two halves.
    fn raise_root(
        &self,
        root: &mut ExclusiveGuard<'_>,
        split: &Split,
        left: PageId,
        right: PageId,
    ) {
        let identity = Identity::of(root.page());
        let level = Node::new(root.page()).level() + 1;
        let (left, right) = (left.to_le_bytes(), right.to_le_bytes());
        let entries: [(&[u8], Value<'_>); 2] =
            [(b"", Value::inline(&left)), (&split.separator, Value::inline(&right))];
        let shape = Shape { level, lower: b"", upper: None };
        build(root.page_mut(), identity, shape, entries.into_iter());
        self.shared.inner_pages.fetch_add(1, Ordering::Relaxed);
        self.shared.height.fetch_add(1, Ordering::Relaxed);
    }

    /// Identity of a page that is new in this checkpoint interval.
    pub(super) fn identity(&self, pid: PageId) -> Identity {
        Identity { pid, tree: self.shared.id.0, epoch: self.store.pool.epoch() }
    }
}

/// The splits of a change, from the leaf upward, and the entry for the node above the last one.
struct Plan {
    splits: Vec<Split>,
    pages_needed: usize,
    key: Vec<u8>,
    child: [u8; 4],
}
