//! The buffer pool: frames in one arena, a translation array, one atomic word per frame.
//!
//! Rules, states and transitions: `README.md` of this crate.

mod double_write;
mod evict;
mod frame;
mod free;
pub(crate) mod load;
pub(crate) mod memory;
mod near;
mod placed;
mod state;

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use runtime::fs::FileBackend;
use runtime::sync::Semaphore;
use runtime::{IoCounters, time};

use crate::allocator::Allocator;
use crate::error::{Damage, Result, StorageError};
use crate::gate::fair_lock::FairLock;
use crate::latch::{ExclusiveGuard, SharedGuard};
use crate::page::{self, PageId};
use crate::page_map::PageMap;
use crate::pool::load::RUN_PAGES_MAX;
use crate::volume::Volume;
use double_write::DoubleWrite;
use frame::PoolFrame;
use free::{FreeFrames, TakeFrame};
use load::{Load, LoadWait};
use memory::{PAGE_COUNT_MAX, Place, Region, Translation, Zeroable, ZeroedArray};
use state::{Attempt, Snapshot, Tag};

/// Fewest frames of a pool: a split pins up to nine, changed old pages may take three eighths.
pub const FRAME_COUNT_MIN: usize = 32;

/// Locks over the lists of loads: enough that two workers rarely meet at one.
const SHARD_COUNT: usize = 64;

/// Frames that prefetching leaves to fixes, at most: a few tasks' next steps.
const PREFETCH_RESERVE_MAX: usize = 16;

/// Free frames below which a sweep runs in advance, at most: two runs of pages.
const LOW_WATER_MAX: usize = 2 * RUN_PAGES_MAX;

/// The part of the pool's bytes that tables of shortcuts may take besides it. They take 17 to 51 bytes for a
/// leaf: a tree as large as the pool has one.
const SHORTCUTS_PART: usize = 64;

// Otherwise prefetching would give up for ever once the pool is full.
const _: () = assert!(PREFETCH_RESERVE_MAX < LOW_WATER_MAX, "a sweep in advance feeds prefetching");

type Loads = Vec<(PageId, Arc<Load>)>;

// SAFETY: two atomic integers; all zero is a free frame.
unsafe impl Zeroable for PoolFrame {}

/// The buffer pool of one file.
pub struct Pool {
    page_size: usize,
    file: Volume,
    arena: Arc<Region>,
    /// The same memory as rings register it.
    announced: Arc<runtime::Arena>,
    translation: Translation,
    frames: ZeroedArray<PoolFrame>,
    loads: Box<[Mutex<Loads>]>,
    free: FreeFrames,
    /// Where the clock stands. Whoever takes frames from pages holds it.
    hand: Mutex<u32>,
    /// Where the search for changed old pages stands.
    kept_hand: Mutex<u32>,
    /// Held by write-backs shared, by a checkpoint exclusively.
    pub(crate) writing: FairLock,
    /// Images of changed old pages.
    pub(crate) double_write: DoubleWrite,
    /// Of those who write changed old pages because they are many.
    relieving: Semaphore,
    /// Frames that are taken back together; a control for measurements.
    write_batch: AtomicUsize,
    /// There was no space for the double-write buffer: changed old pages stay until a writer finds some.
    double_write_is_stuck: AtomicBool,
    /// Gives out pages of the file.
    allocator: Arc<Allocator>,
    /// Where pages lie, if that is not their number.
    pub(crate) map: Option<Arc<PageMap>>,
    /// Frames that prefetching leaves to fixes.
    prefetch_reserve: usize,
    /// Below this many free frames a sweep runs in advance.
    low_water: usize,
    dirty: AtomicUsize,
    kept: AtomicUsize,
    /// The checkpoint interval that runs now.
    epoch: AtomicU64,
    poison: OnceLock<StorageError>,
    /// Whether searches of many keys overlap what they wait for.
    interleaved: AtomicBool,
    /// Bytes that tables of shortcuts may still take, besides the frames.
    pub(crate) shortcuts: Arc<AtomicUsize>,
}

/// Counts of frames by state, for reports and tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Frames of the pool.
    pub frames: usize,
    /// Frames without a page.
    pub free: usize,
    /// Frames whose page is being read or made.
    pub loading: usize,
    /// Frames with a page.
    pub resident: usize,
    /// Resident pages that differ from disk.
    pub dirty: usize,
    /// Dirty pages that may be written to the double-write buffer only before the next checkpoint.
    pub kept: usize,
    /// Pins held, over all pages.
    pub pins: u64,
    /// Tasks that wait for a free frame.
    pub waiting: usize,
}

/// Permission to stay: the page keeps its frame while a pin lives. A pin may be held across a
/// suspension, a latch may not.
pub(crate) struct Pin<'p> {
    pool: &'p Pool,
    frame: u32,
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        let after = self.pool.frames[self.frame as usize].state.unpin();
        self.pool.free.after_unpin(after);
    }
}

impl<'p> Pin<'p> {
    /// Latches the page exclusively, `None` when somebody else has it latched.
    pub fn try_exclusive(&self) -> Option<ExclusiveGuard<'p>> {
        if !self.pool.frames[self.frame as usize].state.try_exclusive() {
            return None;
        }
        let (pool, frame) = (self.pool, self.frame);
        // Made only now: dropping a guard releases the latch.
        Some(ExclusiveGuard { pool, frame, changed: false, not_send: PhantomData })
    }

    /// Changes the page; false, and nothing, when somebody else has it latched.
    pub fn change(&self, change: impl FnOnce(&mut [u8])) -> bool {
        let guard = self.try_exclusive();
        guard.map(|mut guard| change(guard.page_mut())).is_some()
    }
}

impl Pool {
    /// How the file's requests travel.
    pub(crate) fn backend(&self) -> &FileBackend {
        self.file.backend()
    }

    /// Gets ready for the pages that the file has.
    pub(crate) fn expect(&self, page_count: u32) {
        self.translation.expect(page_count);
    }

    /// A pool of `bytes` over `file`, all frames free.
    ///
    /// # Errors
    /// `Option` for fewer than [`FRAME_COUNT_MIN`] frames; `Io` when the address space cannot be
    /// reserved.
    pub(crate) fn new(
        file: Volume,
        (allocator, map): (Arc<Allocator>, Option<Arc<PageMap>>),
        page_size: u32,
        bytes: usize,
        epoch: u64,
    ) -> Result<Pool> {
        let page_size = page_size as usize;
        let frame_count = bytes / page_size;
        if frame_count < FRAME_COUNT_MIN {
            return Err(StorageError::Option("the buffer pool needs at least 32 pages"));
        }
        let count = u32::try_from(frame_count)
            .ok()
            .filter(|count| *count <= PAGE_COUNT_MAX)
            .ok_or(StorageError::Option("the buffer pool is too large"))?;
        let arena = Region::reserve(frame_count * page_size)?;
        arena.advise_huge();
        let arena = Arc::new(arena);
        // SAFETY: the region stays mapped, to the pages that it has got, until it is dropped, and the
        // announced arena owns it too.
        let announced =
            unsafe { runtime::Arena::new(arena.clone(), arena.at(0), frame_count * page_size) };
        Ok(Pool {
            page_size,
            file,
            arena,
            announced,
            translation: Translation::new()?,
            frames: ZeroedArray::new(frame_count)?,
            loads: (0..SHARD_COUNT).map(|_| Mutex::default()).collect(),
            free: FreeFrames::new(count),
            hand: Mutex::new(0),
            kept_hand: Mutex::new(0),
            writing: FairLock::new(),
            double_write: DoubleWrite::new(),
            relieving: Semaphore::new(double_write::RELIEF_BATCHES_MAX),
            write_batch: AtomicUsize::new(evict::SWEEP_FRAMES),
            double_write_is_stuck: AtomicBool::new(false),
            allocator,
            map,
            prefetch_reserve: (frame_count / 16).min(PREFETCH_RESERVE_MAX),
            low_water: (frame_count / 8).min(LOW_WATER_MAX),
            dirty: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            epoch: AtomicU64::new(epoch),
            poison: OnceLock::new(),
            interleaved: AtomicBool::new(true),
            shortcuts: Arc::new(AtomicUsize::new(bytes / SHORTCUTS_PART)),
        })
    }

    /// Runs `look` on the page's bytes under a shared latch, reading the page first when it is
    /// absent. Nothing is held when this returns, and nothing but the wanted page's pin while it
    /// waits.
    ///
    /// # Errors
    /// `Corrupt`, `Io` when the page cannot be read; `Poisoned` when no frame can be freed any
    /// more.
    #[inline]
    pub(crate) async fn read<R>(
        self: &Arc<Self>,
        pid: PageId,
        io: &IoCounters,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        loop {
            if let Some(guard) = self.try_shared(pid) {
                return Ok(look(guard.page()));
            }
            let pin = self.fix(pid, io).await?;
            if let Some(guard) = self.try_shared(pid) {
                return Ok(look(guard.page()));
            }
            runtime::yield_now().await;
            drop(pin);
        }
    }

    /// Pins and latches a resident page.
    #[inline]
    fn try_shared(&self, pid: PageId) -> Option<SharedGuard<'_>> {
        self.try_shared_in(self.frame_of(pid)?, pid)
    }

    /// The same for a page that may be in this frame.
    #[inline]
    fn try_shared_in(&self, frame: u32, pid: PageId) -> Option<SharedGuard<'_>> {
        // Pinning waits for the state word, and nothing else begins before it has come.
        self.hint_lines(frame);
        let slot = &self.frames[frame as usize];
        if slot.state.try_pin_shared() != Attempt::Taken {
            return None;
        }
        let guard = SharedGuard { pool: self, frame, not_send: PhantomData };
        // The frame may have gone to another page between the two looks.
        (slot.pid() == pid).then_some(guard)
    }

    /// Pins a page, reading it first when it is absent. A wait is counted to `io`, and so is the
    /// read if this call starts it.
    ///
    /// # Errors
    /// As [`Pool::read`].
    pub(crate) async fn fix(self: &Arc<Self>, pid: PageId, io: &IoCounters) -> Result<Pin<'_>> {
        if !(2..PAGE_COUNT_MAX).contains(&pid) {
            let reason = Damage::Misplaced("a reference to a page that cannot be");
            return Err(StorageError::Corrupt { pid, reason });
        }
        loop {
            if let Some(pin) = self.try_pin(pid) {
                return Ok(pin);
            }
            if let Some(wait) = self.join_load(pid, io) {
                let begin = time::now();
                let outcome = wait.await;
                io.add_wait(time::now().as_ns().saturating_sub(begin.as_ns()));
                return outcome;
            }
        }
    }

    /// Runs `look` on a pinned page, which may have to wait for whoever changes it.
    pub(crate) async fn look<R>(&self, pin: &Pin<'_>, look: impl FnOnce(&[u8]) -> R) -> R {
        let frame = pin.frame;
        while self.frames[frame as usize].state.try_pin_shared() != Attempt::Taken {
            runtime::yield_now().await;
        }
        look(SharedGuard { pool: self, frame, not_send: PhantomData }.page())
    }

    fn try_pin(&self, pid: PageId) -> Option<Pin<'_>> {
        let Place::Frame(frame) = self.translation.get(pid) else { return None };
        let slot = &self.frames[frame as usize];
        if slot.state.try_pin() != Attempt::Taken {
            return None;
        }
        let pin = Pin { pool: self, frame };
        (slot.pid() == pid).then_some(pin)
    }

    /// Joins the load of an absent page, starting it when there is none; `None` when the page has
    /// arrived meanwhile.
    fn join_load(self: &Arc<Self>, pid: PageId, io: &IoCounters) -> Option<LoadWait<'_>> {
        let mut loads = self.shard(pid);
        match self.translation.get(pid) {
            Place::Frame(_) => None,
            Place::Loading => {
                let load = loads.iter().find(|(other, _)| *other == pid);
                Some(load.expect("a loading page has a load").1.join(self))
            }
            Place::Absent => {
                let load = Load::new();
                let wait = load.join(self);
                loads.push((pid, Arc::clone(&load)));
                self.translation.set(pid, Place::Loading);
                drop(loads);
                self.spawn_load(pid, load, io);
                Some(wait)
            }
        }
    }

    /// Makes a new page, dirty and pinned, without reading anything. Whatever the pool holds of an
    /// earlier life of the page is forgotten first; readers that came too late hold it for a moment
    /// only.
    ///
    /// # Errors
    /// `Poisoned` when no frame can be freed any more.
    pub(crate) async fn create(
        self: &Arc<Self>,
        pid: PageId,
        init: impl FnOnce(&mut [u8]),
    ) -> Result<Pin<'_>> {
        loop {
            assert!(!self.is_old(pid), "page {pid} is made again while it is old");
            self.forget_patiently(pid).await;
            let frame = TakeFrame::new(self).await?;
            let shard = self.shard(pid);
            if self.translation.get(pid) != Place::Absent {
                drop(shard);
                self.release_frame(frame);
                continue;
            }
            // SAFETY: the frame is Loading and known to this call only.
            init(unsafe { self.frame_bytes_mut(frame) });
            self.dirty.fetch_add(1, Ordering::Relaxed);
            self.frames[frame as usize].install(pid, 1, true);
            self.translation.set(pid, Place::Frame(frame));
            drop(shard);
            return Ok(Pin { pool: self, frame });
        }
    }

    /// Brings the translation entry of a page closer.
    #[inline]
    pub(crate) fn hint_entry(&self, pid: PageId) {
        self.translation.prefetch(pid);
    }

    /// Whether the page would have to be read.
    #[inline]
    pub(crate) fn is_absent(&self, pid: PageId) -> bool {
        self.translation.get(pid) == Place::Absent
    }

    fn shard(&self, pid: PageId) -> MutexGuard<'_, Loads> {
        self.loads[pid as usize % SHARD_COUNT].lock().expect("list of loads")
    }

    /// Takes a free frame without waiting, sweeping in advance when few are left.
    fn take_free_frame(self: &Arc<Self>, reserve: usize) -> Option<u32> {
        let taken = self.free.try_take(reserve);
        let left = taken.map_or(0, |(_, left)| left);
        if left < self.low_water {
            self.replenish(left);
        }
        let (frame, _) = taken.or_else(|| self.free.try_take(reserve))?;
        self.frames[frame as usize].state.begin_loading();
        Some(frame)
    }

    /// Gives a frame without a page back.
    fn release_frame(&self, frame: u32) {
        self.frames[frame as usize].state.release();
        self.free.put(frame);
    }

    #[inline]
    pub(crate) fn release_shared(&self, frame: u32) {
        let after = self.frames[frame as usize].state.unpin_shared();
        self.free.after_unpin(after);
    }

    pub(crate) fn release_exclusive(&self, frame: u32, changed: bool) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let mut keep = false;
        if changed {
            // SAFETY: the exclusive latch is held until `release_exclusive` below.
            let bytes = unsafe { self.frame_bytes_mut(frame) };
            page::set_epoch(bytes, epoch);
            keep = self.map.is_none() && page::born(bytes) < epoch;
        }
        let before = self.frames[frame as usize].state.release_exclusive(changed, keep);
        if changed && !before.is_dirty() {
            self.dirty.fetch_add(1, Ordering::Relaxed);
        }
        if changed && keep && !before.is_kept() {
            self.kept.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn forget_dirty(&self, before: Snapshot) {
        self.dirty.fetch_sub(usize::from(before.is_dirty()), Ordering::Relaxed);
        self.kept.fetch_sub(usize::from(before.is_kept()), Ordering::Relaxed);
    }

    /// The bytes of a frame.
    ///
    /// # Safety
    /// The caller holds a latch on the frame, or is its load.
    #[inline]
    pub(crate) unsafe fn frame_bytes(&self, frame: u32) -> &[u8] {
        let address = self.arena.at(frame as usize * self.page_size);
        // SAFETY: the frame lies within the arena, and by the contract nobody writes to it now.
        unsafe { std::slice::from_raw_parts(address.as_ptr(), self.page_size) }
    }

    /// The bytes of a frame, to be changed.
    ///
    /// # Safety
    /// The caller holds the exclusive latch on the frame, or is its load.
    #[expect(clippy::mut_from_ref, reason = "the latch, not the borrow, makes access exclusive")]
    pub(crate) unsafe fn frame_bytes_mut(&self, frame: u32) -> &mut [u8] {
        let address = self.arena.at(frame as usize * self.page_size);
        // SAFETY: the frame lies within the arena, and by the contract nobody else looks at it now.
        unsafe { std::slice::from_raw_parts_mut(address.as_ptr(), self.page_size) }
    }

    /// Offset of a page in the file.
    pub(crate) fn offset(&self, pid: PageId) -> u64 {
        u64::from(pid) * self.page_size as u64
    }

    /// Bytes of a page.
    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }

    /// The file below.
    pub(crate) fn file(&self) -> &Volume {
        &self.file
    }

    /// How far ahead a task may read: not so far that a small pool drops pages before they are used.
    pub(crate) fn window(&self, pages_max: usize) -> usize {
        pages_max.min(self.frames.len() / 4)
    }

    /// Number of frames.
    pub(crate) fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// Whether changed old pages take so much of the pool that none more may be changed. Three
    /// eighths leave room for the pins of a split in the smallest pool, and frames for readers
    /// while there is no space for the double-write buffer.
    pub(crate) fn is_crowded(&self) -> bool {
        self.kept() >= self.frames.len() * 3 / 8
    }

    /// The same for what undoes changes, which cannot be refused: a quarter is left for readers and
    /// new pages.
    pub(crate) fn is_overcrowded(&self) -> bool {
        self.kept() >= self.frames.len() * 3 / 4
    }

    /// From so many changed old pages on they are written to the double-write buffer in advance.
    fn kept_high_water(&self) -> usize {
        self.frames.len() / 4
    }

    /// Dirty pages that may not be written to their places before the next checkpoint.
    pub(crate) fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// All dirty frames with their pages; `true` for those that the last checkpoint reaches.
    pub(crate) fn dirty_frames(&self) -> Vec<(PageId, u32, bool)> {
        let mut dirty = Vec::new();
        for (frame, slot) in self.frames.iter().enumerate() {
            let snapshot = slot.state.snapshot();
            if snapshot.is_dirty() {
                assert_eq!(snapshot.tag(), Tag::Resident, "a dirty frame holds a page");
                dirty.push((slot.pid(), frame as u32, snapshot.is_kept()));
            }
        }
        dirty
    }

    /// A checkpoint has made the page of `frame` safe.
    pub(crate) fn mark_clean(&self, frame: u32) {
        let state = &self.frames[frame as usize].state;
        self.forget_dirty(state.snapshot());
        state.clear_dirty();
        if self.free.waiting() > 0 {
            self.free.nudge();
        }
    }

    /// Checkpoint interval that runs now.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    pub(crate) fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// A full disk takes nothing of what it held: the same may be written again. After any other
    /// failure nothing more is written.
    pub(crate) fn after_failed_write(&self, error: &StorageError) {
        if !error.is_disk_full() {
            self.set_poison(error);
        }
    }

    /// Remembers the first failed write or sync: nothing is written after it.
    pub(crate) fn set_poison(&self, error: &StorageError) {
        let cause = StorageError::Poisoned(error.to_string());
        self.poison.get_or_init(|| cause);
    }

    /// Nothing is written any more, for a reason that is none of the file's.
    pub(crate) fn give_up(&self, cause: &str) {
        self.poison.get_or_init(|| StorageError::Poisoned(cause.to_owned()));
    }

    /// The error of a store that may not write any more.
    pub(crate) fn poison(&self) -> Option<StorageError> {
        self.poison.get().cloned()
    }

    /// Counts frames by state.
    /// Frames that have a page, those on their way included.
    pub(crate) fn cached_pages(&self) -> usize {
        self.frames.len() - self.free.len().min(self.frames.len())
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let mut stats = PoolStats {
            frames: self.frames.len(),
            waiting: self.free.waiting(),
            ..PoolStats::default()
        };
        for slot in self.frames.iter() {
            let snapshot = slot.state.snapshot();
            match snapshot.tag() {
                Tag::Free => stats.free += 1,
                Tag::Loading => stats.loading += 1,
                Tag::Resident | Tag::Evicting => stats.resident += 1,
            }
            stats.dirty += usize::from(snapshot.is_dirty());
            stats.kept += usize::from(snapshot.is_kept());
            stats.pins += snapshot.pins();
        }
        stats
    }
}
