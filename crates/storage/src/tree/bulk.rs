//! Bulk load: sorted entries into full leaves, written in large sequential requests past the pool.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::{IoBuf, JoinHandle};

use super::Tree;
use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::node::build::{Entries, Shape, build, bytes_needed, separator};
use crate::node::{Node, Value};
use crate::page::{self, Identity, PageId};
use crate::page_map::{Claim, PageMap};
use crate::places::Owner;
use crate::store::StoreInner;
use crate::store::draft::Draft;
use crate::tree::shared::TreeShared;

/// Share of a page that a load fills, in percent: room for a few insertions before the first split.
const FILL_PERCENT: usize = 95;

/// Bytes of one write of leaves, once the load has shown that it is large.
const LEAF_RUN_BYTES: usize = 1 << 20;

/// Pages of the first write of leaves; each further one is twice as long, up to `LEAF_RUN_BYTES`.
const FIRST_RUN_PAGES: u32 = 8;

/// Pages of one write of inner nodes: there are a hundred leaves or more for each.
const INNER_RUN_PAGES: u32 = 16;

/// Loads an empty tree with entries in ascending order. Memory: one page per level and four runs.
///
/// The tree stays empty until `finish`; dropped before, the load leaves nothing behind. A
/// checkpoint meanwhile does no harm.
pub struct BulkLoader {
    tree: Tree,
    levels: Vec<Level>,
    leaves: Run,
    inners: Run,
    claim: Arc<LoadClaim>,
    entry_count: u64,
    /// Pages of long values.
    long: Draft,
}

/// A node in the making: its entries are complete when the first key of the next node is known.
struct Level {
    lower: Vec<u8>,
    pending: Entries,
    entries_len: usize,
    nodes: u64,
}

/// Pages that are filled and written together.
struct Run {
    extent: Extent,
    /// One buffer for all of them, or, where each page may go elsewhere, one for each: nothing is
    /// copied on its way to the file.
    buffers: Vec<IoBuf>,
    /// The write of the run before, which goes on while this one is filled.
    writing: Option<JoinHandle<Result<()>>>,
    filled: u32,
    /// Length of the next run.
    run_pages: u32,
    run_pages_max: u32,
}

/// The pages of a load; returned when the load, and each write of it, is over without `finish`.
struct LoadClaim {
    store: Arc<StoreInner>,
    tree: Arc<TreeShared>,
    load: u64,
    finished: std::sync::atomic::AtomicBool,
}

impl Drop for LoadClaim {
    fn drop(&mut self) {
        if !self.finished.load(Ordering::Relaxed) {
            self.store.space().end_load(self.load, None);
        }
        self.tree.loading.store(false, Ordering::Relaxed);
    }
}

impl Tree {
    /// Begins a bulk load of this tree, which has to be empty. One load at a time.
    ///
    /// # Errors
    /// `NotEmpty`; `Poisoned` after a failed write.
    pub async fn bulk_loader(&self) -> Result<BulkLoader> {
        self.store.check_writable()?;
        let taken = self.shared.loading.swap(true, Ordering::Relaxed);
        if taken {
            return Err(StorageError::NotEmpty(self.shared.id));
        }
        let claim = LoadClaim {
            store: Arc::clone(&self.store),
            tree: Arc::clone(&self.shared),
            load: self.store.space().begin_load(),
            finished: false.into(),
        };
        let stats = self.stats();
        if stats.entries > 0 || stats.height > 1 {
            return Err(StorageError::NotEmpty(self.shared.id));
        }
        self.shared.shortcuts.forget();
        self.shared.hashes.forget();
        let leaf_run_pages = (LEAF_RUN_BYTES / self.store.pool.page_size()) as u32;
        Ok(BulkLoader {
            tree: self.clone(),
            levels: vec![Level::new(Vec::new())],
            leaves: Run::new(leaf_run_pages),
            inners: Run::new(INNER_RUN_PAGES),
            claim: Arc::new(claim),
            entry_count: 0,
            long: Draft::new(&self.store),
        })
    }
}

impl Level {
    fn new(lower: Vec<u8>) -> Level {
        Level { lower, pending: Entries::default(), entries_len: 0, nodes: 0 }
    }

    fn push(&mut self, key: &[u8], value: Value<'_>) {
        self.pending.push(key, value);
        self.entries_len += key.len() + value.bytes.len();
    }

    /// Bytes of a node of the first `count` pending entries that ends at `upper`.
    fn bytes(&self, count: usize, upper: Option<&[u8]>) -> usize {
        let entries_len = match count == self.pending.len() {
            true => self.entries_len,
            false => (0..count).map(|i| self.pending.entry_len(i)).sum(),
        };
        bytes_needed(&self.lower, upper, count, entries_len)
    }

    fn drain(&mut self, count: usize) {
        self.entries_len -= (0..count).map(|i| self.pending.entry_len(i)).sum::<usize>();
        self.pending.drain_front(count);
    }
}

impl BulkLoader {
    /// Adds an entry whose key is greater than all before.
    ///
    /// # Errors
    /// `OutOfOrder`, `TooLarge`: the entry is left out and the load may go on; `Io`, `Full`,
    /// `Poisoned`: it may not.
    pub async fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.tree.check_size(key, value)?;
        let pending = &self.levels[0].pending;
        if pending.len() > 0 && pending.key(pending.len() - 1) >= key {
            return Err(StorageError::OutOfOrder);
        }
        let pushed = self.push_any(key, value).await;
        self.end_if_failed(pushed).await
    }

    /// Waits for the writes of a load that has failed: none is under way when it is tried again.
    async fn end_if_failed<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            // Their errors come too late to matter.
            drop(self.leaves.finish_write().await);
            drop(self.inners.finish_write().await);
        }
        outcome
    }

    async fn push_any(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if !self.tree.is_long(key, value) {
            return self.push_stored(key, Value::inline(value)).await;
        }
        let reference = self.long.write(self.tree.shared.id, value).await?.encode();
        self.push_stored(key, Value { bytes: &reference, overflow: true }).await
    }

    async fn push_stored(&mut self, key: &[u8], value: Value<'_>) -> Result<()> {
        if self.is_full(0, key, value.bytes.len()) {
            self.emit(0, Some(key)).await?;
        }
        self.levels[0].push(key, value);
        self.entry_count += 1;
        Ok(())
    }

    fn budget(&self) -> usize {
        self.tree.store.pool.page_size() * FILL_PERCENT / 100
    }

    /// Whether the node of `level` would exceed its fill with one more entry, if it ended right
    /// behind that.
    fn is_full(&self, level: usize, key: &[u8], value_len: usize) -> bool {
        let node = &self.levels[level];
        let entries_len = node.entries_len + key.len() + value_len;
        let count = node.pending.len() + 1;
        count > 1 && bytes_needed(&node.lower, Some(key), count, entries_len) > self.budget()
    }

    /// Makes nodes of the pending entries of `level` until few enough are left to take `next`, the
    /// first key behind them.
    async fn emit(&mut self, level: usize, next: Option<&[u8]>) -> Result<()> {
        // The prefix shrinks when `next` is far away, so not all pending entries may fit one node.
        let page_size = self.tree.store.pool.page_size();
        let pending = self.levels[level].pending.len();
        assert!(pending > 0, "a node of no entries");
        let fits = |count: usize| {
            let upper = self.upper(level, count, next);
            self.levels[level].bytes(count, upper.as_deref()) <= page_size
        };
        let count = (1..=pending).rev().find(|&count| fits(count)).unwrap_or(1);
        self.emit_node(level, count, next).await
    }

    /// Upper fence of a node of the first `count` pending entries.
    fn upper(&self, level: usize, count: usize, next: Option<&[u8]>) -> Option<Vec<u8>> {
        let pending = &self.levels[level].pending;
        let right = if count < pending.len() { Some(pending.key(count)) } else { next }?;
        match level {
            0 => Some(separator(pending.key(count - 1), right).to_vec()),
            _ => Some(right.to_vec()),
        }
    }

    async fn emit_node(&mut self, level: usize, count: usize, next: Option<&[u8]>) -> Result<()> {
        let upper = self.upper(level, count, next);
        let run = if level == 0 { &mut self.leaves } else { &mut self.inners };
        let pid = run.next_page(&self.claim).await?;
        let node = &mut self.levels[level];
        let shape = Shape { level: level as u8, lower: &node.lower, upper: upper.as_deref() };
        let pending = &node.pending;
        let entries = (0..count).map(|i| (pending.key(i), pending.value(i)));
        let image = run.page_mut(self.tree.store.pool.page_size());
        build(image, self.tree.identity(pid), shape, entries);
        page::seal(image, pid);
        run.filled += 1;
        let lower = std::mem::replace(&mut node.lower, upper.unwrap_or_default());
        node.drain(count);
        node.nodes += 1;
        Box::pin(self.push_child(level + 1, lower, pid)).await
    }

    /// Tells the level above of a finished node.
    async fn push_child(&mut self, level: usize, lower: Vec<u8>, pid: PageId) -> Result<()> {
        if level == self.levels.len() {
            self.levels.push(Level::new(Vec::new()));
        }
        let child = pid.to_le_bytes();
        if self.is_full(level, &lower, child.len()) {
            self.emit(level, Some(&lower)).await?;
        }
        self.levels[level].push(&lower, Value::inline(&child));
        Ok(())
    }

    /// Writes what is left and puts the tree together.
    ///
    /// # Errors
    /// `NotEmpty` when somebody has inserted meanwhile; `Io`, `Full`, `Poisoned`. The tree is
    /// empty, or as it was, then.
    pub async fn finish(mut self) -> Result<()> {
        let written = self.write_rest().await;
        let level = self.end_if_failed(written).await?;
        self.install(level).await
    }

    /// Writes all nodes but the top one; its level.
    async fn write_rest(&mut self) -> Result<usize> {
        let mut level = 0;
        // The last node of a level becomes a page of its own only if there are others beside it, or
        // it is too full.
        while level + 1 < self.levels.len() || !self.is_top(level) {
            while self.levels[level].pending.len() > 0 {
                self.emit(level, None).await?;
            }
            level += 1;
        }
        for run in [&mut self.leaves, &mut self.inners] {
            run.write(&self.claim).await?;
            run.finish_write().await?;
        }
        Ok(level)
    }

    /// Whether the pending entries of a level fit the root.
    fn is_top(&self, level: usize) -> bool {
        let count = self.levels[level].pending.len();
        self.levels[level].bytes(count, None) <= self.tree.store.pool.page_size()
    }

    /// Writes the top node into the tree's root page.
    async fn install(mut self, level: usize) -> Result<()> {
        let (store, shared) = (Arc::clone(&self.tree.store), Arc::clone(&self.tree.shared));
        // What the pool may hold of the pages' earlier lives.
        let pages = store.space().pages_of_load(self.claim.load);
        for pid in pages.into_iter().flat_map(Extent::pids) {
            store.pool.forget_patiently(pid).await;
        }
        loop {
            if store.is_crowded(Claim::Ordinary) {
                store.relieve(Claim::Ordinary).await?;
            }
            let _pass = store.writers.shared().await;
            store.check_writable()?;
            let root = store.pool.fix(shared.root, &store.io).await?;
            if store.is_crowded(Claim::Ordinary) {
                continue;
            }
            let Some(mut guard) = root.try_exclusive() else {
                drop(root);
                runtime::yield_now().await;
                continue;
            };
            let node = Node::new(guard.page());
            if !node.is_leaf() || node.count() > 0 {
                return Err(StorageError::NotEmpty(shared.id));
            }
            let top = &self.levels[level].pending;
            let identity = Identity::of(guard.page());
            let shape = Shape { level: level as u8, lower: b"", upper: None };
            let entries = (0..top.len()).map(|i| (top.key(i), top.value(i)));
            build(guard.page_mut(), identity, shape, entries);
            drop(guard);
            self.settle(level);
            return Ok(());
        }
    }

    /// The pages are part of the tree now.
    fn settle(&mut self, level: usize) {
        let (store, shared) = (&self.tree.store, &self.tree.shared);
        let below =
            |from: usize| self.levels[from..level.max(from)].iter().map(|l| l.nodes).sum::<u64>();
        shared.height.store(level as u32 + 1, Ordering::Relaxed);
        shared.leaf_pages.store(below(0) - below(1) + u64::from(level == 0), Ordering::Relaxed);
        shared.inner_pages.store(below(1) + u64::from(level > 0), Ordering::Relaxed);
        shared.entries.store(self.entry_count, Ordering::Relaxed);
        let unused: Vec<Extent> =
            [self.leaves.unused(), self.inners.unused()].into_iter().flatten().collect();
        store.space().end_load(self.claim.load, Some(&unused));
        self.claim.finished.store(true, Ordering::Relaxed);
        shared.overflow_pages.store(self.long.pages, Ordering::Relaxed);
        self.long.keep();
        store.mark_changed();
    }
}

impl Run {
    fn new(run_pages_max: u32) -> Run {
        let run_pages = FIRST_RUN_PAGES.min(run_pages_max);
        let extent = Extent { start: 0, pages: 0 };
        Run { extent, buffers: vec![], writing: None, filled: 0, run_pages, run_pages_max }
    }

    /// Number of the page that `page_mut` gives; begins a new run when this one is full.
    async fn next_page(&mut self, claim: &Arc<LoadClaim>) -> Result<PageId> {
        if self.filled == self.extent.pages {
            self.write(claim).await?;
            self.extent = claim.store.allocator.take_for_load(claim.load, self.run_pages).await?;
            self.filled = 0;
            let (pages, pool) = (self.run_pages as usize, &claim.store.pool);
            self.buffers = match &pool.map {
                Some(_) => (0..pages).map(|_| IoBuf::alloc(pool.page_size())).collect(),
                None => vec![IoBuf::alloc(pages * pool.page_size())],
            };
            self.run_pages = (2 * self.run_pages).min(self.run_pages_max);
        }
        Ok(self.extent.start + self.filled)
    }

    fn page_mut(&mut self, page_size: usize) -> &mut [u8] {
        let (at, len) = (self.filled as usize * page_size, self.buffers[0].len());
        &mut self.buffers[at / len].as_mut_slice()[at % len..][..page_size]
    }

    /// Begins to write the filled pages, by a task of its own: a loader that is dropped does not
    /// take back pages that are being written. Waits for the write before, so at most two runs are
    /// in memory.
    async fn write(&mut self, claim: &Arc<LoadClaim>) -> Result<()> {
        self.finish_write().await?;
        let mut buffers = std::mem::take(&mut self.buffers);
        if buffers.is_empty() {
            return Ok(());
        }
        let (claim, start, filled) = (Arc::clone(claim), self.extent.start, self.filled as usize);
        self.writing = Some(runtime::spawn(async move {
            let pool = &claim.store.pool;
            if let Some(map) = &pool.map {
                buffers.truncate(filled);
                return write_out_of_place(&claim.store, map, start, buffers).await;
            }
            let mut buffer = buffers.remove(0);
            buffer.truncate(filled * pool.page_size());
            let written = pool.file().write_all_at(buffer, pool.offset(start)).await.0;
            let written = written.map_err(|error| StorageError::io("write a bulk load", &error));
            written.inspect_err(|error| pool.after_failed_write(error))
        }));
        Ok(())
    }

    async fn finish_write(&mut self) -> Result<()> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        writing.await.unwrap_or(Err(StorageError::Stopped))
    }

    /// Pages that were taken and not filled.
    fn unused(&self) -> Option<Extent> {
        let Extent { start, pages } = self.extent;
        let left = pages - self.filled;
        (left > 0).then_some(Extent { start: start + self.filled, pages: left })
    }
}

/// Writes consecutive pages to new places. Those of pages that are dirty in the pool stay free for
/// them.
async fn write_out_of_place(
    store: &StoreInner,
    map: &PageMap,
    start: PageId,
    images: Vec<IoBuf>,
) -> Result<()> {
    let images: Vec<(Owner, IoBuf)> = (start..).map(Owner::Page).zip(images).collect();
    let owners: Vec<Owner> = images.iter().map(|(owner, _)| *owner).collect();
    let taken = store.take_places(map, &owners, Claim::Ordinary).await?;
    store.pool.write_taken(map, taken, images).await
}
