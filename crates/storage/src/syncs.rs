//! Syncs of one file that overlap. The kernel tells of what could not be written once: to the sync that asks
//! first. So one that was told nothing answers only when all that were on their way beside it have ended,
//! and fails if one of them did: it may be its own writes that are lost.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::fs::File;
use runtime::sync::WaitQueue;

/// Makes what was written to a file durable. Clones share what failed.
#[derive(Clone)]
pub(crate) struct Syncs(Arc<Shared>);

struct Shared {
    file: File,
    flights: Mutex<Flights>,
    ended: WaitQueue,
    failed: AtomicBool,
}

/// Syncs that have begun and not ended, by their numbers.
#[derive(Default)]
struct Flights {
    next: u64,
    open: Vec<u64>,
}

/// One on its way. One that is dropped has an end that nobody knows: it counts as failed.
struct Flight<'a> {
    shared: &'a Shared,
    number: u64,
    is_good: bool,
}

impl Syncs {
    /// Of this file, none on its way.
    pub fn new(file: File) -> Syncs {
        let (flights, ended) = (Mutex::default(), WaitQueue::new());
        Syncs(Arc::new(Shared { file, flights, ended, failed: AtomicBool::new(false) }))
    }

    /// Makes durable what was written before.
    ///
    /// # Errors
    /// What the kernel says, to this or to another one that overlapped it; from then on each fails.
    pub async fn sync(&self) -> io::Result<()> {
        let shared = &*self.0;
        let mut flight = shared.begin();
        let synced = shared.file.sync_data().await;
        flight.is_good = synced.is_ok();
        drop(flight);
        synced?;
        let until = shared.flights().next;
        shared.ended.wait(|| shared.have_ended(until).then_some(())).await;
        match shared.failed.load(Ordering::Acquire) {
            true => Err(io::Error::other("another sync of the file has failed")),
            false => Ok(()),
        }
    }
}

impl Shared {
    fn begin(&self) -> Flight<'_> {
        let mut flights = self.flights();
        let number = flights.next;
        flights.next += 1;
        flights.open.push(number);
        Flight { shared: self, number, is_good: false }
    }

    /// Whether all with lower numbers have ended.
    fn have_ended(&self, until: u64) -> bool {
        self.flights().open.iter().all(|number| *number >= until)
    }

    fn flights(&self) -> MutexGuard<'_, Flights> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if !self.is_good {
            self.shared.failed.store(true, Ordering::Release);
        }
        self.shared.flights().open.retain(|number| *number != self.number);
        self.shared.ended.wake_all();
    }
}

#[cfg(test)]
mod tests;
