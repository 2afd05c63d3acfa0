//! Taking locks, whoever has panicked with them.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that can panic runs under our locks; a poisoned one still guards whole data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
