//! What all connections of a server share.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use engine::{Database, LockLog, LockWaited};

use crate::cancel::Sessions;
use crate::drain::Drain;
use crate::events::{record_lock_wait, record_merge};
use crate::hba::Rules;
use crate::log::Log;
use crate::slots::Slots;
use crate::tls::Tls;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) database: Mutex<Database>,
    pub(crate) sessions: Sessions,
    pub(crate) slots: Arc<Slots>,
    pub(crate) rules: RwLock<Option<Arc<Rules>>>,
    pub(crate) tls: RwLock<Option<Tls>>,
    pub(crate) drain: Drain,
    pub(crate) log: Arc<Log>,
    /// `log_min_duration_statement` in milliseconds; below 0 it is off.
    pub(crate) slow_ms: AtomicI64,
    /// `log_connections`
    pub(crate) tells_connections: AtomicBool,
}

impl Shared {
    /// The database, in its last state where it follows another one.
    pub(crate) fn db(&self) -> Database {
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        *database = database.current();
        database.clone()
    }

    /// Goes on from state to state of a database that follows another one, also while nobody
    /// connects: a state is open as long as somebody has it.
    pub(crate) async fn keep_up(self: Arc<Shared>) {
        let mut db = self.db();
        while db.is_in_recovery() && self.drain.unless_over(db.moved_on()).await.is_some() {
            db = self.db();
        }
    }

    pub(crate) fn tls(&self) -> Option<Tls> {
        self.tls.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes from the configuration what every statement asks for.
    pub(crate) fn follow_configuration(&self) {
        let db = self.db();
        let configuration = db.configuration();
        let slow = configuration.duration("log_min_duration_statement");
        let slow_ms = slow.map_or(-1, |slow| slow.as_millis() as i64);
        self.slow_ms.store(slow_ms, Ordering::Relaxed);
        let tells = configuration.flag("log_connections");
        self.tells_connections.store(tells, Ordering::Relaxed);
        self.log.set_json(configuration.text("log_format").as_deref() == Some("json"));
        let logs_locks = configuration.flag("log_lock_waits");
        let after = configuration.duration("deadlock_timeout").filter(|_| logs_locks);
        let log = self.log.clone();
        let tell: Arc<dyn Fn(&LockWaited) + Send + Sync> =
            Arc::new(move |waited| record_lock_wait(&log, waited));
        db.activities().log_lock_waits(after.map(|after| LockLog { after, tell }));
        let log = self.log.clone();
        db.activities().log_merges(Arc::new(move |ended| record_merge(&log, ended)));
    }

    /// The rules by which clients connect; `None` is what holds without any.
    pub(crate) fn rules(&self) -> Option<Arc<Rules>> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
