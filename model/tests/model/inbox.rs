//! As in `runtime`.

use std::sync::PoisonError;

use crate::sync::{Mutex, MutexGuard};

/// Locks, whatever became of the one before.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
