//! The right to write: one statement, or one transaction block, has it at a time. The others wait in
//! the order of their arrival, as long as their session's `lock_timeout` lets them and nobody cancels
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runtime::sync::{Cancel, Semaphore, SemaphorePermit};
use runtime::time;
use types::{SqlError, SqlResult, SqlState};

use crate::waiting::unless_cancelled;

/// How long a statement waits for the right to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockWait {
    /// Ends the wait with 57014.
    pub(crate) cancel: Cancel,
    /// `lock_timeout`
    pub(crate) timeout: Option<Duration>,
}

impl LockWait {
    /// The same for who fails instead of waiting.
    pub(crate) fn without_waiting(self) -> LockWait {
        LockWait { timeout: Some(Duration::ZERO), ..self }
    }
}

/// The lock of those who write.
pub(crate) struct WriteLock {
    semaphore: Semaphore,
    /// How often it was taken.
    taken: AtomicU64,
}

/// The right to write, until its last clone goes.
#[derive(Clone)]
pub(crate) struct WriteRight {
    _permit: Arc<SemaphorePermit>,
}

impl Default for WriteLock {
    fn default() -> WriteLock {
        WriteLock { semaphore: Semaphore::new(1), taken: AtomicU64::new(0) }
    }
}

impl WriteLock {
    /// Waits for the others.
    ///
    /// # Errors
    /// 55P03 when that takes longer than the statement may wait, 57014 when it is cancelled.
    pub(crate) async fn acquire(&self, wait: &LockWait) -> SqlResult<WriteRight> {
        let acquired = unless_cancelled(&wait.cancel, self.semaphore.acquire());
        let permit = match wait.timeout {
            None => acquired.await?,
            Some(timeout) => time::timeout(timeout, acquired).await.map_err(|_| too_long())??,
        };
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(WriteRight { _permit: Arc::new(permit) })
    }

    /// How often it was taken: whether it goes from hand to hand.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

fn too_long() -> SqlError {
    SqlError::new(SqlState("55P03"), "canceling statement due to lock timeout")
}

#[cfg(test)]
mod tests;
