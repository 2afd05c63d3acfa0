//! What sessions are doing, for those who watch: views, metrics, the console.
//!
//! Each session owns an [`Activity`], which the database lists as long as the session lives. What
//! is counted over all sessions is kept in [`Totals`].

pub(crate) mod cancel;
pub(crate) mod merges;
pub(crate) mod replicas;
pub(crate) mod statistics;
pub(crate) mod status;
pub(crate) mod totals;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use plan::Plan;
use runtime::time::{self, Instant};
use runtime::{Account, IoTrace};
use sql::Shape;
use txn::advisory::AdvisoryLocks;
use txn::locks::log::LockLog;
use types::{SqlError, SqlResult, SqlState};

use crate::access::role::RoleId;
use crate::notifications::Channels;
use crate::secrecy::without_passwords;
use crate::settings::ExecutionMode;
use cancel::CancelHandle;
use merges::{MergeLog, MergesTold};
use replicas::Replicas;
use statistics::{RunFigures, Statistics};
use status::TransactionStatus;
use totals::{Outcome, Totals};

/// The text of a statement as others may see it.
#[derive(Clone, Debug)]
pub struct Announced(Arc<str>);

impl From<&str> for Announced {
    /// Passwords are left out.
    fn from(text: &str) -> Announced {
        Announced(without_passwords(text.trim().into()))
    }
}

impl Announced {
    /// The text, without passwords.
    pub fn shown(&self) -> &Arc<str> {
        &self.0
    }
}

/// A query that runs, or the session's last one.
#[derive(Clone)]
pub struct LiveQuery {
    /// The plan, whose node ids `progress` counts by.
    pub plan: Arc<Plan>,
    /// Tasks and figures of each node.
    pub progress: Arc<exec::Progress>,
    /// CPU time, reads and bytes.
    pub account: Arc<Account>,
    /// How it is decomposed.
    pub mode: ExecutionMode,
    /// When execution began.
    pub started: Instant,
}

/// The statement of a session at one moment.
#[derive(Clone)]
pub struct StatementActivity {
    /// The number of the statement, over all sessions.
    pub query_id: u64,
    /// Its text, as far as the session was told.
    pub text: Arc<str>,
    /// The role that runs it.
    pub user: Arc<str>,
    /// What the client calls itself.
    pub application_name: Arc<str>,
    /// The session's number, in place of a process id.
    pub pid: i32,
    /// When it began.
    pub started: Instant,
    /// The same by the wall clock, in microseconds since 1970.
    pub started_us: i64,
    /// How long it took; `None` while it runs.
    pub elapsed: Option<Duration>,
    /// What can be seen of it, when it is a query that has been planned.
    pub live: Option<LiveQuery>,
    /// What it has in common with others, as far as the session was told.
    pub shape: Option<Arc<Shape>>,
    /// How long it was planned.
    pub planning: Option<Duration>,
    /// Reads of the device for rows that nobody watches.
    pub reads: u64,
    /// The mode of a row program, which nobody watches.
    pub mode: Option<ExecutionMode>,
}

/// How others end what a session does, and the session itself.
#[derive(Clone)]
pub struct Signals {
    /// The session's number, in place of a process id.
    pub pid: i32,
    /// The role that logged in.
    pub role: RoleId,
    pub(crate) cancel: CancelHandle,
    /// Ends the connection; none for a session without one.
    pub(crate) terminate: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Signals {
    /// Ends the statement that runs; true.
    pub fn cancel(&self) -> bool {
        self.cancel.cancel();
        true
    }

    /// Ends the session, if it can be ended; whether it can.
    pub fn terminate(&self) -> bool {
        self.terminate.as_ref().inspect(|terminate| terminate()).is_some()
    }
}

/// One session, as others see it.
pub struct Activity {
    /// The session's number.
    pub session_id: u64,
    /// When it began, in microseconds since 1970.
    pub entered_us: i64,
    trace: Mutex<Option<Arc<IoTrace>>>,
    statement: Mutex<Option<StatementActivity>>,
    /// What the next statement's text will be.
    announced: Mutex<Arc<str>>,
    /// And its shape.
    shape: Mutex<Option<Arc<Shape>>>,
    signals: Mutex<Option<Signals>>,
    /// Where it stands between its statements, and when its block began.
    status: Mutex<(TransactionStatus, i64)>,
    activities: Weak<Activities>,
}

/// The activities of a database.
#[derive(Default)]
pub struct Activities {
    sessions: Mutex<BTreeMap<u64, Weak<Activity>>>,
    session_count: AtomicU64,
    query_count: AtomicU64,
    /// What sessions lock for each other.
    pub(crate) locks: Arc<AdvisoryLocks>,
    /// Who listens to what.
    pub(crate) channels: Arc<Channels>,
    /// What was counted over all sessions.
    pub totals: Totals,
    /// The same by shape of the statement.
    pub statistics: Statistics,
    lock_log: RwLock<Option<LockLog>>,
    pub(crate) merges: Arc<MergesTold>,
    /// Servers that follow this one.
    pub replicas: Arc<Replicas>,
}

impl Activities {
    /// Lists a new session.
    pub(crate) fn enter(self: &Arc<Self>) -> Arc<Activity> {
        let activity = Arc::new(Activity {
            session_id: self.session_count.fetch_add(1, Relaxed) + 1,
            entered_us: time::unix_us(),
            trace: Mutex::default(),
            statement: Mutex::default(),
            announced: Mutex::new("".into()),
            shape: Mutex::default(),
            signals: Mutex::default(),
            status: Mutex::default(),
            activities: Arc::downgrade(self),
        });
        lock(&self.sessions).insert(activity.session_id, Arc::downgrade(&activity));
        activity
    }

    /// Statements that have begun.
    pub fn query_count(&self) -> u64 {
        self.query_count.load(Relaxed)
    }

    /// Tells of waits for locks that take long from now on, or no longer.
    pub fn log_lock_waits(&self, log: Option<LockLog>) {
        *self.lock_log.write().unwrap_or_else(PoisonError::into_inner) = log;
    }

    /// Tells of merges of column tables in the background from now on.
    pub fn log_merges(&self, log: MergeLog) {
        self.merges.set_log(log);
    }

    /// The column table that is merged in the background now.
    pub fn merging(&self) -> Option<String> {
        self.merges.table()
    }

    pub(crate) fn lock_log(&self) -> Option<LockLog> {
        self.lock_log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The sessions, oldest first.
    pub fn sessions(&self) -> Vec<Arc<Activity>> {
        lock(&self.sessions).values().filter_map(Weak::upgrade).collect()
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Some(activities) = self.activities.upgrade() {
            lock(&activities.sessions).remove(&self.session_id);
            activities.locks.end_session(self.session_id);
        }
    }
}

impl Activity {
    /// The statement that runs, or ran last.
    pub fn statement(&self) -> Option<StatementActivity> {
        lock(&self.statement).clone()
    }

    pub(crate) fn stands(&self, status: TransactionStatus) {
        let mut stands = lock(&self.status);
        if stands.0 == TransactionStatus::Idle && status != TransactionStatus::Idle {
            stands.1 = time::unix_us();
        }
        stands.0 = status;
    }

    /// Where it stands between its statements.
    pub fn transaction_status(&self) -> TransactionStatus {
        lock(&self.status).0
    }

    /// When the block that is open began, in microseconds since 1970.
    pub fn block_started_us(&self) -> Option<i64> {
        let (status, started_us) = *lock(&self.status);
        (status != TransactionStatus::Idle).then_some(started_us)
    }

    /// How others end it, once somebody has logged in.
    pub fn signals(&self) -> Option<Signals> {
        lock(&self.signals).clone()
    }

    pub(crate) fn listens(&self, signals: Signals) {
        *lock(&self.signals) = Some(signals);
    }

    /// The session's transaction has ended: what was locked for it is free.
    /// How it ended, if something ran in it.
    pub(crate) fn end_transaction(&self, is_committed: Option<bool>) {
        if let Some(activities) = self.activities.upgrade() {
            activities.locks.end_transaction(self.session_id);
            let totals = &activities.totals.transactions;
            is_committed.into_iter().for_each(|is_committed| totals.count(is_committed));
        }
    }

    /// Has the requests of the queries that begin from now on noted in `trace`.
    pub fn trace_io(&self, trace: Arc<IoTrace>) {
        *lock(&self.trace) = Some(trace);
    }

    /// Tells what the next statement's text is.
    pub fn announce(&self, text: &Announced) {
        *lock(&self.announced) = text.0.clone();
        *lock(&self.shape) = None;
    }

    /// Tells what the next statement's shape is.
    pub fn announce_shape(&self, shape: Arc<Shape>) {
        *lock(&self.shape) = Some(shape);
    }

    /// The statement was planned.
    pub(crate) fn planned(&self, planning: Duration) {
        if let Some(statement) = &mut *lock(&self.statement) {
            statement.planning = Some(planning);
        }
    }

    /// A row program has ended, or given up, after so many reads of the device.
    pub(crate) fn programmed(&self, mode: ExecutionMode, is_done: bool, reads: u64) {
        if let Some(activities) = self.activities.upgrade() {
            activities.totals.programs.count(is_done);
        }
        if let Some(statement) = &mut *lock(&self.statement) {
            statement.reads += reads;
            statement.mode = Some(mode);
        }
    }

    /// True if the requests of its queries are noted.
    pub(crate) fn is_traced(&self) -> bool {
        lock(&self.trace).is_some()
    }

    /// An account for a query of this session.
    pub(crate) fn account(&self) -> Arc<Account> {
        match &*lock(&self.trace) {
            Some(trace) => Account::traced(trace.clone()),
            None => Account::new(),
        }
    }

    pub(crate) fn begin(&self, user: &str, application_name: &str, pid: i32) {
        let count = self.activities.upgrade().map(|all| all.query_count.fetch_add(1, Relaxed));
        let mut shown = lock(&self.statement);
        let last = shown.as_ref();
        let statement = StatementActivity {
            query_id: count.map_or(0, |count| count + 1),
            text: lock(&self.announced).clone(),
            user: shared(last.map(|last| &last.user), user),
            application_name: shared(last.map(|last| &last.application_name), application_name),
            pid,
            started: time::now(),
            started_us: time::unix_us(),
            elapsed: None,
            live: None,
            shape: lock(&self.shape).clone(),
            planning: None,
            reads: 0,
            mode: None,
        };
        *shown = Some(statement);
    }

    pub(crate) fn runs(&self, live: LiveQuery) {
        if let Some(statement) = &mut *lock(&self.statement) {
            statement.live = Some(live);
        }
    }

    /// The statement has ended, with so many rows: it is counted, and its result given back.
    pub(crate) fn end<T>(&self, result: SqlResult<T>, rows: u64) -> SqlResult<T> {
        self.end_as(None, result, rows)
    }

    /// The same for a query that was not watched.
    pub(crate) fn end_in<T>(
        &self,
        mode: ExecutionMode,
        result: SqlResult<T>,
        rows: u64,
    ) -> SqlResult<T> {
        self.end_as(Some(mode), result, rows)
    }

    fn end_as<T>(
        &self,
        mode: Option<ExecutionMode>,
        result: SqlResult<T>,
        rows: u64,
    ) -> SqlResult<T> {
        let mut statement = lock(&self.statement);
        if let Some(statement) = &mut *statement {
            let elapsed = statement.started.elapsed();
            statement.elapsed = Some(elapsed);
            self.count(statement, mode, elapsed, rows, result.as_ref().err());
        }
        result
    }

    /// Shows a statement as it goes on; as it lies still only when it is the last one that ran.
    pub(crate) fn shows(&self, statement: &StatementActivity, goes_on: bool) {
        let mut shown = lock(&self.statement);
        let is_last = shown.as_ref().is_some_and(|last| last.query_id == statement.query_id);
        if goes_on || is_last {
            *shown = Some(statement.clone());
        }
    }

    /// A statement whose rows were taken one after the other has ended, after so much work.
    pub(crate) fn ended(
        &self,
        statement: &StatementActivity,
        elapsed: Duration,
        rows: u64,
        error: Option<&SqlError>,
    ) {
        self.count(statement, None, elapsed, rows, error);
    }

    fn count(
        &self,
        statement: &StatementActivity,
        mode: Option<ExecutionMode>,
        elapsed: Duration,
        rows: u64,
        error: Option<&SqlError>,
    ) {
        let Some(all) = self.activities.upgrade() else { return };
        let watched = statement.live.as_ref().map(|live| live.mode);
        let mode = mode.or(watched).or(statement.mode);
        all.totals.count(mode, outcome(error), elapsed);
        // As in PostgreSQL, what fails is not counted.
        if let (Some(shape), None) = (&statement.shape, error) {
            let planning = statement.planning;
            let watched = statement.live.as_ref().map_or(0, |live| live.account.snapshot().reads);
            let reads = statement.reads + watched;
            let execution = elapsed.saturating_sub(planning.unwrap_or_default());
            let run = RunFigures { execution, planning, rows, reads };
            all.statistics.count(&statement.user, shape, run);
        }
    }
}

/// A name that is most often the same as the last one.
fn shared(last: Option<&Arc<str>>, name: &str) -> Arc<str> {
    match last {
        Some(last) if **last == *name => last.clone(),
        _ => name.into(),
    }
}

fn outcome(error: Option<&SqlError>) -> Outcome {
    match error {
        None => Outcome::Done,
        Some(error) if error.state == SqlState::QUERY_CANCELED => Outcome::Cancelled,
        Some(_) => Outcome::Failed,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
