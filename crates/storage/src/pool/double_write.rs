//! The double-write buffer: where images of changed old pages are written before their places may be.
//!
//! A page that the last checkpoint reaches may not be written to its place before the next one. When
//! such pages crowd the pool, their images are appended here, and are read from here when they are
//! wanted again. The double-write buffer is a run of pages that the last checkpoint does not reach. The next one
//! appends the changed old pages that are still in the pool, and with that the run is the double-write buffer
//! which its header names (`docs/format/file.md`, section 2). Of several images of one page the last
//! counts.
//!
//! Several batches may be under way: each takes its places in the run before it is written. One that
//! could not be written leaves a gap if others follow it, and then what counts is copied to another run
//! before a header names any: a gap holds no images.
//!
//! Once that header is durable its images are put in their places, while pages change again: then there
//! are two generations of images, and the newer one is another run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard};

use runtime::IoBuf;
use runtime::sync::Semaphore;

use super::Pool;
use crate::error::{Result, StorageError};
use crate::extent::Extent;
use crate::gate::fair_lock::{FairGuard, FairLock};
use crate::header;
use crate::page::{self, PageId};

/// Images in memory at a time: 1 MiB of 4 KiB pages.
const CHUNK_PAGES: usize = 256;

/// Batches of changed old pages that are written at a time because they are many: a batch of 64 takes one
/// to two milliseconds, in which 128 transactions change twice as many pages and more.
pub(super) const RELIEF_BATCHES_MAX: usize = 4;

/// Attempts at a read: more than elsewhere, since a checkpoint that cannot read its double-write buffer has to be
/// finished by opening the file again.
const READ_ATTEMPTS_MAX: u32 = 5;

/// Pages by which a double-write buffer grows ahead of need, at least and at most. A large one doubles: if it
/// has to move, its images are copied.
const SPARE_PAGES_MIN: u32 = 64;
const SPARE_PAGES_MAX: u32 = 16 * 1024;

/// The images that were written since the last checkpoint.
pub(crate) struct DoubleWrite {
    taken: Mutex<Taken>,
    /// Of the one who takes places, or lets the run have room.
    turn: Semaphore,
    /// Batches that are being written pass together. Who copies the images to another run passes alone:
    /// it has to find all of them.
    flights: FairLock,
    away: RwLock<Away>,
    /// Reads of images that are under way, of even generations and of odd ones.
    reads: [AtomicUsize; 2],
}

/// Where the newest image of a page lies; that of a page that is dirty in the pool is outdated.
#[derive(Default)]
struct Away {
    /// Counts the checkpoints, modulo 2.
    generation: usize,
    /// Written since the last checkpoint.
    newer: BTreeMap<PageId, PageId>,
    /// Those of the last checkpoint, until they are in their places.
    older: BTreeMap<PageId, PageId>,
}

/// A read of an image: until it ends, its place is not given away.
#[derive(Clone, Copy)]
pub(crate) struct DoubleWriteRead {
    /// The page of the file where the image lies.
    pub place: PageId,
    generation: usize,
}

/// How far the run is filled, by batches that are being written, too.
#[derive(Clone, Copy)]
struct Taken {
    extent: Extent,
    pages: u32,
    /// CRC-32C over the images' checksums, in order.
    checksum: u32,
    /// A batch was not written, and others that follow it were.
    has_gap: bool,
}

const NOTHING: Taken =
    Taken { extent: Extent { start: 0, pages: 0 }, pages: 0, checksum: 0, has_gap: false };

impl Taken {
    fn has_room(&self, pages: u32) -> bool {
        !self.has_gap && self.pages + pages <= self.extent.pages
    }

    fn next(&self) -> PageId {
        self.extent.start + self.pages
    }
}

impl DoubleWrite {
    pub fn new() -> DoubleWrite {
        DoubleWrite {
            taken: Mutex::new(NOTHING),
            turn: Semaphore::new(1),
            flights: FairLock::new(),
            away: RwLock::default(),
            reads: Default::default(),
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().expect("double-write buffer")
    }

    /// Takes the next places for these images. The caller has the turn, and has made room.
    fn take_places<'a>(&'a self, images: &[IoBuf], pass: FairGuard<'a>) -> Flight<'a> {
        let mut taken = self.taken();
        let before = *taken;
        taken.checksum = checksum_of(taken.checksum, images);
        taken.pages += images.len() as u32;
        Flight { double_write: self, before, end: taken.pages, is_written: false, _pass: pass }
    }

    fn away(&self) -> RwLockReadGuard<'_, Away> {
        self.away.read().expect("pages away")
    }

    /// Number of pages whose images were written since the last checkpoint.
    pub fn len(&self) -> usize {
        self.away().newer.len()
    }

    /// Pages that may have to be taken for a checkpoint that appends `pages` more images.
    pub fn pages_wanted(&self, pages: u32) -> u32 {
        let taken = *self.taken();
        if taken.has_room(pages) { 0 } else { self.len() as u32 + pages }
    }

    /// Where the image of `pid` is, if it is here. Until `end_read` the place is not given away.
    pub fn begin_read(&self, pid: PageId) -> Option<DoubleWriteRead> {
        let away = self.away();
        let newer = away.newer.get(&pid).map(|place| (*place, away.generation));
        let read = newer.or_else(|| Some((*away.older.get(&pid)?, 1 - away.generation)));
        let (place, generation) = read?;
        // Under the lock: who has cleared the list sees all reads that began before.
        self.reads[generation].fetch_add(1, Ordering::SeqCst);
        Some(DoubleWriteRead { place, generation })
    }

    pub fn end_read(&self, read: DoubleWriteRead) {
        let before = self.reads[read.generation].fetch_sub(1, Ordering::SeqCst);
        assert!(before > 0, "the end of a read that has not begun");
    }

    pub fn contains(&self, pid: PageId) -> bool {
        let away = self.away();
        away.newer.contains_key(&pid) || away.older.contains_key(&pid)
    }

    /// From now on the images of these pages are read from here.
    fn redirect(&self, places: impl IntoIterator<Item = (PageId, PageId)>) {
        self.away.write().expect("pages away").newer.extend(places);
    }

    /// All pages whose images were written since the last checkpoint, in the order of their places.
    fn pages(&self) -> Vec<(PageId, PageId)> {
        in_order(&self.away().newer)
    }

    /// What the header says of the double-write buffer.
    pub fn header(&self) -> header::DoubleWrite {
        let Taken { extent, pages, checksum, has_gap } = *self.taken();
        assert!(!has_gap, "a header names a double-write buffer with a gap");
        header::DoubleWrite { pid: extent.start, pages, checksum }
    }

    /// The checkpoint exists that has the images: what is written from now on belongs to the next one. The
    /// pages, in the order of the images' places.
    pub fn begin_placing(&self) -> Vec<(PageId, PageId)> {
        let mut away = self.away.write().expect("pages away");
        assert!(away.older.is_empty(), "the images of the checkpoint before are in their places");
        away.generation = 1 - away.generation;
        away.older = std::mem::take(&mut away.newer);
        *self.taken() = NOTHING;
        in_order(&away.older)
    }

    /// The images are in their places, durably: forgets them, and waits for those who still read.
    pub async fn end_placing(&self) {
        let generation = {
            let mut away = self.away.write().expect("pages away");
            away.older.clear();
            1 - away.generation
        };
        while self.reads[generation].load(Ordering::SeqCst) > 0 {
            runtime::yield_now().await;
        }
    }
}

/// A batch that is being written to its places. Dropped before that has ended, it gives them back or,
/// where others follow, leaves a gap.
struct Flight<'j> {
    double_write: &'j DoubleWrite,
    /// The run as it was when the places were taken.
    before: Taken,
    end: u32,
    is_written: bool,
    _pass: FairGuard<'j>,
}

impl Flight<'_> {
    fn places(&self) -> std::ops::Range<PageId> {
        self.before.next()..self.before.extent.start + self.end
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.is_written {
            return;
        }
        let mut taken = self.double_write.taken();
        match taken.pages == self.end {
            true => (taken.pages, taken.checksum) = (self.before.pages, self.before.checksum),
            false => taken.has_gap = true,
        }
    }
}

fn in_order(pages: &BTreeMap<PageId, PageId>) -> Vec<(PageId, PageId)> {
    let mut pages: Vec<_> = pages.iter().map(|(pid, place)| (*pid, *place)).collect();
    pages.sort_unstable_by_key(|(_, place)| *place);
    pages
}

impl Pool {
    /// Appends sealed images of pages to the double-write buffer, where they are found from then on. `spare`:
    /// lets the double-write buffer grow by more than it needs now.
    ///
    /// # Errors
    /// `Io` when the disk is full: these images are not in the double-write buffer. `Io`: the pool is poisoned.
    pub(crate) async fn append_to_double_write(
        &self,
        images: Vec<(PageId, IoBuf)>,
        spare: bool,
    ) -> Result<()> {
        let double_write = &self.double_write;
        let (pids, images): (Vec<PageId>, Vec<IoBuf>) = images.into_iter().unzip();
        let turn = double_write.turn.acquire().await;
        self.make_room_in_double_write(images.len() as u32, spare).await?;
        // Nobody has it exclusively but who has the turn.
        let pass = double_write.flights.shared().await;
        let mut flight = double_write.take_places(&images, pass);
        drop(turn);
        self.write_at_places(flight.places().zip(images).collect()).await?;
        flight.is_written = true;
        // While the batch is under way: whoever moves the double-write buffer has to find these images.
        double_write.redirect(pids.into_iter().zip(flight.places()));
        Ok(())
    }

    /// Leaves the double-write buffer without a gap, so that a header may name it. Nothing is appended meanwhile.
    pub(crate) async fn close_gap_in_double_write(&self) -> Result<()> {
        let _turn = self.double_write.turn.acquire().await;
        self.make_room_in_double_write(0, false).await
    }

    /// Lets the double-write buffer have room for `count` more images: in its run, behind it, or elsewhere.
    async fn make_room_in_double_write(&self, count: u32, spare: bool) -> Result<()> {
        let taken = *self.double_write.taken();
        if taken.has_room(count) {
            return Ok(());
        }
        let more = (taken.pages + count).saturating_sub(taken.extent.pages);
        if spare {
            let ample = taken.extent.pages.clamp(SPARE_PAGES_MIN, SPARE_PAGES_MAX).max(more);
            // Nobody needs so much: what is kept for who frees space stays.
            match self.lengthen_double_write(count, ample, self.allocator.kept()).await {
                Err(error) if error.is_disk_full() => {}
                done => return done,
            }
        }
        self.lengthen_double_write(count, more, 0).await
    }

    async fn lengthen_double_write(&self, count: u32, more: u32, keep: u32) -> Result<()> {
        let Taken { extent, has_gap, .. } = *self.double_write.taken();
        if extent.pages > 0 && !has_gap {
            let longer = self
                .allocator
                .take_by(|space, held| space.extend_double_write(extent, more, (held, keep)));
            if let Some(extent) = longer.await? {
                self.double_write.taken().extent = extent;
                return Ok(());
            }
        }
        let _alone = self.double_write.flights.exclusive().await;
        let pages = self.double_write.len() as u32 + more.max(count);
        if pages == 0 {
            // All that was appended has failed.
            *self.double_write.taken() = Taken { extent, ..NOTHING };
            return Ok(());
        }
        let left = extent;
        let taken =
            self.allocator.take_by(|space, held| space.take_double_write(pages, held, keep));
        let extent = taken.await?;
        let moved = self.move_double_write(extent).await;
        let mut space = self.allocator.space();
        // Somebody may still read from there; after the next checkpoint nobody does.
        space.retire_double_write(if moved.is_ok() { left } else { extent });
        moved
    }

    /// Copies the images that count to another run.
    async fn move_double_write(&self, extent: Extent) -> Result<()> {
        let mut written = Taken { extent, ..NOTHING };
        let pages = self.double_write.pages();
        let mut places = Vec::with_capacity(pages.len());
        for chunk in pages.chunks(CHUNK_PAGES) {
            let images = self.read_double_write(chunk).await?;
            let images: Vec<IoBuf> = images.into_iter().map(|(_, image)| image).collect();
            written.checksum = checksum_of(written.checksum, &images);
            let at = written.next()..written.next() + chunk.len() as u32;
            places.extend(chunk.iter().map(|(pid, _)| *pid).zip(at.clone()));
            self.write_at_places(at.zip(images).collect()).await?;
            written.pages += chunk.len() as u32;
        }
        self.double_write.redirect(places);
        *self.double_write.taken() = written;
        Ok(())
    }

    /// Reads images of pages from their places in the double-write buffer, consecutive ones in one request.
    pub(crate) async fn read_double_write(
        &self,
        pages: &[(PageId, PageId)],
    ) -> Result<Vec<(PageId, IoBuf)>> {
        let mut reads = Vec::new();
        for run in pages.chunk_by(|a, b| a.1 + 1 == b.1) {
            let buffers = run.iter().map(|_| IoBuf::alloc(self.page_size())).collect::<Vec<_>>();
            let (file, offset) = (self.file().clone(), self.offset(run[0].1));
            reads.push(runtime::spawn(async move {
                let mut read = file.read_vectored_exact_at(buffers, offset).await;
                for _ in 1..READ_ATTEMPTS_MAX {
                    if read.0.is_ok() {
                        break;
                    }
                    read = file.read_vectored_exact_at(read.1, offset).await;
                }
                read
            }));
        }
        let mut images = Vec::new();
        let mut outcome = Ok(());
        for read in reads {
            match read.await {
                Ok((Ok(()), buffers)) => images.extend(buffers),
                Ok((Err(error), _)) => {
                    outcome = Err(StorageError::io("read the double-write buffer", &error));
                }
                Err(_) => outcome = Err(StorageError::Stopped),
            }
        }
        outcome?;
        let check = |(&(pid, _), image): (&(PageId, PageId), IoBuf)| {
            let checked = page::check(image.as_slice(), pid);
            checked.map_err(|reason| StorageError::Corrupt { pid, reason })?;
            Ok((pid, image))
        };
        pages.iter().zip(images).map(check).collect()
    }

    /// Writes changed old pages to the double-write buffer until they no longer crowd the pool.
    ///
    /// # Errors
    /// `Io` when the disk is full; `Poisoned`.
    pub(crate) async fn relieve_of_kept(self: &Arc<Self>) -> Result<()> {
        let _turn = self.relieving.acquire().await;
        while self.is_crowded() {
            self.poison().map_or(Ok(()), Err)?;
            match self.write_kept() {
                Some(writing) => writing.await.unwrap_or(Err(StorageError::Stopped))?,
                // All of them are in use, or on their way.
                None => runtime::yield_now().await,
            }
        }
        Ok(())
    }

    /// Begins to write changed old pages to the double-write buffer in advance, if they are many.
    pub(crate) fn relieve_ahead(self: &Arc<Self>) {
        if self.kept() >= self.kept_high_water()
            && self.writes_in_advance()
            && self.poison().is_none()
            && let Some(turn) = self.relieving.try_acquire()
            && let Some(writing) = self.write_kept()
        {
            // The turn ends with the batch, whoever waits for it.
            drop(runtime::spawn(async move {
                drop(writing.await);
                drop(turn);
            }));
        }
    }
}

fn checksum_of(before: u32, images: &[IoBuf]) -> u32 {
    images.iter().fold(before, |sum, image| {
        crc32c::crc32c_append(sum, &page::stored_checksum(image.as_slice()).to_le_bytes())
    })
}

#[cfg(test)]
mod tests;
