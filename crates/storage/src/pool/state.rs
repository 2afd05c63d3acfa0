//! The state of a frame in one atomic word.
//!
//! ```text
//! 63      40 39 38      37   36  35    34 33  32        31    20 19   0
//! | version |  | WRITING KEEP REF DIRTY | tag | EXCLUSIVE | shared | pins |
//! ```

use stdx::sync::{AtomicU64, Ordering};

const PIN: u64 = 1;
const PINS: u64 = (1 << 20) - 1;
const SHARED: u64 = 1 << 20;
const SHARED_ALL: u64 = ((1 << 12) - 1) << 20;
/// Somebody changes the page.
const EXCLUSIVE: u64 = 1 << 32;
const TAG_SHIFT: u32 = 33;
const TAG: u64 = 0b11 << TAG_SHIFT;
/// The image on disk is older.
const DIRTY: u64 = 1 << 35;
/// Used since the clock's hand last passed.
const REF: u64 = 1 << 36;
/// Dirty, and reachable from the last checkpoint: may not be written to its place before the next
/// one.
const KEEP: u64 = 1 << 37;
/// A copy is on its way to disk.
const WRITING: u64 = 1 << 38;
const VERSION_SHIFT: u32 = 40;

/// What a frame is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// Holds nothing.
    Free = 0,
    /// Belongs to a load, or to a page in the making.
    Loading = 1,
    /// Holds a page that anybody may pin.
    Resident = 2,
    /// Is being taken from its page.
    Evicting = 3,
}

/// The word as it was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Snapshot(u64);

impl Snapshot {
    pub fn tag(self) -> Tag {
        match (self.0 & TAG) >> TAG_SHIFT {
            0 => Tag::Free,
            1 => Tag::Loading,
            2 => Tag::Resident,
            _ => Tag::Evicting,
        }
    }

    pub fn pins(self) -> u64 {
        self.0 & PINS
    }

    pub fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    pub fn is_kept(self) -> bool {
        self.0 & KEEP != 0
    }

    pub fn is_writing(self) -> bool {
        self.0 & WRITING != 0
    }

    pub fn is_referenced(self) -> bool {
        self.0 & REF != 0
    }

    pub fn is_latched(self) -> bool {
        self.0 & (EXCLUSIVE | SHARED_ALL) != 0
    }

    /// Resident and used by nobody.
    pub fn is_idle(self) -> bool {
        self.tag() == Tag::Resident && self.pins() == 0 && !self.is_latched() && !self.is_writing()
    }

    /// Counts the changes of the page in this frame, modulo 2^24.
    pub fn version(self) -> u64 {
        self.0 >> VERSION_SHIFT
    }
}

/// Outcome of an attempt to pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Done.
    Taken,
    /// The frame holds no page that could be pinned.
    Gone,
    /// Resident, but a latch is in the way.
    Latched,
}

/// The word itself. Transitions assert what they start from.
#[derive(Debug, Default)]
pub(super) struct StateWord(AtomicU64);

impl StateWord {
    #[inline]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// Pins a resident page.
    #[inline]
    pub fn try_pin(&self) -> Attempt {
        self.take(PIN, 0)
    }

    /// Pins a resident page and latches it shared, in one step.
    #[inline]
    pub fn try_pin_shared(&self) -> Attempt {
        self.take(PIN + SHARED, EXCLUSIVE)
    }

    #[inline]
    fn take(&self, amount: u64, blocked_by: u64) -> Attempt {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if Snapshot(word).tag() != Tag::Resident {
                return Attempt::Gone;
            }
            if word & blocked_by != 0 {
                return Attempt::Latched;
            }
            debug_assert!(Snapshot(word).pins() < PINS, "pins overflow");
            let next = (word + amount) | REF;
            match self.0.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Attempt::Taken,
                Err(now) => word = now,
            }
        }
    }

    /// Gives back a pin. Sequentially consistent: see `FreeFrames::waiting`.
    #[inline]
    pub fn unpin(&self) -> Snapshot {
        self.give(PIN)
    }

    /// Gives back a pin and a shared latch.
    #[inline]
    pub fn unpin_shared(&self) -> Snapshot {
        self.give(PIN + SHARED)
    }

    #[inline]
    fn give(&self, amount: u64) -> Snapshot {
        let before = self.0.fetch_sub(amount, Ordering::SeqCst);
        assert!(before & PINS != 0, "unpin of a frame without pins");
        Snapshot(before - amount)
    }

    /// Latches a page exclusively that the caller has pinned; false while it is latched.
    pub fn try_exclusive(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            assert!(Snapshot(word).pins() > 0, "a latch needs a pin");
            if Snapshot(word).is_latched() {
                return false;
            }
            let next = word | EXCLUSIVE;
            match self.0.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                // Somebody has pinned or unpinned the page.
                Err(now) => word = now,
            }
        }
    }

    /// Ends an exclusive latch; returns the state before it ended.
    pub fn release_exclusive(&self, changed: bool, keep: bool) -> Snapshot {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            assert!(word & EXCLUSIVE != 0, "release of a latch that nobody holds");
            let mut next = word & !EXCLUSIVE;
            if changed {
                next = next.wrapping_add(1 << VERSION_SHIFT) | DIRTY | if keep { KEEP } else { 0 };
            }
            match self.0.compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return Snapshot(word),
                Err(now) => word = now,
            }
        }
    }

    /// Free → Loading.
    pub fn begin_loading(&self) {
        let word = self.0.load(Ordering::Acquire);
        assert_eq!(Snapshot(word).tag(), Tag::Free, "a frame is taken that is not free");
        assert_eq!(Snapshot(word).pins(), 0, "a free frame is pinned");
        self.0.store((Tag::Loading as u64) << TAG_SHIFT, Ordering::Release);
    }

    /// Loading → Resident, with a pin for each waiter.
    pub fn publish(&self, pins: u64, dirty: bool) {
        assert_eq!(self.snapshot().tag(), Tag::Loading, "only a loading frame is published");
        assert!(pins < PINS, "{pins} waiters for one page");
        let dirty = if dirty { DIRTY } else { 0 };
        self.0.store((Tag::Resident as u64) << TAG_SHIFT | REF | dirty | pins, Ordering::Release);
    }

    /// Loading or Evicting → Free.
    pub fn release(&self) {
        let snapshot = self.snapshot();
        assert!(matches!(snapshot.tag(), Tag::Loading | Tag::Evicting), "{snapshot:?} is released");
        assert_eq!(snapshot.pins(), 0, "a pinned frame is released");
        self.0.store(0, Ordering::Release);
    }

    /// Resident → Evicting, if nobody uses the page. `dirty`: also when its changes would be lost.
    pub fn try_evict(&self, dirty: bool) -> bool {
        let word = self.0.load(Ordering::Acquire);
        let snapshot = Snapshot(word);
        if !snapshot.is_idle() || (snapshot.is_dirty() && !dirty) {
            return false;
        }
        let next = word & !TAG | (Tag::Evicting as u64) << TAG_SHIFT;
        // SeqCst, as in `unpin`: an evictor that fails here has seen the pin, or its owner sees the
        // waiters.
        self.0.compare_exchange(word, next, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Takes away the second chance.
    pub fn clear_reference(&self) {
        self.0.fetch_and(!REF, Ordering::Relaxed);
    }

    /// Marks a dirty page as being written, if it is idle.
    pub fn try_begin_write(&self) -> bool {
        let word = self.0.load(Ordering::Acquire);
        let snapshot = Snapshot(word);
        if !snapshot.is_idle() || !snapshot.is_dirty() {
            return false;
        }
        let next = word | WRITING;
        self.0.compare_exchange(word, next, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends a write of the page as it was at `version`; what it was before, if it is clean now.
    pub fn end_write(&self, version: Option<u64>) -> Option<Snapshot> {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            assert!(word & WRITING != 0, "the end of a write that never began");
            let clean = version == Some(Snapshot(word).version()) && word & EXCLUSIVE == 0;
            let next = word & !WRITING & if clean { !(DIRTY | KEEP) } else { u64::MAX };
            match self.0.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return clean.then_some(Snapshot(word)),
                Err(now) => word = now,
            }
        }
    }

    /// A checkpoint has written the page: it is clean, and may go.
    pub fn clear_dirty(&self) {
        let before = self.0.fetch_and(!(DIRTY | KEEP), Ordering::AcqRel);
        assert!(before & DIRTY != 0, "a clean page was checkpointed");
        // It may be marked as being written: that write has yet to begin, and will find nothing to
        // do.
        assert!(before & EXCLUSIVE == 0, "a page changed during its checkpoint");
    }
}
