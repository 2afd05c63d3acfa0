//! The account of the values of expressions while they are computed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use types::SqlResult;

use super::Reservation;

/// Memory that a thread may take without asking: threads are few, and an expression over values of
/// ordinary size needs no more.
pub(crate) const FREE_BYTES: usize = 4 << 20;

/// The bytes of values that one thread computes. Those beyond some megabytes are reserved.
pub struct ValueAccount {
    taken: AtomicUsize,
    memory: Arc<Reservation>,
}

impl ValueAccount {
    /// Nothing taken; `memory` is for this account alone.
    pub fn new(memory: Arc<Reservation>) -> ValueAccount {
        ValueAccount { taken: AtomicUsize::new(0), memory }
    }

    /// All bytes of values that were computed.
    pub fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    pub(crate) fn memory(&self) -> &Arc<Reservation> {
        &self.memory
    }

    /// Asks for so many bytes, and takes none.
    ///
    /// # Errors
    /// 53200.
    pub fn room(&self, bytes: usize) -> SqlResult<()> {
        let asked = asked(self.taken(), bytes);
        self.memory.grow(asked)?;
        self.memory.shrink(asked);
        Ok(())
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// 53200.
    pub fn take(&self, bytes: usize) -> SqlResult<()> {
        // Only the thread that computes takes.
        let taken = self.taken.fetch_add(bytes, Relaxed);
        self.memory.grow(asked(taken, bytes))
    }

    /// Gives everything back: the owner of a value that is kept counts it.
    pub fn give_back(&self) {
        if self.taken.swap(0, Relaxed) > FREE_BYTES {
            self.memory.shrink(self.memory.used());
        }
    }
}

/// Of `bytes` more than have been taken, those that are asked for.
fn asked(taken: usize, bytes: usize) -> usize {
    let beyond = |sum: usize| sum.saturating_sub(FREE_BYTES);
    beyond(taken.saturating_add(bytes)) - beyond(taken)
}
