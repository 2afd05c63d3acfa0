//! Waits for locks that take long, as the log says them (`log_lock_waits`).

use std::pin::pin;
use std::time::Duration;

use runtime::time;
use types::SqlResult;

use super::log::{LockLog, LockWaited};
use super::mode::LockShown;
use super::table::{LockWait, Locks};

/// Watches the waits of a statement.
pub struct LockWatch {
    /// The session that runs it.
    pub session: u64,
    /// Where waits that take long are told.
    pub log: LockLog,
    /// The lock and the sessions that have it, as the log says them: the lock table knows no names.
    pub describe: Box<Describe>,
}

/// Describes a wait that is not over; `None` if its statement has ended.
pub type Describe = dyn Fn(LockShown, Vec<u64>) -> Option<LockWaited> + Send + Sync;

impl std::fmt::Debug for LockWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LockWatch({})", self.session)
    }
}

impl LockWait {
    /// What a wait gives. One that takes long is told of, when it does and when it ends with the lock.
    pub(super) async fn watched<T>(
        &self,
        locks: &Locks,
        work: impl Future<Output = SqlResult<T>>,
    ) -> SqlResult<T> {
        let Some(watch) = &self.watch else { return work.await };
        let (began, mut work) = (time::now(), pin!(work));
        if let Ok(done) = time::timeout(watch.log.after, work.as_mut()).await {
            return done;
        }
        let Some(mut waited) = watch.waited(locks, began.elapsed()) else { return work.await };
        (watch.log.tell)(&waited);
        let done = work.await?;
        (waited.waited, waited.is_over) = (began.elapsed(), true);
        waited.holders.clear();
        (watch.log.tell)(&waited);
        Ok(done)
    }
}

impl LockWatch {
    /// What the session waits for; `None` if it has just got it.
    fn waited(&self, locks: &Locks, waited: Duration) -> Option<LockWaited> {
        let (what, holders) = locks.wait_of(self.session)?;
        Some(LockWaited { waited, ..(self.describe)(what, holders)? })
    }
}
