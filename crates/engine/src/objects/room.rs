//! Memory for what a scan downloads: taken from the governor before the first request, and given back when
//! its rows have been made. Who finds none waits for others of the same scan; a scan without any gets one in
//! any case, so no scan waits for another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use exec::Reservation;
use runtime::sync::WaitQueue;

/// The share of the operators' memory that one scan may hold: the others are joins and sorts.
const SHARE: usize = 4;

/// The memory of a scan.
pub(crate) struct Room {
    reservation: Arc<Reservation>,
    bytes_max: usize,
    held: AtomicUsize,
    freed: WaitQueue,
}

/// Memory that was taken.
pub(crate) struct Taken {
    room: Arc<Room>,
    bytes: AtomicUsize,
}

impl Room {
    /// Room by a reservation of which all queries together have so many bytes.
    pub(crate) fn new(reservation: Arc<Reservation>, operator_bytes: usize) -> Arc<Room> {
        let (held, freed) = (AtomicUsize::new(0), WaitQueue::new());
        Arc::new(Room { reservation, bytes_max: operator_bytes / SHARE, held, freed })
    }

    /// Takes memory, when there is some.
    pub(crate) async fn take(self: &Arc<Room>, bytes: usize) -> Taken {
        self.freed.wait(|| self.try_hold(bytes)).await
    }

    /// Takes memory, or what `other` gives, whichever is there first. Call [`Room::wake`] when `other` may
    /// give something.
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

    /// Takes memory that cannot be done without.
    pub(crate) fn hold(self: &Arc<Room>, bytes: usize) -> Taken {
        self.held.fetch_add(bytes, SeqCst);
        self.reservation.hold(bytes);
        self.taken(bytes)
    }

    fn taken(self: &Arc<Room>, bytes: usize) -> Taken {
        Taken { room: self.clone(), bytes: AtomicUsize::new(bytes) }
    }

    fn try_take(&self, bytes: usize) -> bool {
        if self.held.compare_exchange(0, bytes, SeqCst, SeqCst).is_ok() {
            self.reservation.hold(bytes);
            return true;
        }
        let more = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
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
        self.room.give_back(*self.bytes.get_mut());
    }
}
