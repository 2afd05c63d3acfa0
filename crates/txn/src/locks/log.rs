//! Waits for locks that take long, as the log says them (`log_lock_waits`).

use std::sync::Arc;
use std::time::Duration;

/// Who is told of waits for locks that take long, and from when on they do.
#[derive(Clone)]
pub struct LockLog {
    /// `deadlock_timeout`
    pub after: Duration,
    /// Must not block.
    pub tell: Arc<dyn Fn(&LockWaited) + Send + Sync>,
}

/// A session waits for a lock, or has it after such a wait.
#[derive(Clone, Debug)]
pub struct LockWaited {
    /// The number of the session that waits, in place of a process id.
    pub pid: i64,
    /// Those of the sessions in its way.
    pub holders: Vec<i64>,
    /// The lock, in the words of `pg_locks`.
    pub lock: String,
    /// How long it has waited.
    pub waited: Duration,
    /// Whether it has the lock now.
    pub is_over: bool,
    /// The statement that waits, as far as the session was told.
    pub statement: Arc<str>,
}

impl LockWaited {
    /// What PostgreSQL says.
    pub fn message(&self) -> String {
        let did = if self.is_over { "acquired" } else { "still waiting for" };
        let ms = self.waited.as_micros() as f64 / 1e3;
        format!("process {} {did} {} after {ms:.3} ms", self.pid, self.lock)
    }
}
