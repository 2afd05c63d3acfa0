//! Shortcuts: a table in memory that says at which leaf a search for a key may begin.
//!
//! It is a sorted array of the leaves' lower fences, cut down to eight bytes that tell them apart,
//! below lines of such heads, so that a search touches one cache line of eight for each level. It is
//! built from the inner nodes after so many searches from the root, and says nothing for certain:
//! a table may be as old as it likes, and is read while it is written. What it names is proven by
//! owner and fences like any other page of a descent (`README.md`, section 4), and whoever goes
//! astray begins at the root.

mod build;
mod places;
#[cfg(test)]
mod tests;

use std::hint::select_unpredictable;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::cache::prefetch_line;
use crate::page::PageId;
use places::Places;

/// Heads of a cache line.
const LINE_HEADS: usize = 8;

/// Leaves of the smallest table. In debug builds small trees have one, so that tests take this way.
const LEAVES_MIN: usize = if cfg!(debug_assertions) { 8 } else { 1024 };

/// Levels from which on a tree has a table: one level less to search would not be worth it.
const HEIGHT_MIN: u32 = if cfg!(debug_assertions) { 2 } else { 3 };

/// Tables of a tree at most, each for twice as many leaves as the one before: 2^31 leaves are more
/// than a file has.
const TABLES_MAX: usize = 22;

/// A table is built after so many searches from the root for each leaf of the tree, as a share:
/// building costs about 20 ns a leaf, so that it is a twentieth of what those searches took.
const SEARCHES_PER_LEAF: f64 = 0.25;

/// After an attempt that came to nothing so many times as many searches go by before the next one.
const PATIENCE: u64 = 16;

/// Bytes that the tables of a store may still take.
type Allowance = Arc<AtomicUsize>;

/// Tables with fewer bytes of leaves stay in the cache of a core.
const NEAR_BYTES: usize = 256 << 10;

/// Eight heads, ascending.
#[repr(align(64))]
struct Line([AtomicU64; LINE_HEADS]);

/// Eight leaves with their heads: two cache lines that come together.
#[repr(align(128))]
struct Leaves {
    heads: Line,
    words: [AtomicU64; LINE_HEADS],
}

/// Leaves by their heads. All words may change at any time.
struct Table {
    /// Lines of heads, the top level first; each head of a level is the first of a line below it.
    levels: Box<[Box<[Line]>]>,
    /// The lowest level.
    leaves: Box<[Leaves]>,
    places: AtomicU64,
    /// Places that have a leaf.
    used: AtomicUsize,
    allowance: Allowance,
    bytes: usize,
}

/// The leaves among which a key's own is, as far as a table knows.
pub(crate) struct Vicinity<'t> {
    leaves: &'t Leaves,
    head: u64,
    is_far: bool,
}

impl<'t> Vicinity<'t> {
    /// Whether a look at it is likely a miss.
    #[inline]
    pub fn is_far(&self) -> bool {
        self.is_far || cfg!(debug_assertions)
    }

    /// Brings it closer.
    #[inline]
    pub fn hint(&self) {
        prefetch_line(std::ptr::from_ref(&self.leaves.heads).cast());
        prefetch_line(std::ptr::from_ref(&self.leaves.words).cast());
    }

    /// The key's leaf.
    #[inline]
    pub fn shortcut(&self) -> Shortcut<'t> {
        Shortcut(&self.leaves.words[self.leaves.heads.last_upto(self.head)])
    }
}

/// What a table has for a key: page and frame of a leaf, 0 for none.
#[derive(Clone, Copy)]
pub(crate) struct Shortcut<'t>(&'t AtomicU64);

impl Shortcut<'_> {
    /// The page, if there is one, and the frame that had it lately.
    #[inline]
    pub fn leaf(self) -> Option<(PageId, Option<u32>)> {
        let word = self.0.load(Ordering::Relaxed);
        let (pid, frame) = (word as u32, (word >> 32) as u32);
        (pid != 0).then_some((pid, frame.checked_sub(1)))
    }

    /// Has it name another leaf, or the frame that a leaf has now.
    pub fn set(self, pid: PageId, frame: Option<u32>) {
        let frame = frame.map_or(0, |frame| u64::from(frame) + 1);
        self.0.store(frame << 32 | u64::from(pid), Ordering::Relaxed);
    }
}

impl Line {
    fn empty() -> Line {
        Line([const { AtomicU64::new(u64::MAX) }; LINE_HEADS])
    }

    /// The place of the last head that is not above `head`, or the first. Without branches on heads:
    /// where a random key belongs cannot be predicted.
    #[inline]
    fn last_upto(&self, head: u64) -> usize {
        let mut at = 0;
        for step in [4, 2, 1] {
            let is_upto = self.0[at + step].load(Ordering::Relaxed) <= head;
            at = select_unpredictable(is_upto, at + step, at);
        }
        at
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.allowance.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

impl Table {
    /// A table with room for so many leaves, or none if memory is short.
    fn new(leaf_count: usize, allowance: &Allowance) -> Option<Table> {
        let bottom = leaf_count.div_ceil(LINE_HEADS);
        let mut counts = vec![];
        while *counts.last().unwrap_or(&bottom) > 1 {
            counts.push(counts.last().unwrap_or(&bottom).div_ceil(LINE_HEADS));
        }
        let bytes = counts.iter().sum::<usize>() * size_of::<Line>() + bottom * size_of::<Leaves>();
        let take = |left: usize| left.checked_sub(bytes);
        allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let level = |count: &usize| (0..*count).map(|_| Line::empty()).collect();
        let words = || [const { AtomicU64::new(0) }; LINE_HEADS];
        Some(Table {
            levels: counts.iter().rev().map(level).collect(),
            leaves: (0..bottom).map(|_| Leaves { heads: Line::empty(), words: words() }).collect(),
            places: AtomicU64::new(0),
            used: AtomicUsize::new(0),
            allowance: Arc::clone(allowance),
            bytes,
        })
    }

    fn leaf_count_max(&self) -> usize {
        self.leaves.len() * LINE_HEADS
    }

    /// The lowest line with a leaf whose head is not above `head`.
    #[inline]
    fn near(&self, head: u64) -> Option<Vicinity<'_>> {
        let mut at = 0;
        for level in &self.levels {
            at = LINE_HEADS * at + level.get(at)?.last_upto(head);
        }
        let is_far = size_of_val(&*self.leaves) > NEAR_BYTES;
        Some(Vicinity { leaves: self.leaves.get(at)?, head, is_far })
    }

    /// Adds a leaf behind all others, where there is room and its head tells it from them.
    fn push(&self, head: u64, pid: PageId) {
        let place = self.used.load(Ordering::Relaxed);
        if place == 0 || place >= self.leaf_count_max() {
            return;
        }
        let last = &self.leaves[(place - 1) / LINE_HEADS].heads.0[(place - 1) % LINE_HEADS];
        let is_last = last.load(Ordering::Relaxed) < head && head < u64::MAX;
        let order = Ordering::Relaxed;
        // A table that begins to be written anew in this moment has no places to add to.
        if is_last && self.used.compare_exchange(place, place + 1, order, order).is_ok() {
            self.set(place, head, pid);
        }
    }

    /// Writes the head of one leaf, on all levels that have it, and the leaf.
    fn set(&self, place: usize, head: u64, pid: PageId) {
        let line = &self.leaves[place / LINE_HEADS];
        let mut at = place % LINE_HEADS;
        line.heads.0[at].store(head, Ordering::Relaxed);
        Shortcut(&line.words[at]).set(pid, None);
        let mut above = place / LINE_HEADS;
        for level in self.levels.iter().rev() {
            if at != 0 {
                return;
            }
            at = above % LINE_HEADS;
            level[above / LINE_HEADS].0[at].store(head, Ordering::Relaxed);
            above /= LINE_HEADS;
        }
    }
}

/// The tables of a tree, of which the largest is in use: whoever searches in one needs no lock.
#[derive(Default)]
pub(crate) struct Shortcuts {
    tables: [OnceLock<Table>; TABLES_MAX],
    /// Number of the table in use and one; 0: none.
    current: AtomicU32,
    /// Searches that came from the root since a table was last built, or tried to be.
    searches: AtomicU64,
    /// Times that searches go by for nothing.
    patience: AtomicU64,
    building: AtomicBool,
    /// Bulk loads that have begun. Pages of one that is not finished look like leaves of the tree: no table
    /// outlives the beginning of a load, when the tree is empty.
    loads: AtomicU32,
}

impl Shortcuts {
    /// The leaves that are likely near to `key`, if there is a table.
    #[inline]
    pub fn near(&self, key: &[u8]) -> Option<Vicinity<'_>> {
        let current = self.current.load(Ordering::Acquire).checked_sub(1)?;
        let table = self.tables[current as usize].get()?;
        table.near(Places::unpack(table.places.load(Ordering::Relaxed)).head(key))
    }

    /// The last leaf of the tree was split; `fence` is the lower one of its right half. Rows that are added in
    /// the order of their keys, and are read soon, are found without a way from the root. Whoever splits has the structure exclusively.
    pub fn push(&self, fence: &[u8], pid: PageId) {
        let current = self.current.load(Ordering::Acquire).checked_sub(1);
        let table = current.and_then(|current| self.tables[current as usize].get());
        // A table that is written anew has the leaf, or learns of it when it is built the next time.
        if let Some(table) = table.filter(|_| !self.building.load(Ordering::Relaxed)) {
            table.push(Places::unpack(table.places.load(Ordering::Relaxed)).head(fence), pid);
        }
    }

    /// A bulk load begins: what is known is of no use.
    pub fn forget(&self) {
        self.loads.fetch_add(1, Ordering::AcqRel);
        self.current.store(0, Ordering::Release);
    }

    /// A table with room for so many leaves.
    fn room(&self, leaf_count: usize, allowance: &Allowance) -> Option<&Table> {
        let class = leaf_count.div_ceil(LEAVES_MIN).next_power_of_two().trailing_zeros();
        let place = self.tables.get(class as usize)?;
        if place.get().is_none() {
            drop(place.set(Table::new(LEAVES_MIN << class, allowance)?));
        }
        place.get()
    }

    /// Has searches use a table that was built since `loads` was read.
    fn uses(&self, table: &Table, loads: u32) {
        let is_it = |place: &OnceLock<Table>| place.get().is_some_and(|t| std::ptr::eq(t, table));
        let class = self.tables.iter().position(is_it).expect("one of the tree's tables");
        self.current.store(class as u32 + 1, Ordering::Release);
        if self.loads.load(Ordering::Acquire) != loads {
            self.current.store(0, Ordering::Release);
        }
    }
}
