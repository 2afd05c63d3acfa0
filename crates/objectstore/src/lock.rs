//! Locks that nobody holds for long.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state behind a lock. Nothing that can panic runs with one held, and none is held across a
/// suspension.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
