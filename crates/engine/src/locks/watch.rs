//! Waits for locks that take long, as the log says them (`log_lock_waits`).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use runtime::time;
use types::SqlResult;

use super::mode::{LockShown, RightKind};
use super::table::{LockWait, Locks};
use crate::database::Database;

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

/// Watches the waits of a statement.
pub(crate) struct LockWatch {
    pub(crate) db: Database,
    pub(crate) session: u64,
    pub(crate) log: LockLog,
}

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
        let sessions = self.db.activities().sessions();
        let of = |id: u64| sessions.iter().find(|activity| activity.session_id == id);
        let pid = |id: u64| {
            let signals = of(id).and_then(|activity| activity.signals());
            signals.map_or(id as i64, |signals| i64::from(signals.pid))
        };
        Some(LockWaited {
            pid: pid(self.session),
            holders: holders.into_iter().map(pid).collect(),
            lock: self.name(what),
            waited,
            is_over: false,
            statement: of(self.session)?.statement().map(|running| running.text)?,
        })
    }

    fn name(&self, what: LockShown) -> String {
        match what {
            LockShown::Right(RightKind::Share) => "ExclusiveLock on transaction".to_owned(),
            LockShown::Right(kind) => format!("{} on database", kind.names().1),
            LockShown::Keys(tree, mode) => {
                let newest = self.db.newest();
                let mut names = newest.tables.values().flat_map(|entry| {
                    let indexes = entry.indexes.iter().zip(&entry.def.indexes);
                    let indexes = indexes.map(|(stored, def)| (stored.tree.id(), &def.name));
                    std::iter::once((entry.tree_id, &entry.def.name)).chain(indexes)
                });
                let name = names.find(|(id, _)| *id == tree).map(|(_, name)| name.as_str());
                let relation = name.unwrap_or("?");
                format!("{} on tuple of relation \"{relation}\"", mode.name(false))
            }
        }
    }
}
