//! Errors of our own that clients were told of, counted for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use engine::{SqlError, SqlState};

/// Of all servers of this process.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Counts an error that a client is told of, if it is one of ours.
pub(crate) fn note(error: &SqlError) {
    if error.state == SqlState::INTERNAL_ERROR {
        COUNT.fetch_add(1, Relaxed);
    }
}

/// How many there were.
pub(crate) fn count() -> u64 {
    COUNT.load(Relaxed)
}
