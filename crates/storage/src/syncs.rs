//! Syncs of one file that overlap. The kernel tells of what could not be written once: to the sync that asks
//! first. So one that was told nothing answers only when all that were on their way beside it have ended,
//! and fails if one of them did: it may be its own writes that are lost.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::IoBuf;
use runtime::fs::Durability;
use runtime::sync::WaitQueue;

use crate::volume::Volume;

/// Makes what was written to a file durable. Clones share what failed.
#[derive(Clone)]
pub(crate) struct Syncs(Arc<Shared>);

struct Shared {
    file: Volume,
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
    pub fn new(file: Volume) -> Syncs {
        let (flights, ended) = (Mutex::default(), WaitQueue::new());
        Syncs(Arc::new(Shared { file, flights, ended, failed: AtomicBool::new(false) }))
    }

    /// Makes durable what was written before.
    ///
    /// # Errors
    /// What the kernel says, to this or to another one that overlapped it; from then on each fails.
    pub async fn sync(&self) -> io::Result<()> {
        let mut flight = self.0.begin();
        let synced = self.0.file.sync_data().await;
        flight.is_good = synced.is_ok();
        drop(flight);
        synced?;
        self.others().await
    }

    /// Writes the bytes, which are durable then in the way that is asked for; nothing else need be.
    ///
    /// # Errors
    /// As [`Syncs::sync`], and those of writing.
    pub async fn write(
        &self,
        image: IoBuf,
        offset: u64,
        durability: Durability,
    ) -> (io::Result<()>, IoBuf) {
        let mut flight = self.0.begin();
        let (written, image) = self.0.file.write_durable_at(image, offset, durability).await;
        flight.is_good = written.is_ok();
        drop(flight);
        // What becomes of a direct write the kernel tells that write, whoever syncs beside it.
        let is_told = self.0.file.tells(durability);
        match written {
            Ok(()) if !is_told => (self.others().await, image),
            written => (written.and_then(|()| self.0.check()), image),
        }
    }

    /// Waits for all that were on their way beside one that has just ended well.
    async fn others(&self) -> io::Result<()> {
        let until = self.0.flights().next;
        self.0.ended.wait(|| self.0.have_ended(until).then_some(())).await;
        self.0.check()
    }
}

impl Shared {
    fn check(&self) -> io::Result<()> {
        match self.failed.load(Ordering::Acquire) {
            true => Err(io::Error::other("another sync of the file has failed")),
            false => Ok(()),
        }
    }

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
