//! A pool of a few frames, around the frame words and the list of free frames of `storage`: what is left of
//! `Pool` when nothing is read from a device.

#[path = "../../../crates/storage/src/pool/frame.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod frame;
#[path = "../../../crates/storage/src/pool/free.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod free;
#[path = "../../../crates/storage/src/pool/state.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod state;

use std::sync::Arc;

use crate::check::block_on;
use crate::error::Result;
use crate::inbox::lock;
use crate::page::PageId;
use crate::sync::{AtomicU32, Mutex, Ordering};
use frame::PoolFrame;
use free::{FreeFrames, TakeFrame};
use state::{Attempt, StateWord};

/// The bytes of a page: two words that are always changed together. Whoever finds different ones, or an older
/// value than the page has, was not kept apart from the one who changed them.
#[derive(Default)]
struct Bytes([AtomicU32; 2]);

impl Bytes {
    fn read(&self) -> u32 {
        let [first, second] = [0, 1].map(|at: usize| self.0[at].load(Ordering::Relaxed));
        assert_eq!(first, second, "a page in the middle of a change");
        first
    }

    fn write(&self, value: u32) {
        self.0.iter().for_each(|word| word.store(value, Ordering::Relaxed));
    }
}

/// A pool, and the disk below it.
pub struct Pool {
    free: FreeFrames,
    frames: Vec<PoolFrame>,
    bytes: Vec<Bytes>,
    /// Frame of each page, plus one.
    places: Vec<AtomicU32>,
    /// Held by who takes frames from their pages.
    hand: Mutex<()>,
    /// What is on disk of each page.
    disk: Mutex<Vec<u32>>,
}

impl Pool {
    /// A pool of so many frames, all free, over so many pages.
    pub fn new(frames: u32, pages: usize) -> Arc<Pool> {
        Arc::new(Pool {
            free: FreeFrames::new(frames),
            frames: (0..frames).map(|_| PoolFrame::default()).collect(),
            bytes: (0..frames).map(|_| Bytes::default()).collect(),
            places: (0..pages).map(|_| AtomicU32::new(0)).collect(),
            hand: Mutex::new(()),
            disk: Mutex::new(vec![0; pages]),
        })
    }

    fn state(&self, frame: u32) -> &StateWord {
        &self.frames[frame as usize].state
    }

    /// `TakeFrame` asks for it.
    fn take_free_frame(self: &Arc<Self>, reserve: usize) -> Option<u32> {
        let (frame, _) = self.free.try_take(reserve)?;
        self.state(frame).begin_loading();
        Some(frame)
    }

    /// `TakeFrame` asks for it: a sweep twice around.
    fn relieve(self: &Arc<Self>) {
        let Some(wanted) = self.free.wanted() else { return };
        let mut found = 0;
        let hand = lock(&self.hand);
        for frame in (0..2 * self.frames.len()).map(|step| (step % self.frames.len()) as u32) {
            if found < wanted {
                found += usize::from(self.look_at(frame));
            }
        }
        drop(hand);
    }

    /// Looks at a frame as a victim: true when it becomes free, now or with the end of a write.
    fn look_at(self: &Arc<Self>, frame: u32) -> bool {
        let (state, snapshot) = (self.state(frame), self.state(frame).snapshot());
        if !snapshot.is_idle() {
            return false;
        }
        if snapshot.is_referenced() {
            state.clear_reference();
            return false;
        }
        if !snapshot.is_dirty() {
            return self.evict(frame);
        }
        let begins = state.try_begin_write();
        if begins {
            self.free.expect(1);
            let pool = Arc::clone(self);
            loom::thread::spawn(move || pool.write_back(frame, true));
        }
        begins
    }

    /// Takes a frame from its page, if nobody uses it. The caller holds the hand.
    fn evict(&self, frame: u32) -> bool {
        let pid = self.frames[frame as usize].pid();
        if !self.state(frame).try_evict(false) {
            return false;
        }
        self.places[pid as usize].store(0, Ordering::Release);
        self.release_frame(frame);
        true
    }

    /// Gives a frame without a page back.
    pub fn release_frame(&self, frame: u32) {
        self.state(frame).release();
        self.free.put(frame);
    }

    /// Writes the page of a frame that is marked as being written.
    fn write_back(&self, frame: u32, evicts: bool) {
        let version = self.copy_to_disk(frame);
        let is_clean = self.state(frame).end_write(version).is_some();
        if evicts {
            if is_clean {
                let _hand = lock(&self.hand);
                self.evict(frame);
            }
            self.free.expect_no_more(1);
        }
        if self.free.waiting() > 0 {
            self.free.nudge();
        }
    }

    /// The version of the page that is on disk now; `None` while somebody changes it.
    fn copy_to_disk(&self, frame: u32) -> Option<u64> {
        let state = self.state(frame);
        if state.try_pin_shared() != Attempt::Taken {
            return None;
        }
        let (version, value) = (state.snapshot().version(), self.bytes[frame as usize].read());
        let pid = self.frames[frame as usize].pid();
        self.free.after_unpin(state.unpin_shared());
        lock(&self.disk)[pid as usize] = value;
        Some(version)
    }

    /// Writes a page as a checkpoint's neighbour does: it stays where it is.
    pub fn flush(&self, frame: u32) {
        if self.state(frame).try_begin_write() {
            self.write_back(frame, false);
        }
    }

    /// Takes any frame from its page, if one is idle.
    pub fn evict_one(&self) {
        let _hand = lock(&self.hand);
        (0..self.frames.len() as u32).any(|frame| self.evict(frame));
    }

    /// Waits for a frame; dropped, it leaves the queue.
    pub fn take(self: &Arc<Self>) -> impl Future<Output = Result<u32>> {
        TakeFrame::new(self)
    }

    /// Puts a page into a frame that was taken, with so many pins.
    pub fn install(&self, frame: u32, pid: PageId, value: u32, pins: u64, is_dirty: bool) {
        self.bytes[frame as usize].write(value);
        self.frames[frame as usize].install(pid, pins, is_dirty);
        self.places[pid as usize].store(frame + 1, Ordering::Release);
    }

    /// Takes a frame and puts a page into it.
    pub fn load(self: &Arc<Self>, pid: PageId, value: u32, pins: u64, is_dirty: bool) -> u32 {
        let frame = block_on(self.take()).expect("frames come back");
        self.install(frame, pid, value, pins, is_dirty);
        frame
    }

    /// The value of a page, if it is there and nobody changes it.
    pub fn read(&self, pid: PageId) -> Option<u32> {
        let frame = self.places[pid as usize].load(Ordering::Acquire).checked_sub(1)?;
        let slot = &self.frames[frame as usize];
        if slot.state.try_pin_shared() != Attempt::Taken {
            return None;
        }
        let value = (slot.pid() == pid).then(|| self.bytes[frame as usize].read());
        self.free.after_unpin(slot.state.unpin_shared());
        value
    }

    /// Changes a page, if it is there and nobody looks at it.
    pub fn change(&self, pid: PageId, value: u32) -> bool {
        let Some(frame) = self.places[pid as usize].load(Ordering::Acquire).checked_sub(1) else {
            return false;
        };
        let slot = &self.frames[frame as usize];
        if slot.state.try_pin() != Attempt::Taken {
            return false;
        }
        let is_changed = slot.pid() == pid && slot.state.try_exclusive();
        if is_changed {
            self.bytes[frame as usize].write(value);
            slot.state.release_exclusive(true, false);
        }
        self.unpin(frame);
        is_changed
    }

    /// Gives a pin back.
    pub fn unpin(&self, frame: u32) {
        self.free.after_unpin(self.state(frame).unpin());
    }

    /// There will be no more frames.
    pub fn fail_all(&self) {
        self.free.fail_all(&crate::error::StorageError);
    }

    /// Frames that are free.
    pub fn free_frames(&self) -> usize {
        self.free.len()
    }

    /// What is on disk of a page.
    pub fn on_disk(&self, pid: PageId) -> u32 {
        lock(&self.disk)[pid as usize]
    }

    /// Whether the page of a frame differs from disk, as its word says; nobody uses it.
    pub fn is_dirty(&self, frame: u32) -> bool {
        let snapshot = self.state(frame).snapshot();
        assert!(snapshot.is_idle(), "something is still held: {snapshot:?}");
        snapshot.is_dirty()
    }
}
