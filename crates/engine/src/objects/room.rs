//! Memory for what a scan downloads: taken from the governor before the first request, and given back when
//! its rows have been made. Who finds none waits for others of the same scan; a scan without any gets one in
//! any case, so no scan waits for another one. Of the memory that there is a scan takes what its pace says.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};

use exec::{Reservation, Skips};
use runtime::sync::WaitQueue;
use runtime::time::Instant;
use types::SqlResult;

use super::pace::Pace;

/// The share of the operators' memory that one scan may hold: the others are joins and sorts.
const SHARE: usize = 4;

/// The memory of a scan.
pub(crate) struct Room {
    reservation: Arc<Reservation>,
    bytes_max: usize,
    held: AtomicUsize,
    /// The most that was held.
    held_max: AtomicUsize,
    freed: WaitQueue,
    pace: Pace,
}

/// Memory that was taken.
pub(crate) struct Taken {
    room: Arc<Room>,
    bytes: AtomicUsize,
    asked: Instant,
    has_come: AtomicBool,
}

impl Room {
    /// Room by a reservation of which all queries together have so many bytes.
    pub(crate) fn new(reservation: Arc<Reservation>, operator_bytes: usize) -> Arc<Room> {
        Arc::new(Room {
            reservation,
            bytes_max: operator_bytes / SHARE,
            held: AtomicUsize::new(0),
            held_max: AtomicUsize::new(0),
            freed: WaitQueue::new(),
            pace: Pace::new(),
        })
    }

    /// Tells the figures of a scan how much was ahead, and how much may be.
    pub(crate) fn tell(&self, skips: &Skips) {
        let window = self.bytes_max.min(self.pace.window_bytes());
        skips.ahead_bytes_max.fetch_max(self.held_max.load(SeqCst) as u64, Relaxed);
        skips.window_bytes.store(window as u64, Relaxed);
    }

    /// Takes memory when there is some, or what `other` gives, whichever is there first. Call [`Room::wake`]
    /// when `other` may give something.
    pub(crate) async fn take_or<T>(
        self: &Arc<Room>,
        bytes: usize,
        mut other: impl FnMut() -> Option<T>,
    ) -> Result<Taken, T> {
        let mut either = || match self.try_hold(bytes) {
            Some(taken) => Some(Ok(taken)),
            None => other().map(Err),
        };
        self.freed.wait(&mut either).await
    }

    /// Has those look again that wait for memory or something else.
    pub(crate) fn wake(&self) {
        self.freed.wake_all();
    }

    /// Takes memory if there is some.
    pub(crate) fn try_hold(self: &Arc<Room>, bytes: usize) -> Option<Taken> {
        self.try_take(bytes).then(|| self.taken(bytes))
    }

    /// Takes memory that is given back with the room.
    ///
    /// # Errors
    /// 53200 when it is not to be had.
    pub(crate) fn keep(&self, bytes: usize) -> SqlResult<()> {
        self.reservation.grow(bytes)
    }

    /// Takes memory that cannot be done without.
    pub(crate) fn hold(self: &Arc<Room>, bytes: usize) -> Taken {
        self.held.fetch_add(bytes, SeqCst);
        self.reservation.hold(bytes);
        self.taken(bytes)
    }

    fn taken(self: &Arc<Room>, bytes: usize) -> Taken {
        self.held_max.fetch_max(self.held.load(SeqCst), SeqCst);
        let (asked, has_come) = (runtime::time::now(), AtomicBool::new(false));
        Taken { room: self.clone(), bytes: AtomicUsize::new(bytes), asked, has_come }
    }

    fn try_take(&self, bytes: usize) -> bool {
        if self.held.compare_exchange(0, bytes, SeqCst, SeqCst).is_ok() {
            self.reservation.hold(bytes);
            return true;
        }
        let bytes_max = self.bytes_max.min(self.pace.window_bytes());
        let more = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= bytes_max);
        if self.held.fetch_update(SeqCst, SeqCst, more).is_err() {
            return false;
        }
        let is_taken = self.reservation.try_grow(bytes);
        if !is_taken {
            self.held.fetch_sub(bytes, SeqCst);
        }
        is_taken
    }

    fn give_back(&self, bytes: usize) {
        self.reservation.shrink(bytes);
        self.held.fetch_sub(bytes, SeqCst);
        self.freed.wake_all();
    }
}

impl Taken {
    /// What it was taken for is there, so it is known how long that takes.
    pub(crate) fn came(&self) {
        if !self.has_come.swap(true, SeqCst) {
            let now = runtime::time::now();
            self.room.pace.came(now - self.asked, now.as_ns());
        }
    }

    /// Gives back what is not needed after all.
    pub(crate) fn keep(&self, bytes: usize) {
        let before = self.bytes.fetch_min(bytes, SeqCst);
        if before > bytes {
            self.room.give_back(before - bytes);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        if *self.has_come.get_mut() {
            self.room.pace.used(bytes, runtime::time::now().as_ns());
        }
        self.room.give_back(bytes);
    }
}
