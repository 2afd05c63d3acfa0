//! Who begins a publication, and when: one is made at a time, and what is committed before it begins is a part
//! of it.

use std::sync::PoisonError;

use runtime::sync::{Semaphore, SemaphorePermit};
use stdx::sync::Mutex;

/// The turns of publications.
pub(crate) struct Turns {
    /// Of the one who publishes.
    lock: Semaphore,
    /// A publication is about to begin.
    is_requested: Mutex<bool>,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { lock: Semaphore::new(1), is_requested: Mutex::new(false) }
    }

    /// Something was committed. True for who has to begin a publication, false when one is about to begin.
    pub(super) fn request(&self) -> bool {
        !self.replace(true)
    }

    /// Begins a publication, when others have ended. What it takes is to be looked at behind this: who commits
    /// later than that finds that nobody has requested another one.
    pub(super) async fn begin(&self) -> SemaphorePermit {
        let turn = self.lock.acquire().await;
        self.replace(false);
        turn
    }

    fn replace(&self, is_requested: bool) -> bool {
        let mut state = self.is_requested.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, is_requested)
    }
}
