//! Taking frames back: second chance, clean pages at once, dirty ones after a batched write.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runtime::{IoBuf, JoinHandle};

use super::Pool;
use super::frame::PoolFrame;
use super::memory::Place;
use super::state::Attempt;
use crate::error::{Result, StorageError};
use crate::latch::SharedGuard;
use crate::page::{self, PageId};

/// Victims of one sweep: enough to make the sweep's lock and the batch's writes cheap per page.
pub(super) const SWEEP_FRAMES: usize = 64;

/// Frames that are free or coming are enough from so many times the low-water mark on.
const COMING_FACTOR: usize = 2;

/// Pages that are written at a time in advance of a checkpoint: a device is busy with them.
const FLUSHED_FRAMES: usize = 256;

impl Pool {
    /// Frames that are taken back, or written, together.
    fn write_batch(&self) -> usize {
        self.write_batch.load(Ordering::Relaxed)
    }

    /// Whether frames are taken back before somebody waits for them.
    pub(super) fn writes_in_advance(&self) -> bool {
        self.write_batch() > 1
    }

    /// Takes frames back, and writes, so many at a time, 1 to 64. With 1 nothing is written in advance:
    /// whoever needs a frame waits for the write of the page that leaves it.
    pub(crate) fn write_in_batches_of(&self, frames: usize) {
        self.write_batch.store(frames.clamp(1, SWEEP_FRAMES), Ordering::Relaxed);
    }

    /// A sweep in advance, when few frames are `left` and not enough are coming: it spares the next fixes
    /// the wait, and feeds prefetching. Twice around at most, as below; on the average the hand makes one
    /// or two steps for a frame.
    pub(super) fn replenish(self: &Arc<Self>, left: usize) {
        let ahead = left + self.free.coming();
        if self.writes_in_advance() && ahead < COMING_FACTOR * self.low_water {
            self.sweep(self.write_batch(), 2 * self.frames.len());
        }
    }

    /// A sweep because somebody waits: twice around, so that each page has had its second chance.
    pub(super) fn relieve(self: &Arc<Self>) {
        let Some(wanted) = self.free.wanted() else { return };
        let found = self.sweep(wanted.min(self.write_batch()), 2 * self.frames.len());
        if !found && let Some(error) = self.poison() {
            self.free.fail_all(&error);
        }
    }

    /// Moves the clock's hand until `wanted` frames are found or `steps_max` frames are passed.
    /// True when it found any.
    fn sweep(self: &Arc<Self>, wanted: usize, steps_max: usize) -> bool {
        let mut dirty = Vec::new();
        let mut freed = 0;
        let mut hand = self.hand.lock().expect("clock hand");
        for _ in 0..steps_max {
            if freed + dirty.len() >= wanted {
                break;
            }
            let frame = *hand;
            *hand = (*hand + 1) % self.frames.len() as u32;
            let state = &self.frames[frame as usize].state;
            let snapshot = state.snapshot();
            let stays = snapshot.is_kept() && self.double_write_is_stuck.load(Ordering::Relaxed);
            if !snapshot.is_idle() || stays {
                continue;
            }
            if snapshot.is_referenced() {
                state.clear_reference();
            } else if !snapshot.is_dirty() {
                freed += usize::from(self.evict(frame, false));
            } else if self.poison().is_none() && state.try_begin_write() {
                dirty.push(frame);
            }
        }
        drop(hand);
        let found = freed + dirty.len() > 0;
        if !dirty.is_empty() {
            self.free.expect(dirty.len());
            drop(runtime::spawn(write_back(Arc::clone(self), dirty, true)));
        }
        found
    }

    /// Begins to write a batch of changed old pages to the double-write buffer, such as were not used for a
    /// while first; `None` when all are in use or being written. They stay in the pool.
    pub(super) fn write_kept(self: &Arc<Self>) -> Option<JoinHandle<Result<()>>> {
        let wanted = (self.frames.len() / 8).min(self.write_batch());
        let mut victims = Vec::new();
        let mut hand = self.kept_hand.lock().expect("hand over changed old pages");
        for _ in 0..2 * self.frames.len() {
            let frame = *hand;
            *hand = (*hand + 1) % self.frames.len() as u32;
            let state = &self.frames[frame as usize].state;
            let snapshot = state.snapshot();
            if !snapshot.is_idle() || !snapshot.is_kept() {
                continue;
            }
            if snapshot.is_referenced() {
                state.clear_reference();
            } else if state.try_begin_write() {
                victims.push(frame);
                if victims.len() == wanted {
                    break;
                }
            }
        }
        drop(hand);
        let some = !victims.is_empty();
        some.then(|| runtime::spawn(write_back(Arc::clone(self), victims, false)))
    }

    /// Writes what is dirty now and idle when its turn comes, beside those who change pages: new pages to
    /// their places, old ones to the double-write buffer.
    ///
    /// # Errors
    /// `Io` when the disk is full; `Poisoned`.
    pub(crate) async fn flush(self: &Arc<Self>) -> Result<()> {
        let is_dirty = |frame: &u32| self.frames[*frame as usize].state.snapshot().is_dirty();
        let dirty: Vec<u32> = (0..self.frames.len() as u32).filter(is_dirty).collect();
        for frames in dirty.chunks(FLUSHED_FRAMES) {
            self.poison().map_or(Ok(()), Err)?;
            let begins = |frame: &u32| self.frames[*frame as usize].state.try_begin_write();
            let frames = frames.iter().copied().filter(begins).collect();
            let written = runtime::spawn(write_back(Arc::clone(self), frames, false)).await;
            written.unwrap_or(Err(StorageError::Stopped))?;
        }
        Ok(())
    }

    /// Takes the frame from its page, if nobody uses it. `dirty`: also if the page's changes are
    /// lost. The caller holds the hand, so frames do not change pages meanwhile.
    fn evict(&self, frame: u32, dirty: bool) -> bool {
        let PoolFrame { state, .. } = &self.frames[frame as usize];
        let pid = self.frames[frame as usize].pid();
        let shard = self.shard(pid);
        let was_dirty = state.snapshot();
        if !state.try_evict(dirty) {
            return false;
        }
        self.forget_dirty(was_dirty);
        self.translation.set(pid, Place::Absent);
        drop(shard);
        self.release_frame(frame);
        true
    }

    /// Drops whatever the pool holds of `pid`, changes included: the page is not part of anything
    /// any more. False when somebody still uses it.
    pub(crate) fn forget(&self, pid: PageId) -> bool {
        let _hand = self.hand.lock().expect("clock hand");
        match self.translation.get(pid) {
            Place::Absent => true,
            Place::Loading => false,
            Place::Frame(frame) => self.evict(frame, true),
        }
    }

    /// As `forget`, waiting for those who still use the page.
    pub(crate) async fn forget_patiently(&self, pid: PageId) {
        while !self.is_absent(pid) && !self.forget(pid) {
            runtime::yield_now().await;
        }
    }

    /// Evicts all clean pages that nobody uses.
    pub(crate) fn drop_clean(&self) {
        let _hand = self.hand.lock().expect("clock hand");
        for frame in 0..self.frames.len() as u32 {
            let snapshot = self.frames[frame as usize].state.snapshot();
            if snapshot.is_idle() && !snapshot.is_dirty() {
                self.evict(frame, false);
            }
        }
    }

    /// A sealed copy of a resident page and its version, or `None` while somebody changes it.
    pub(crate) fn image(&self, frame: u32) -> Option<(IoBuf, u64)> {
        let state = &self.frames[frame as usize].state;
        if state.try_pin_shared() != Attempt::Taken {
            return None;
        }
        let guard = SharedGuard { pool: self, frame, not_send: PhantomData };
        let version = state.snapshot().version();
        let mut copy = IoBuf::copy_of(guard.page());
        page::seal(copy.as_mut_slice(), self.frames[frame as usize].pid());
        Some((copy, version))
    }

    /// Writes sealed images to these pages of the file, consecutive ones in one request, all
    /// requests in flight together.
    pub(crate) async fn write_at_places(&self, mut images: Vec<(PageId, IoBuf)>) -> Result<()> {
        images.sort_by_key(|(pid, _)| *pid);
        let mut writes = Vec::new();
        let mut images = images.into_iter().peekable();
        while let Some((first, image)) = images.next() {
            let mut run = vec![image];
            while let Some((_, image)) =
                images.next_if(|(pid, _)| *pid as usize == first as usize + run.len())
            {
                run.push(image);
            }
            let (file, offset) = (self.file.clone(), self.offset(first));
            writes.push(runtime::spawn(
                async move { file.write_vectored_all_at(run, offset).await.0 },
            ));
        }
        let mut outcome = Ok(());
        for write in writes {
            let written = write.await.map_err(|_| StorageError::Stopped);
            let written = written.and_then(|r| r.map_err(|e| StorageError::io("write a page", &e)));
            outcome = outcome.and(written);
        }
        outcome.inspect_err(|error| self.after_failed_write(error))
    }
}

/// Writes dirty victims: new pages to their places, old ones to the double-write buffer. `evict`: frees those
/// that nobody has touched meanwhile.
async fn write_back(pool: Arc<Pool>, mut victims: Vec<u32>, evict: bool) -> Result<()> {
    victims.sort_unstable_by_key(|frame| pool.frames[*frame as usize].pid());
    let coming = if evict { victims.len() } else { 0 };
    let mut marks = Marks { pool: &pool, frames: victims, coming };
    let permit = pool.writing.shared().await;
    let (old, new) = batches(&pool, &marks.frames);
    let mut versions = vec![None; marks.frames.len()];
    let old_written = pool.write_old(old.images).await;
    if old_written.is_ok() {
        old.versions.into_iter().for_each(|(at, version)| versions[at] = Some(version));
    }
    let new_written = pool.write_images(new.images).await;
    if new_written.is_ok() {
        new.versions.into_iter().for_each(|(at, version)| versions[at] = Some(version));
    }
    for (frame, version) in std::mem::take(&mut marks.frames).into_iter().zip(versions) {
        let Some(before) = pool.frames[frame as usize].state.end_write(version) else { continue };
        pool.forget_dirty(before);
        if evict {
            let _hand = pool.hand.lock().expect("clock hand");
            pool.evict(frame, false);
        }
    }
    drop((marks, permit));
    match &new_written {
        // Otherwise they would try the same again and again.
        Err(error) if error.is_disk_full() => pool.free.fail_all(error),
        _ if pool.free.waiting() > 0 => pool.free.nudge(),
        _ => {}
    }
    old_written.and(new_written)
}

/// Sealed copies of pages that are to be written.
#[derive(Default)]
struct Batch {
    images: Vec<(PageId, IoBuf)>,
    /// Positions among the victims, and the versions that were copied.
    versions: Vec<(usize, u64)>,
}

/// Copies what is to be written: old pages, and new ones. A checkpoint may have come first, after
/// which a page is clean, or dirty again and old.
fn batches(pool: &Pool, frames: &[u32]) -> (Batch, Batch) {
    let (mut old, mut new) = (Batch::default(), Batch::default());
    for (at, &frame) in frames.iter().enumerate() {
        let PoolFrame { state, .. } = &pool.frames[frame as usize];
        let snapshot = state.snapshot();
        assert!(snapshot.is_writing(), "a write that was not announced");
        if snapshot.is_dirty()
            && let Some((copy, version)) = pool.image(frame)
        {
            let batch = if snapshot.is_kept() { &mut old } else { &mut new };
            batch.images.push((pool.frames[frame as usize].pid(), copy));
            batch.versions.push((at, version));
        }
    }
    (old, new)
}

impl Pool {
    /// Appends images of changed old pages to the double-write buffer, where they are found from then on.
    async fn write_old(&self, images: Vec<(PageId, IoBuf)>) -> Result<()> {
        if images.is_empty() {
            return Ok(());
        }
        let appended = self.append_to_double_write(images, true).await;
        let stuck = appended.as_ref().is_err_and(StorageError::is_disk_full);
        self.double_write_is_stuck.store(stuck, Ordering::Relaxed);
        appended
    }
}

/// Frames marked as being written; unmarked on drop, so that a stopped runtime leaves none behind.
struct Marks<'p> {
    pool: &'p Pool,
    frames: Vec<u32>,
    /// How many of them are awaited.
    coming: usize,
}

impl Drop for Marks<'_> {
    fn drop(&mut self) {
        self.pool.free.expect_no_more(self.coming);
        for frame in self.frames.drain(..) {
            self.pool.frames[frame as usize].state.end_write(None);
        }
    }
}

#[cfg(test)]
mod tests;
