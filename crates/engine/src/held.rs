//! The memory of what a session keeps between its statements, and of messages on their way to it:
//! prepared statements, portals with their values, long messages.

use std::sync::Arc;

use exec::{Governor, Reservation};
use types::SqlResult;

/// The account of a session, in the memory for what all sessions keep.
#[derive(Clone)]
pub struct Account {
    reservation: Arc<Reservation>,
    /// Three quarters of what all share, so that nobody takes it from the others by doing nothing.
    bytes_max: usize,
}

/// Bytes that count until this is dropped.
pub struct Held {
    reservation: Arc<Reservation>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.reservation.shrink(self.bytes);
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({})", self.bytes)
    }
}

impl Account {
    /// An account in this memory.
    pub(crate) fn of(kept: &Governor) -> Account {
        let reservation = kept.without_plan().reserve("session");
        Account { reservation, bytes_max: kept.limit() / 16 * 9 }
    }

    /// Counts so many bytes.
    ///
    /// # Errors
    /// 53200 when the session, or all of them, may not hold that much.
    pub fn hold(&self, bytes: usize) -> SqlResult<Held> {
        if self.reservation.used().saturating_add(bytes) > self.bytes_max {
            let part = stdx::format_bytes(self.bytes_max as u64);
            let error = self.reservation.exhausted(bytes);
            return Err(error.with_hint(format!(
                "What a session keeps, and messages on their way, share {part}. \
                 Close prepared statements and portals, or give the database more with --memory."
            )));
        }
        self.reservation.grow(bytes)?;
        Ok(Held { reservation: self.reservation.clone(), bytes })
    }
}
