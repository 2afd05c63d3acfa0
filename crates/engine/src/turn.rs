//! Whose turn it is to write: one statement, or one transaction block, at a time. The others wait, as
//! long as their session's `lock_timeout` lets them and nobody cancels them.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::sync::Cancel;
use runtime::time;
use types::{SqlError, SqlResult, SqlState};

/// How long a wait goes on without a look at whether it was cancelled: shorter than anybody notices,
/// and a hundred looks a second cost nothing.
const LOOK: Duration = Duration::from_millis(10);

/// How long a statement waits for the right to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience {
    /// Ends the wait with 57014.
    pub(crate) cancel: Cancel,
    /// `lock_timeout`
    pub(crate) timeout: Option<Duration>,
}

thread_local! {
    /// Of the statement that this thread runs. A statement that writes is run by one thread from its
    /// beginning to its end, and asks for the right to write deep within.
    static PATIENCE: RefCell<Patience> = RefCell::default();
}

/// Runs a statement that waits no longer than `patience` says.
pub(crate) fn patiently<T>(patience: Patience, run: impl FnOnce() -> T) -> T {
    /// Puts back what was there, whatever ends the statement.
    struct Before(Option<Patience>);
    impl Drop for Before {
        fn drop(&mut self) {
            PATIENCE.set(self.0.take().unwrap_or_default());
        }
    }
    let _before = Before(Some(PATIENCE.replace(patience)));
    run()
}

/// Writers take turns. A turn may move between threads, since a block is served by several.
#[derive(Default)]
pub(crate) struct Turns {
    taken: Mutex<bool>,
    ended: Condvar,
}

/// The right to write, until it is dropped.
pub(crate) struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        *self.0.taken() = false;
        self.0.ended.notify_one();
    }
}

/// What cancels the statement that this thread runs; of a thread that runs none, nothing does.
pub(crate) fn cancel() -> Cancel {
    PATIENCE.with_borrow(|patience| patience.cancel.clone())
}

impl Turns {
    fn taken(&self) -> MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the others; blocks the thread.
    ///
    /// # Errors
    /// 55P03 when that takes longer than the statement may wait, 57014 when it is cancelled.
    pub(crate) fn take(self: &Arc<Turns>) -> SqlResult<Turn> {
        let mut taken = self.taken();
        if *taken {
            let patience = PATIENCE.with_borrow(Patience::clone);
            let until = patience.timeout.map(|timeout| time::now() + timeout);
            while *taken {
                if patience.cancel.is_cancelled() {
                    return Err(SqlError::cancelled());
                }
                if until.is_some_and(|until| time::now() >= until) {
                    return Err(too_long());
                }
                let left = until.map_or(LOOK, |until| (until - time::now()).min(LOOK));
                let woken = self.ended.wait_timeout(taken, left);
                taken = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        *taken = true;
        Ok(Turn(self.clone()))
    }
}

fn too_long() -> SqlError {
    SqlError::new(SqlState("55P03"), "canceling statement due to lock timeout")
}

#[cfg(test)]
mod tests;
