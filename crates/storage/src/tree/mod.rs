//! B+trees: entries of bytes in the order of their keys.
//!
//! A tree's root page never moves; a split moves the upper part of a node away, a merge moves a node
//! into the one to its left and marks its page as free. So a reader needs no latch but on the node
//! it looks at: owner and fences of the next page tell whether it is the right one, and if not, the
//! descent begins anew. That is why a reader holds nothing while it waits.

mod amac;
mod batch;
pub(crate) mod bulk;
pub(crate) mod change;
pub(crate) mod cursor;
mod hashed;
pub(crate) mod long;
mod merge;
mod overflow;
pub(crate) mod part;
pub(crate) mod ranges;
pub(crate) mod runs;
pub(crate) mod shared;
mod shortcuts;
mod split;
pub(crate) mod verify;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::IoCounters;

use crate::directory::TreeRecord;
use crate::error::{Damage, Result, StorageError};
use crate::extent::Extent;
use crate::node::layout::{entry_len_max, key_len_max};
use crate::node::{Node, Value};
use crate::overflow::{Reference, VALUE_LEN_MAX, capacity as overflow_capacity};
use crate::page::{self, PageId};
use crate::page_map::Claim;
use crate::pool::Pool;
use crate::pool::load::RUN_PAGES_MAX;
use crate::store::StoreInner;
use crate::store::undo_space::UndoSpace;
use crate::tree::shared::TreeShared;
use crate::tree_id::TreeId;
use shortcuts::{Shortcut, Vicinity};

/// How many reads a search may have in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// One request at a time, as a thread that blocks would.
    One,
    /// All that are known to be needed.
    Many,
}

/// Descents that go astray in a row before the tree is called damaged. One is a concurrent split;
/// so many are not.
const ASTRAY_MAX: u32 = 1000;

/// Levels with fewer bytes than this stay in the cache of a core, so that a yield would cost more
/// than the miss.
const CACHED_BYTES: u64 = 1 << 20;

/// Size of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeStats {
    /// Levels; 1: the root is a leaf.
    pub height: u32,
    /// Number of leaves.
    pub leaf_pages: u64,
    /// Number of inner nodes.
    pub inner_pages: u64,
    /// Number of entries.
    pub entries: u64,
    /// Number of pages of long values.
    pub overflow_pages: u64,
}

/// A handle on a tree. Pages of a dropped tree are not used again while a handle lives.
#[derive(Clone)]
pub struct Tree {
    pub(crate) store: Arc<StoreInner>,
    pub(crate) shared: Arc<TreeShared>,
    interleaved: bool,
    hashed: bool,
    undo: Option<Arc<UndoSpace>>,
    goes_back: bool,
}

/// What a node says about a key.
pub(crate) enum Step {
    /// Go on in this child, which has this level.
    Down(PageId, u8),
    /// The node is the leaf responsible for the key.
    Leaf,
    /// The node is not responsible for the key.
    Astray,
}

impl Tree {
    pub(crate) fn new(store: Arc<StoreInner>, shared: Arc<TreeShared>) -> Tree {
        let (interleaved, hashed, undo, goes_back) = (false, false, None, false);
        Tree { store, shared, interleaved, hashed, undo, goes_back }
    }

    /// The same tree, for changes that may have to be undone: nodes are merged only where that has
    /// its pages in `undo`.
    pub fn undoable(&self, undo: &Arc<UndoSpace>) -> Tree {
        Tree { undo: Some(Arc::clone(undo)), ..self.clone() }
    }

    /// The same tree, for undoing changes that were made by [`Tree::undoable`] with this `undo`, in
    /// reverse order.
    pub fn undoing(&self, undo: &Arc<UndoSpace>) -> Tree {
        Tree { goes_back: true, ..self.undoable(undo) }
    }

    /// Pages that the value of an entry takes for itself: 0 unless it is a long one.
    pub fn value_pages(&self, key: &[u8], value: &[u8]) -> u32 {
        match self.is_long(key, value) {
            true => value.len().div_ceil(overflow_capacity(self.store.pool.page_size())) as u32,
            false => 0,
        }
    }

    /// The purpose of pages: undoing, and the catalog's records at the end of a statement,
    /// has been promised before.
    fn purpose(&self, claim: Claim) -> Claim {
        let is_promised = self.goes_back || self.shared.id == self.store.catalog;
        if is_promised { Claim::Freeing } else { claim }
    }

    /// Pages that are held for what undoes.
    fn held(&self) -> Option<&Arc<UndoSpace>> {
        self.undo.as_ref().filter(|_| self.goes_back)
    }

    /// The same tree, whose `get` prefetches nodes that are likely out of the processor's caches
    /// and lets other tasks of the interleave window run meanwhile (corobase paper, section 4).
    pub fn interleaved(mut self, on: bool) -> Tree {
        self.interleaved = on;
        self
    }

    /// Whether a search lets others run while it waits for memory.
    #[inline]
    fn gives_way(&self) -> bool {
        self.interleaved && self.store.pool.is_interleaved()
    }

    /// The tree's number.
    pub fn id(&self) -> TreeId {
        self.shared.id
    }

    /// The tree's size now.
    pub fn stats(&self) -> TreeStats {
        let record = self.shared.record();
        let TreeRecord { height, leaf_pages, inner_pages, entries, overflow_pages, .. } = record;
        TreeStats { height, leaf_pages, inner_pages, entries, overflow_pages }
    }

    /// Refuses a key or a value that is too long for any entry of this tree: a key longer than an
    /// eighth of a page, a value longer than 64 MiB.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn check_size(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let (key_len_max, value_len_max) =
            (key_len_max(self.store.pool.page_size()), VALUE_LEN_MAX);
        if key.len() <= key_len_max && value.len() <= value_len_max {
            return Ok(());
        }
        let (key_len, value_len) = (key.len(), value.len());
        Err(StorageError::TooLarge { key_len, value_len, key_len_max, value_len_max })
    }

    /// Whether a value has to go to overflow pages.
    fn is_long(&self, key: &[u8], value: &[u8]) -> bool {
        key.len() + value.len() > entry_len_max(self.store.pool.page_size())
    }

    /// Asked by whoever has `structure` exclusively.
    fn check_not_dropped(&self) -> Result<()> {
        match self.shared.dropped.load(Ordering::Relaxed) {
            true => Err(StorageError::NoSuchTree(self.shared.id)),
            false => Ok(()),
        }
    }

    /// Looks up `key` and gives its value to `f`; `None` when the tree does not hold it.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when a page of the path cannot be read.
    pub async fn get<R>(
        &self,
        key: &[u8],
        io: &IoCounters,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let pool = &self.store.pool;
        let mut f = Some(f);
        let mut descent = self.begin(key).await;
        loop {
            if self.gives_way() && self.is_out_of_cache(descent.level) {
                self.approach(&mut descent, key).await;
            }
            let mut look = |page: &[u8]| self.find(page, key, &mut f);
            // Most pages are resident: these never pay for the state of a coroutine that may wait.
            let seen = match descent.peek(pool, &mut look) {
                Some(seen) => seen,
                None => match pool.read(descent.pid, io, look).await {
                    Ok(seen) => seen,
                    Err(error) => {
                        descent.doubt(error)?;
                        continue;
                    }
                },
            };
            let found = match seen {
                Ok(step) => {
                    descent.follow(step)?;
                    continue;
                }
                Err(found) => found,
            };
            descent.arrived(self);
            return match found {
                Lookup::Absent => Ok(None),
                Lookup::Seen(seen) => Ok(Some(seen)),
                Lookup::Overflow(reference) => {
                    // On the heap: what few searches need is not to lie in the frame of each.
                    let value = Box::pin(self.resolve(key, reference, io)).await?;
                    Ok(value.map(|value| f.take().expect("not called yet")(&value)))
                }
            };
        }
    }

    /// A way to the leaf that is responsible for `key`.
    #[inline]
    async fn begin(&self, key: &[u8]) -> Descent<'_> {
        let vicinity = self.shared.shortcuts.near(key);
        if let Some(vicinity) = vicinity.as_ref().filter(|v| self.gives_way() && v.is_far()) {
            vicinity.hint();
            runtime::interleave().await;
        }
        Descent::near(self, vicinity)
    }

    /// Brings closer what a search for `key` in this node will touch, one dependent step after the
    /// other, and lets other tasks of the window run in between. In the large level of the leaves
    /// each step would be a miss of its own.
    async fn approach(&self, descent: &mut Descent<'_>, key: &[u8]) {
        let pool = &self.store.pool;
        match descent.frame {
            Some(frame) => pool.hint_frame(frame),
            None => pool.hint_page(descent.pid),
        }
        runtime::interleave().await;
        if descent.level == 0 {
            descent.peek(pool, |page| self.owns(page).then(|| Node::new(page).hint_slots(key)));
            runtime::interleave().await;
            descent.peek(pool, |page| self.owns(page).then(|| Node::new(page).hint_cell(key)));
            runtime::interleave().await;
        }
    }

    /// Whether a level is so large that its nodes are rarely in the processor's caches. In debug
    /// builds all are, so that tests take this way.
    #[inline]
    fn is_out_of_cache(&self, level: u8) -> bool {
        if cfg!(debug_assertions) {
            return true;
        }
        let pages = match level {
            ROOT_LEVEL => return false,
            0 => self.shared.leaf_pages.load(Ordering::Relaxed),
            _ => {
                self.shared.inner_pages.load(Ordering::Relaxed) >> (8 * u32::from(level - 1).min(7))
            }
        };
        pages * self.store.pool.page_size() as u64 > CACHED_BYTES
    }

    /// What a page says about `key`; a page of another tree is astray.
    #[inline]
    pub(crate) fn step(&self, page: &[u8], key: &[u8]) -> Step {
        let node = Node::new(page);
        if !self.owns(page) || !node.covers(key) {
            return Step::Astray;
        }
        match node.level() {
            0 => Step::Leaf,
            level => Step::Down(node.child(node.child_position(key)), level - 1),
        }
    }

    /// What a page has for `key` as a leaf, or where the search goes on. A leaf of this tree that has the key is
    /// responsible for it: then the fences need not be looked at.
    #[inline]
    fn find<R, F: FnOnce(&[u8]) -> R>(
        &self,
        page: &[u8],
        key: &[u8],
        f: &mut Option<F>,
    ) -> std::result::Result<Step, Lookup<R>> {
        let node = Node::new(page);
        if !self.owns(page) || !node.is_leaf() {
            return Ok(self.step(page, key));
        }
        match node.lower_bound(key) {
            (position, true) => Err(match node.value(position) {
                Value { bytes, overflow: true } => Lookup::Overflow(Reference::decode(bytes)),
                Value { bytes, .. } => Lookup::Seen(f.take().expect("called once")(bytes)),
            }),
            _ if node.covers(key) => Err(Lookup::Absent),
            _ => Ok(Step::Astray),
        }
    }

    #[inline]
    pub(crate) fn owns(&self, page: &[u8]) -> bool {
        page::tree(page) == self.shared.id.0
    }

    /// The leaf responsible for `key`, now; by the time it is looked at it may have been split.
    pub(crate) async fn leaf_for(&self, key: &[u8], io: &IoCounters) -> Result<PageId> {
        let pool = &self.store.pool;
        let mut descent = self.begin(key).await;
        loop {
            if self.gives_way() && self.is_out_of_cache(descent.level) {
                self.approach(&mut descent, key).await;
            }
            let look = |page: &[u8]| self.step(page, key);
            let seen = match descent.peek(pool, look) {
                Some(step) => Ok(step),
                None => pool.read(descent.pid, io, look).await,
            };
            match seen {
                Ok(Step::Leaf) => {
                    descent.arrived(self);
                    return Ok(descent.pid);
                }
                Ok(step) => descent.follow(step)?,
                Err(error) => descent.doubt(error)?,
            }
        }
    }

    /// How many leaves are responsible for these keys, which ascend, now.
    ///
    /// # Errors
    /// `Io`, `Corrupt` when a path cannot be read.
    pub async fn count_leaves(
        &self,
        keys: impl Iterator<Item = &[u8]>,
        io: &IoCounters,
    ) -> Result<u32> {
        let (mut count, mut end) = (0, Some(vec![]));
        for key in keys {
            // The leaf before reaches up to its fence, the last one to the end.
            if count > 0 && end.as_ref().is_none_or(|end: &Vec<u8>| key < end.as_slice()) {
                continue;
            }
            let leaf = self.leaf_for(key, io).await?;
            let upper = |page: &[u8]| match self.step(page, key) {
                Step::Leaf => Node::new(page).upper().map(<[u8]>::to_vec),
                // It was split a moment ago: what follows counts anew.
                _ => Some(vec![]),
            };
            end = self.store.pool.read(leaf, io, upper).await?;
            count += 1;
        }
        Ok(count)
    }

    /// All pages of the tree, those of long values included. Leaves are read only when there are
    /// long values. The caller has `structure` exclusively.
    pub(crate) async fn pages(&self, io: &IoCounters) -> Result<Vec<Extent>> {
        let page_size = self.store.pool.page_size();
        let lowest = if self.stats().overflow_pages > 0 { 0 } else { 1 };
        let mut all = vec![Extent { start: self.shared.root, pages: 1 }];
        let mut level = vec![self.shared.root];
        while !level.is_empty() {
            let mut next = Vec::new();
            for run in level.chunks(RUN_PAGES_MAX / 2) {
                self.store.pool.prefetch(run.iter().copied(), io);
                for &pid in run {
                    let look = |page: &[u8]| {
                        let node = Node::new(page);
                        let children = 0..if node.is_leaf() { 0 } else { node.count() };
                        let children = children.map(|i| node.child(i));
                        all.extend(children.clone().map(|start| Extent { start, pages: 1 }));
                        if node.level() > lowest {
                            next.extend(children);
                        }
                        let references = Self::references(&node).into_iter();
                        all.extend(references.map(|value| value.extent(page_size)));
                        self.owns(page)
                    };
                    if !self.store.pool.read(pid, io, look).await? {
                        return Err(misplaced(pid, "a child of another tree"));
                    }
                    if runtime::need_preempt() {
                        runtime::yield_now().await;
                    }
                }
            }
            level = next;
        }
        Ok(all)
    }
}

/// What a leaf has for a search.
enum Lookup<R> {
    Absent,
    /// What the caller made of the value.
    Seen(R),
    Overflow(Reference),
}

pub(crate) fn misplaced(pid: PageId, what: &'static str) -> StorageError {
    StorageError::Corrupt { pid, reason: Damage::Misplaced(what) }
}

/// What stands for the level of the root, before it has been looked at.
const ROOT_LEVEL: u8 = u8::MAX;

/// A way down the tree, begun anew when a node turns out not to be responsible.
pub(crate) struct Descent<'t> {
    root: PageId,
    pub pid: PageId,
    /// Level of `pid`, `ROOT_LEVEL` for the root.
    pub level: u8,
    astray: u32,
    /// The frame that had `pid` lately, if a shortcut knows it.
    frame: Option<u32>,
    /// The entry of the table of shortcuts from which the way began.
    shortcut: Option<Shortcut<'t>>,
    /// Whether it began at the root because there is no table.
    is_counted: bool,
    restarted: bool,
    suspects: Suspects,
}

impl<'t> Descent<'t> {
    /// From the root.
    pub fn new(tree: &Tree) -> Descent<'t> {
        let root = tree.shared.root;
        Descent {
            root,
            pid: root,
            level: ROOT_LEVEL,
            astray: 0,
            frame: None,
            shortcut: None,
            is_counted: false,
            restarted: false,
            suspects: Suspects::default(),
        }
    }

    /// From the leaf that is likely the one, if one is known.
    #[inline]
    fn near(tree: &Tree, vicinity: Option<Vicinity<'t>>) -> Descent<'t> {
        let mut descent = Descent::new(tree);
        let Some(vicinity) = vicinity else {
            descent.is_counted = true;
            return descent;
        };
        let shortcut = vicinity.shortcut();
        if let Some((pid, frame)) = shortcut.leaf() {
            (descent.pid, descent.frame, descent.level) = (pid, frame, 0);
            descent.shortcut = Some(shortcut);
        }
        descent
    }

    /// At a page that is said to be the leaf.
    fn at_leaf(tree: &Tree, pid: PageId) -> Descent<'t> {
        Descent { pid, level: 0, ..Descent::new(tree) }
    }

    /// Runs `look` on the page, if it is resident and not latched exclusively.
    #[inline]
    pub fn peek<R>(&mut self, pool: &Pool, mut look: impl FnMut(&[u8]) -> R) -> Option<R> {
        if let Some(frame) = self.frame {
            if let Some(seen) = pool.peek_in(frame, self.pid, &mut look) {
                return Some(seen);
            }
            self.frame = None;
        }
        pool.peek(self.pid, look)
    }

    /// The page is the leaf: the table learns where it is, and a way from the root is counted.
    #[inline]
    pub fn arrived(&self, tree: &Tree) {
        let Some(shortcut) = self.shortcut else {
            if self.is_counted {
                tree.came_from_root(1);
            }
            return;
        };
        if self.restarted {
            tree.came_from_root(1);
        }
        if self.restarted || self.frame.is_none() {
            shortcut.set(self.pid, tree.store.pool.frame_of(self.pid));
        }
    }

    fn restart(&mut self) {
        (self.pid, self.level, self.frame) = (self.root, ROOT_LEVEL, None);
        self.restarted = true;
    }

    /// Takes a step that is not a leaf.
    ///
    /// # Errors
    /// `Corrupt` when descents keep going astray.
    #[inline]
    pub fn follow(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Down(child, level) => (self.pid, self.level, self.frame) = (child, level, None),
            Step::Leaf => {}
            Step::Astray => {
                self.astray += 1;
                if self.astray > ASTRAY_MAX || self.pid == self.root {
                    return Err(misplaced(self.pid, "a node that is not responsible for its keys"));
                }
                self.restart();
            }
        }
        Ok(())
    }

    /// Begins anew after a page that could not be read.
    ///
    /// # Errors
    /// `error` itself, when it has nothing to do with the way.
    pub fn doubt(&mut self, error: StorageError) -> Result<()> {
        self.restart();
        self.suspects.excuse(error)
    }
}

/// Pages that were found damaged when somebody came to them by a number that he had for a while.
/// Meanwhile the page may have been freed, and its place written with a double-write buffer or a directory or
/// by a bulk load, past the pool. Who begins at the root again comes to another page; who comes to
/// the same one has found true damage.
#[derive(Default)]
pub(crate) struct Suspects(Vec<PageId>);

/// Times that one page may be found damaged: once by each of a few pieces of a batch that have the
/// same outdated number.
const EXCUSES_MAX: usize = 2;

impl Suspects {
    /// Takes note of an error.
    ///
    /// # Errors
    /// `error` itself, when it is no damage, or of a page that was excused before.
    pub fn excuse(&mut self, error: StorageError) -> Result<()> {
        let StorageError::Corrupt { pid, .. } = error else { return Err(error) };
        if self.0.iter().filter(|other| **other == pid).count() == EXCUSES_MAX {
            return Err(error);
        }
        self.0.push(pid);
        Ok(())
    }
}
