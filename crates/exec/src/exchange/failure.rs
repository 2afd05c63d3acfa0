//! The first error of an exchange, at which all of its tasks end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Acquire};

use runtime::sync::{Event, WaitQueue};
use types::{SqlError, SqlResult};

use crate::notify::locked;

/// The place of the first error.
#[derive(Default)]
pub(crate) struct Failure {
    first: Mutex<Option<SqlError>>,
    is_there: AtomicBool,
    told: Event,
}

impl Failure {
    /// Notes an error; false where one is there already.
    pub(crate) fn note(&self, error: SqlError) -> bool {
        {
            let mut first = locked(&self.first);
            if first.is_some() {
                return false;
            }
            *first = Some(error);
        }
        let was_there = self.is_there.swap(true, AcqRel);
        self.told.set();
        !was_there
    }

    /// The error, if there is one.
    pub(crate) fn get(&self) -> Option<SqlError> {
        if !self.is_there.load(Acquire) {
            return None;
        }
        locked(&self.first).clone()
    }

    /// An error if there is one.
    pub(crate) fn check(&self) -> SqlResult<()> {
        self.get().map_or(Ok(()), Err)
    }

    /// Waits until there is one.
    pub(crate) async fn told(&self) {
        self.told.wait().await;
    }

    /// Waits on `queue` until `ready` gives something, or there is an error: whoever notes one
    /// wakes all queues behind it.
    pub(crate) async fn or<T>(
        &self,
        queue: &WaitQueue,
        mut ready: impl FnMut() -> Option<T>,
    ) -> SqlResult<T> {
        queue.wait(|| self.get().map(Err).or_else(|| ready().map(Ok))).await
    }
}
