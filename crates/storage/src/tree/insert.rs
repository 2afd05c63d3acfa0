//! Inserting: into a leaf with room under its latch alone, else by a split.
//!
//! Whoever changes a page holds a pass of the store's `writers` turnstile, and whoever changes
//! inner nodes is alone in `structure`: so a path that is pinned stays a path, only its leaf may
//! change until it is latched. All pages are pinned first, while waiting is allowed; then all
//! latches are tried, and either all are got and the work is done at once, or all are released.

use std::sync::atomic::Ordering;

use super::{Step, Tree, misplaced};
use crate::error::Result;
use crate::latch::ExclusiveGuard;
use crate::node::{Node, Shape, Split, build, insert, plan_split};
use crate::page::{self, Identity, PageId};
use crate::pool::Pin;
use crate::store::NewPage;

/// Outcome of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// The entry is in the tree.
    New,
    /// The tree holds this key already, and is unchanged.
    Duplicate,
}

/// Outcome of an attempt at a leaf.
enum AtLeaf {
    Done(Inserted),
    /// The leaf has no room.
    Full,
    /// A latch was in the way, or the leaf was split meanwhile.
    Again,
    /// Too many old pages are changed: a checkpoint first.
    Crowded,
}

/// Outcome of an attempt to split.
enum AtPath {
    Done(Inserted),
    NeedPages(usize),
    Latched,
}

impl Tree {
    /// Adds an entry.
    ///
    /// May make a checkpoint when changed old pages crowd the pool; `Store::needs_checkpoint` tells
    /// in time.
    ///
    /// # Errors
    /// `TooLarge`; `Io`, `Corrupt` when the path cannot be read; `Full`; `Poisoned` after a failed
    /// write.
    pub async fn insert(&self, key: &[u8], value: &[u8]) -> Result<Inserted> {
        self.check_size(key, value)?;
        loop {
            if self.store.is_crowded() {
                self.store.checkpoint().await?;
            }
            let _pass = self.store.writers.together().await;
            self.store.check_writable()?;
            match self.insert_at_leaf(key, value).await? {
                AtLeaf::Done(inserted) => return Ok(inserted),
                AtLeaf::Full => return self.insert_with_split(key, value).await,
                AtLeaf::Again => runtime::yield_now().await,
                AtLeaf::Crowded => {}
            }
        }
    }

    async fn insert_at_leaf(&self, key: &[u8], value: &[u8]) -> Result<AtLeaf> {
        let store = &self.store;
        let leaf = self.leaf_for(key, &store.io).await?;
        let pin = store.pool.fix(leaf, &store.io).await?;
        // Asked when nothing can come between the answer and the change.
        if store.is_crowded() {
            return Ok(AtLeaf::Crowded);
        }
        let Some(mut guard) = pin.try_exclusive() else { return Ok(AtLeaf::Again) };
        if !matches!(self.step(guard.page(), key), Step::Leaf) {
            return Ok(AtLeaf::Again);
        }
        let (position, found) = Node::new(guard.page()).lower_bound(key);
        if found {
            return Ok(AtLeaf::Done(Inserted::Duplicate));
        }
        if !has_room(guard.page(), key, value) {
            return Ok(AtLeaf::Full);
        }
        let inserted = insert(guard.page_mut(), position, key, value);
        assert!(inserted, "the leaf has room");
        self.count_entry();
        Ok(AtLeaf::Done(Inserted::New))
    }

    fn count_entry(&self) {
        self.shared.entries.fetch_add(1, Ordering::Relaxed);
    }

    async fn insert_with_split(&self, key: &[u8], value: &[u8]) -> Result<Inserted> {
        let _structure = self.store.structure.alone().await;
        let path = self.pin_path(key).await?;
        let mut fresh: Vec<NewPage<'_>> = Vec::new();
        loop {
            match self.try_split(&path, &mut fresh, key, value) {
                AtPath::Done(inserted) => return Ok(inserted),
                AtPath::Latched => runtime::yield_now().await,
                AtPath::NeedPages(count) => {
                    while fresh.len() < count {
                        fresh.push(NewPage::make(&self.store, self.shared.id).await?);
                    }
                }
            }
        }
    }

    /// Pins the nodes from the root to the leaf of `key`.
    async fn pin_path(&self, key: &[u8]) -> Result<Vec<Pin<'_>>> {
        let (pool, io) = (&self.store.pool, &self.store.io);
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
        value: &[u8],
    ) -> AtPath {
        let Some(mut nodes) =
            path.iter().map(|pin| pin.try_exclusive()).collect::<Option<Vec<_>>>()
        else {
            return AtPath::Latched;
        };
        let leaf = nodes.last().expect("a path has a leaf").page();
        if Node::new(leaf).lower_bound(key).1 {
            return AtPath::Done(Inserted::Duplicate);
        }
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
        self.count_entry();
        AtPath::Done(Inserted::New)
    }

    /// Thinks out the splits, from the leaf upward.
    fn plan(
        &self,
        nodes: &[ExclusiveGuard<'_>],
        fresh: &[NewPage<'_>],
        key: &[u8],
        value: &[u8],
    ) -> Plan {
        let mut plan =
            Plan { splits: Vec::new(), pages_needed: 0, key: key.to_vec(), value: value.to_vec() };
        for (depth, guard) in nodes.iter().enumerate().rev() {
            let node = Node::new(guard.page());
            if has_room(guard.page(), &plan.key, &plan.value) {
                return plan;
            }
            let position = node.lower_bound(&plan.key).0;
            let split = plan_split(&node, position, &plan.key, &plan.value);
            // The root stays where it is, so both of its halves move.
            let right = plan.pages_needed + usize::from(depth == 0);
            plan.pages_needed = right + 1;
            plan.key = split.separator.clone();
            plan.value = fresh.get(right).map_or(0, NewPage::pid).to_le_bytes().to_vec();
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
                let kept = self.identity_of(nodes[depth].page());
                split.build_right(new[used].page_mut(), self.identity(pages[used].pid()));
                split.build_left(nodes[depth].page_mut(), kept);
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
            let inserted = insert(top.page_mut(), position, &plan.key, &plan.value);
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
        let identity = self.identity_of(root.page());
        let level = Node::new(root.page()).level() + 1;
        let (left, right) = (left.to_le_bytes(), right.to_le_bytes());
        let entries: [(&[u8], &[u8]); 2] = [(b"", &left), (&split.separator, &right)];
        let shape = Shape { level, lower: b"", upper: None };
        build(root.page_mut(), identity, shape, entries.into_iter());
        self.shared.inner_pages.fetch_add(1, Ordering::Relaxed);
        self.shared.height.fetch_add(1, Ordering::Relaxed);
    }

    /// Identity of a page that is new in this checkpoint interval.
    pub(super) fn identity(&self, pid: PageId) -> Identity {
        Identity { pid, tree: self.shared.id.0, epoch: self.store.pool.epoch() }
    }

    /// Identity of a page that is rewritten: it stays as old as it is.
    pub(super) fn identity_of(&self, page: &[u8]) -> Identity {
        let pid = PageId::try_from(page::stored_pid(page)).expect("page numbers have 32 bits");
        Identity { pid, tree: self.shared.id.0, epoch: page::born(page) }
    }
}

/// The splits of an insertion, from the leaf upward, and the entry for the node above the last one.
struct Plan {
    splits: Vec<Split>,
    pages_needed: usize,
    key: Vec<u8>,
    value: Vec<u8>,
}

fn has_room(page: &[u8], key: &[u8], value: &[u8]) -> bool {
    Node::new(page).has_room(key.len(), value.len())
}
