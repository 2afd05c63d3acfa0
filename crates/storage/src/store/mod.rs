//! A store: one file of trees, with its pool, its free space, its log and its checkpoints.

pub(crate) mod backup;
mod beside;
mod checkpoint;
mod cleaner;
mod convert;
pub(crate) mod draft;
pub(crate) mod members;
pub(crate) mod open;
pub(crate) mod placed;
pub(crate) mod progress;
mod reserve;
mod room;
mod settle;
pub(crate) mod undo_space;
pub(crate) mod verify;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use runtime::fs::{Durability, FileBackend};
use runtime::sync::{Semaphore, SemaphorePermit};
use runtime::{IoCounters, JoinHandle};

use crate::allocator::Allocator;
use crate::archive::position::{LogPosition, SegmentPlace};
use crate::archive::restore::Restored;
use crate::archive::{Archive, ArchiveOptions, ArchiveStatus};
use crate::directory::Directory;
use crate::error::{Result, StorageError};
use crate::extent::{Extent, merge};
use crate::gate::fair_lock::FairLock;
use crate::header::Header;
use crate::latch::ExclusiveGuard;
use crate::log::Log;
use crate::log::redo::Redo;
use crate::page::{self, Identity, PageId};
use crate::page_map::Claim;
use crate::places::Layout;
use crate::pool::{Pin, Pool, PoolStats};
use crate::space::Space;
use crate::store::progress::RecoveryProgress;
use crate::store::undo_space::UndoSpace;
use crate::syncs::Syncs;
use crate::tree::Tree;
use crate::tree::shared::TreeShared;
use crate::tree_id::TreeId;
use crate::volume::VolumeOptions;

/// Pages that [`Store::warm`] reads before it waits for them.
const WARM_AT_ONCE: usize = 4096;

/// How to open a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bytes of a page; a power of two from 4096 to 32768. Used by `create` only, an existing file
    /// keeps its own.
    pub page_size: u32,
    /// Memory for pages in bytes, at least 32 pages.
    pub pool_bytes: usize,
    /// Whether to bypass the kernel's page cache.
    pub direct: bool,
    /// Whether the file is to have a log, from its next checkpoint on. What one that it has already holds
    /// is read in any case.
    pub log: bool,
    /// How frames of the log become durable. By default with `RWF_DSYNC` where the file is direct and on a
    /// file system that is known to heed it (`File::heeds_dsync`), else by a sync.
    pub log_durability: Option<Durability>,
    /// Where pages lie. Used by `create` only, an existing file keeps its own.
    pub layout: Layout,
    /// How much of the extents of a file whose pages lie out of place is to be pages, in percent,
    /// so that not more is rewritten than that takes.
    pub fill_percent: u32,
    /// Where what becomes of the file is archived. Only a file with a log is.
    pub archive: Option<ArchiveOptions>,
    /// Which files or devices the database lies on besides the one that it is opened by.
    pub volume: VolumeOptions,
    /// The file is only read, and stays as it is: what is written, recovery included, goes to a
    /// scratch file that is gone with the store.
    pub unchanged: bool,
    /// A [`Follower`](crate::Follower) has the file, and its lock: it stays as it was when it was
    /// opened. Only with `unchanged`.
    pub followed: bool,
    /// True if the file keeps some space free, on a full disk too, for what frees space
    /// ([`Store::spend_reserve`]).
    pub reserve: bool,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            page_size: page::PAGE_SIZE_MIN,
            pool_bytes: 64 << 20,
            direct: true,
            log: false,
            log_durability: None,
            layout: Layout::InPlace,
            fill_percent: 60,
            archive: None,
            volume: VolumeOptions::default(),
            unchanged: false,
            followed: false,
            reserve: false,
        }
    }
}

/// A file of trees. Clones share it.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<StoreInner>,
}

/// The turn of one checkpoint: others, and backups, wait until it has settled.
#[must_use = "the turn passes on when this is dropped"]
pub struct CheckpointTurn {
    _permit: SemaphorePermit,
}

/// A checkpoint whose point has passed. It goes on when this is dropped.
#[must_use = "whoever wants the checkpoint waits for its end"]
pub struct Underway(Option<JoinHandle<Result<()>>>);

impl Underway {
    /// Waits until the checkpoint is durable.
    ///
    /// # Errors
    /// `Io` when it could not be written: the store is poisoned then. What was logged is durable all the same.
    pub async fn ended(self) -> Result<()> {
        match self.0 {
            Some(task) => task.await.unwrap_or(Err(StorageError::Stopped)),
            None => Ok(()),
        }
    }
}

pub(crate) struct StoreInner {
    pub pool: Arc<Pool>,
    pub allocator: Arc<Allocator>,
    pub trees: Mutex<BTreeMap<TreeId, Arc<TreeShared>>>,
    next_tree: AtomicU32,
    pub(crate) catalog: TreeId,
    /// Whoever changes pages passes together, a checkpoint alone.
    pub writers: FairLock,
    /// Whoever changes inner nodes passes alone: the bound on pins that are held while waiting.
    pub structure: FairLock,
    /// Of the file: those of the log go beside those of checkpoints.
    syncs: Syncs,
    /// What is durable before the next checkpoint.
    log: Log,
    archive: Option<Arc<Archive>>,
    /// Of the checkpoint that is made, or whose images are put in their places.
    settling: Semaphore,
    /// Of the cleaner, which has the turn of a checkpoint then.
    cleaning: Semaphore,
    /// Of a checkpoint between its point and its header, whose pages are of none that is known.
    headless: Semaphore,
    /// The directory differs from the last checkpoint's.
    changed: AtomicBool,
    /// The header that the file holds now.
    header: Mutex<Header>,
    /// Its directory.
    directory: Mutex<Arc<Directory>>,
    /// Frames that recovery has found behind the point of a checkpoint without a header.
    frames_behind: u64,
    /// Reads and waits of changes, which are nobody's query.
    pub io: IoCounters,
}

impl Store {
    /// Creates a file with an empty catalog tree.
    ///
    /// # Errors
    /// `Io` when the file exists or cannot be made, `Option` for a bad page size or too small a
    /// pool.
    pub async fn create(path: &Path, options: StoreOptions) -> Result<Store> {
        open::create(path, &options).await
    }

    /// Opens a file in the state of its last completed checkpoint.
    ///
    /// # Errors
    /// `Io`, `Locked`, `NotADatabase`, `NewerVersion`, `Truncated`, `Corrupt`, `Option`.
    pub async fn open(path: &Path, options: StoreOptions) -> Result<Store> {
        Store::open_watched(path, options, &Arc::default()).await
    }

    /// The same, while somebody looks how far recovery has come.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn open_watched(
        path: &Path,
        options: StoreOptions,
        progress: &Arc<RecoveryProgress>,
    ) -> Result<Store> {
        open::open(path, &options, progress).await
    }

    /// Makes everything done so far durable, atomically: after a crash the file holds the state of
    /// the last completed checkpoint, whole. Runs to its end even when the caller is dropped.
    ///
    /// # Errors
    /// `Io` when the disk is full (`StorageError::is_disk_full`): nothing is durable, nothing is
    /// lost, and it may be tried again. `Io` when a write or sync failed otherwise: the store is
    /// poisoned then. `Poisoned` when it already was.
    pub async fn checkpoint(&self) -> Result<()> {
        self.checkpoint_without(Redo::default()).await?;
        self.settled().await
    }

    /// Waits until the last checkpoint is durable and its pages are in their places.
    ///
    /// # Errors
    /// `Poisoned` when they cannot be written there.
    pub async fn settled(&self) -> Result<()> {
        let _settled = self.inner.settling.acquire().await;
        self.check_writable()
    }

    /// Writes what has changed in the pool, while it changes on: the next checkpoint has less to write.
    ///
    /// # Errors
    /// As `checkpoint`.
    pub async fn flush(&self) -> Result<()> {
        self.inner.pool.flush().await
    }

    /// The same as `checkpoint`, without changes that have been made in trees and are not to last yet: after
    /// a crash the entries that `replaced` names are what it says, unless something that is logged later says
    /// otherwise ([`Store::log`]). It is durable then; its pages go to their places while others change
    /// trees again, and the next checkpoint waits for that.
    ///
    /// # Errors
    /// As `checkpoint`.
    pub async fn checkpoint_without(&self, replaced: Redo) -> Result<()> {
        let turn = self.checkpoint_turn().await;
        self.checkpoint_in_turn(turn, replaced).await
    }

    /// Makes changes durable that have been made in trees which the last checkpoint has as a whole, all or
    /// none: after a crash the file holds them on top of it. A tree that was made, or filled by a load,
    /// while that checkpoint ran is none of these. They are logged in the order in which they were made, by
    /// one caller at a time, and not before a checkpoint that runs has come to its point
    /// ([`Store::begin_checkpoint`]). Runs to its end even when the caller is dropped.
    ///
    /// # Errors
    /// `Io` when a write or sync failed: the store is poisoned then. `Poisoned` when it already was.
    ///
    /// # Panics
    /// When the changes are more than [`Store::log_room`].
    pub async fn log(&self, redo: Redo) -> Result<()> {
        let inner = Arc::clone(&self.inner);
        let logged = runtime::spawn(async move {
            inner.check_writable()?;
            let logged = inner.log.append(&redo).await;
            let frame = logged.inspect_err(|error| inner.pool.set_poison(error))?;
            inner.archive.iter().for_each(|archive| archive.push(frame.bytes()));
            Ok(())
        });
        logged.await.unwrap_or(Err(StorageError::Stopped))
    }

    /// Bytes of changes ([`Redo::len`]) that can be logged before the next checkpoint, at least: less
    /// 40 for each call.
    pub fn log_room(&self) -> usize {
        self.inner.log.room()
    }

    /// The folder of its archive, if it has one.
    pub fn archive_folder(&self) -> Option<PathBuf> {
        self.inner.archive.as_ref().map(|archive| archive.folder().clone())
    }

    /// The line of its archive, where what is committed now goes; 0: there is none.
    pub fn archive_line(&self) -> u64 {
        self.inner.archive.as_ref().map_or(0, |archive| archive.line())
    }

    /// The end of what is synced of its archive; none while nothing is archived.
    pub fn archived_to(&self) -> Option<SegmentPlace> {
        self.inner.archive.as_ref().and_then(|archive| archive.place())
    }

    /// How far the file is: what is durable of it.
    pub fn log_position(&self) -> LogPosition {
        let bytes = self.inner.log.usage().0 as u64;
        LogPosition { checkpoint: self.checkpoint_number(), bytes }
    }

    /// Bytes of the log since the last checkpoint, and those that it may have.
    pub fn log_usage(&self) -> (usize, usize) {
        self.inner.log.usage()
    }

    /// The last commit: number of the checkpoint, commits that are logged behind it, and its time in
    /// microseconds since 1970.
    pub fn position(&self) -> Restored {
        let (next, time) = self.inner.log.position();
        Restored { checkpoint: next.checkpoint, frames: next.sequence, time }
    }

    /// Commits that were found when the file was opened, behind the point of a checkpoint that had not become
    /// durable.
    pub fn recovered_behind(&self) -> u64 {
        self.inner.frames_behind
    }

    /// How far the archive has come, if there is one.
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        self.inner.archive.as_ref().map(|archive| archive.status())
    }

    /// Waits until the archive has all that is durable, or has failed to take it.
    pub async fn archived(&self) {
        if let Some(archive) = &self.inner.archive {
            archive.flush().await.ok();
        }
    }

    /// Whether the store still takes changes.
    ///
    /// # Errors
    /// `Poisoned`, with the reason.
    pub fn check_writable(&self) -> Result<()> {
        self.inner.check_writable()
    }

    /// Nothing of what has changed since the last checkpoint is ever to become durable: the store
    /// writes no more, and the file has to be opened again. For changes that have failed in the
    /// middle and cannot be undone.
    pub fn give_up(&self, cause: &str) {
        self.inner.pool.give_up(cause);
    }

    /// Whether the old pages that have changed are as many as a quarter of the pool's frames: from
    /// then on they are written to the double-write buffer when there is no room for them, and once more by the
    /// checkpoint.
    pub fn needs_checkpoint(&self) -> bool {
        let pool = &self.inner.pool;
        let needed = pool.map.as_ref().map_or(0, |map| map.kept_beyond_a_part());
        pool.kept() + pool.double_write.len() + needed >= pool.frame_count() / 4
    }

    /// The tree of the catalog: keys and values are its user's business.
    pub fn catalog(&self) -> Tree {
        let trees = self.inner.trees();
        let shared = trees.get(&self.inner.catalog).expect("every store has a catalog tree");
        Tree::new(Arc::clone(&self.inner), Arc::clone(shared))
    }

    /// A tree by its number.
    ///
    /// # Errors
    /// `NoSuchTree`.
    pub fn tree(&self, id: TreeId) -> Result<Tree> {
        let trees = self.inner.trees();
        let shared = trees.get(&id).ok_or(StorageError::NoSuchTree(id))?;
        Ok(Tree::new(Arc::clone(&self.inner), Arc::clone(shared)))
    }

    /// All trees, the catalog included, in ascending order.
    pub fn tree_ids(&self) -> Vec<TreeId> {
        self.inner.trees().keys().copied().collect()
    }

    /// The number of the next tree: numbers rise, and none is used twice.
    pub fn next_tree_id(&self) -> TreeId {
        TreeId(self.inner.next_tree.load(Ordering::Relaxed))
    }

    /// Makes an empty tree. Durable with the next checkpoint, and gone without a trace if there is
    /// none.
    ///
    /// # Errors
    /// `Full`, `Poisoned`.
    pub async fn create_tree(&self) -> Result<TreeId> {
        let id = TreeId(self.inner.next_tree.fetch_add(1, Ordering::Relaxed));
        self.inner.create_tree(id).await?;
        Ok(id)
    }

    /// Drops a tree. Its pages are used again after the next checkpoint, and not before every
    /// handle is gone.
    ///
    /// # Errors
    /// `NoSuchTree`; `Io`, `Corrupt` when an inner node cannot be read, the tree stays then.
    pub async fn drop_tree(&self, id: TreeId) -> Result<()> {
        let tree = self.tree(id)?;
        if id == self.inner.catalog {
            return Err(StorageError::Option("the catalog tree cannot be dropped"));
        }
        let _pass = self.inner.writers.shared().await;
        self.inner.check_writable()?;
        let _structure = self.inner.structure.exclusive().await;
        let extents = merge(tree.pages(&self.inner.io).await?);
        let shared = self.inner.trees().remove(&id).ok_or(StorageError::NoSuchTree(id))?;
        shared.mark_dropped();
        self.inner.space().bury(extents, shared);
        self.inner.mark_changed();
        Ok(())
    }

    /// Counts of the pool's frames by state.
    pub fn pool(&self) -> PoolStats {
        self.inner.pool.stats()
    }

    /// Whether batches of keys overlap what they wait for, memory included; they do from the start. Off, each
    /// key waits for its own, which is there to be compared with.
    pub fn set_interleaved(&self, on: bool) {
        self.inner.pool.set_interleaved(on);
    }

    /// Frames of the buffer pool: cheaper to know than [`Store::pool`].
    pub fn frame_count(&self) -> usize {
        self.inner.pool.frame_count()
    }

    /// Pages in the buffer pool: cheaper to know than [`Store::pool`].
    pub fn cached_pages(&self) -> usize {
        self.inner.pool.cached_pages()
    }

    /// Pages of the file and pages of it that are free now.
    pub fn page_counts(&self) -> (u32, u64) {
        let space = self.inner.space();
        (space.page_count(), space.free_pages())
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.inner.pool.page_size()
    }

    /// How requests for the file travel: which ring, and whether the page cache is bypassed.
    pub fn backend(&self) -> &FileBackend {
        self.inner.pool.backend()
    }

    /// Evicts all clean pages, for cold runs. Call `checkpoint` before: dirty pages stay.
    pub async fn drop_cache(&self) {
        let _settled = self.inner.pool.writing.exclusive().await;
        self.inner.pool.drop_clean();
    }

    /// Reads pages with these bytes of the file into the pool, as far as there are free frames, and waits for them: a
    /// cache of a known state, for measurements. A page that cannot be read stays where it is.
    pub async fn warm(&self, places: &[std::ops::Range<u64>]) {
        let bytes = self.page_size() as u64;
        let pages = places.iter().flat_map(|p| p.start / bytes..p.end.div_ceil(bytes));
        let mut pages = pages.map(|page| page as PageId).peekable();
        while pages.peek().is_some() {
            self.inner.pool.prefetch(pages.by_ref().take(WARM_AT_ONCE), &self.inner.io);
            self.inner.pool.finish_loads().await;
        }
    }

    /// Takes frames of the pool back, and writes their pages, so many at a time: 64 by default, the most.
    /// With 1 nothing is written in advance, and whoever needs a frame waits for the write ("io_uring for
    /// High-Performance DBMSs", section 3.3.1). A control for measurements.
    pub fn write_in_batches_of(&self, pages: usize) {
        self.inner.pool.write_in_batches_of(pages);
    }

    /// Number of the last completed checkpoint.
    pub fn checkpoint_number(&self) -> u64 {
        self.inner.header.lock().expect("header").checkpoint
    }

    /// Waits until no read, write or change that has begun is in progress.
    pub async fn quiesce(&self) {
        let _settled = self.inner.settling.acquire().await;
        let _no_writers = self.inner.writers.exclusive().await;
        self.inner.pool.finish_loads().await;
        let _no_writes = self.inner.pool.writing.exclusive().await;
        self.archived().await;
    }

    /// Waits for quiet and lets go of the file, unless another clone of the store or a tree of it
    /// lives on. What no checkpoint has covered is lost.
    pub async fn close(self) {
        self.quiesce().await;
    }
}

impl StoreInner {
    pub fn space(&self) -> MutexGuard<'_, Space> {
        self.allocator.space()
    }

    pub fn trees(&self) -> MutexGuard<'_, BTreeMap<TreeId, Arc<TreeShared>>> {
        self.trees.lock().expect("trees")
    }

    /// The directory has to be written by the next checkpoint.
    pub fn mark_changed(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// `Poisoned` after a failed write.
    pub fn check_writable(&self) -> Result<()> {
        self.pool.poison().map_or(Ok(()), Err)
    }

    /// Takes a page out of its tree, for good: marks it, and lets its place be used again after the
    /// next checkpoint.
    pub fn free_page(&self, guard: &mut ExclusiveGuard<'_>) {
        let Identity { pid, epoch, .. } = Identity::of(guard.page());
        page::clear(guard.page_mut(), pid, epoch);
        self.space().release(Extent { start: pid, pages: 1 });
        self.mark_changed();
    }

    async fn create_tree(self: &Arc<Self>, id: TreeId) -> Result<()> {
        let _pass = self.writers.shared().await;
        self.check_writable()?;
        self.reserve(1).await?;
        let page = NewPage::make(self, Claim::Ordinary, None).await?;
        let identity = Identity { pid: page.pid(), tree: id.0, epoch: self.pool.epoch() };
        while !page.pin().change(|bytes| crate::node::build_empty(bytes, identity)) {
            runtime::yield_now().await;
        }
        let root = page.keep();
        self.trees().insert(id, Arc::new(TreeShared::empty(id, root)));
        self.mark_changed();
        Ok(())
    }
}

/// A page that has been allocated and made, and becomes part of something or is given back.
pub(crate) struct NewPage<'s> {
    store: &'s Arc<StoreInner>,
    pid: PageId,
    pin: Option<Pin<'s>>,
}

impl<'s> NewPage<'s> {
    /// Allocates a page, one of those that are `held` if there are some. It is a free one until its
    /// owner makes something of it: somebody who knew it in an earlier life may look at it now.
    ///
    /// # Errors
    /// `Full`, `Io` when the disk is full, `Poisoned`.
    pub async fn make(
        store: &'s Arc<StoreInner>,
        claim: Claim,
        held: Option<&UndoSpace>,
    ) -> Result<NewPage<'s>> {
        store.pool.reserve_places(1, store.claim(claim)).await?;
        let taken = match held.and_then(|held| held.take(1)) {
            Some(taken) => taken,
            None => {
                let keep = store.keep_of(claim);
                store.allocator.take_by(|space, held| space.take(1, held, keep)).await?
            }
        };
        let pid = taken.start;
        let mut page = NewPage { store, pid, pin: None };
        let born = store.pool.epoch();
        page.pin = Some(store.pool.create(pid, |bytes| page::clear(bytes, pid, born)).await?);
        Ok(page)
    }

    pub fn pid(&self) -> PageId {
        self.pid
    }

    pub fn pin(&self) -> &Pin<'s> {
        self.pin.as_ref().expect("a new page is pinned")
    }

    /// The page is part of a tree now.
    pub fn keep(self) -> PageId {
        let pid = self.pid;
        let mut this = std::mem::ManuallyDrop::new(self);
        this.pin = None;
        pid
    }
}

impl Drop for NewPage<'_> {
    fn drop(&mut self) {
        self.pin = None;
        let extent = Extent { start: self.pid, pages: 1 };
        let idle = self.store.pool.forget(self.pid);
        let mut space = self.store.space();
        if idle { space.give(extent) } else { space.release(extent) }
    }
}
