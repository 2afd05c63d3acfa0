//! Whose turn it is to write: one statement, or one transaction block, at a time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Writers take turns. A turn may move between threads, since a block is served by several.
#[derive(Default)]
pub(crate) struct Turns {
    taken: Mutex<bool>,
    ended: Condvar,
}

/// The right to write, until it is dropped.
pub(crate) struct Turn(Arc<Turns>);

impl Turns {
    /// Waits for the others; blocks the thread.
    pub(crate) fn take(self: &Arc<Turns>) -> Turn {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.ended.wait_while(taken, |taken| *taken);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
        Turn(self.clone())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.ended.notify_one();
    }
}
