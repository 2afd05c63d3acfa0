//! A session: its settings, its transaction, and what it remembers.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plan::catalog::TableId;
use runtime::sync::Cancel;
use sql::parse::OnCommit;
use txn::locks::table::LockWait;
use types::{SqlResult, zone};

use super::calls::Keyed;
use crate::access;
use crate::access::role::BOOTSTRAP;
use crate::access::session_info::SessionInfo;
use crate::activity::Activity;
use crate::activity::cancel::CancelHandle;
use crate::activity::status::TransactionStatus;
use crate::cursors::Cursors;
use crate::database::Database;
use crate::deferred::Deferrals;
use crate::held::Account;
use crate::lent::LentTables;
use crate::notice::Notice;
use crate::notifications::Mailbox;
use crate::numbers::LastNumbers;
use crate::settings::Settings;
use crate::statements::Statements;
use crate::system::chance::Chance;
use crate::system::results::Results;
use crate::system::view::SettingChange;
use crate::traced::Trace;

/// The number of the last version that was acknowledged so and is not known to be durable; 0 is none.
#[derive(Default)]
pub(crate) struct Acknowledged(pub(crate) AtomicU64);

/// A temporary table of which a commit takes something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    pub(crate) table: TableId,
    pub(crate) on_commit: OnCommit,
}

/// What a session knows of its transaction; what that has written is the database's.
#[derive(Default)]
pub(crate) struct TransactionState {
    pub(crate) status: TransactionStatus,
    /// The names of the savepoints, in order.
    pub(crate) savepoints: Vec<Savepoint>,
    /// Constraints that it checks when it commits.
    pub(crate) deferrals: Deferrals,
    /// The next statement is followed by others of its transaction, though no block is open.
    pub(crate) goes_on: bool,
    /// A statement has run that looks at rows: its isolation is no more to be chosen.
    pub(crate) has_looked: bool,
    /// How it has ended, or would end now; none where nothing has run.
    pub(crate) is_committed: Option<bool>,
    /// A statement has begun and not ended: it was dropped if another one begins.
    pub(crate) is_running: bool,
}

pub(crate) struct Savepoint {
    pub(crate) name: String,
    pub(crate) deferrals: Deferrals,
    /// Notifications that were noted before it.
    pub(crate) notifications: usize,
    /// Whether the transaction only read before it.
    pub(crate) is_read_only: bool,
}

/// Settings, a transaction, and one statement at a time. Used from an ordinary thread, which blocks. A
/// session that goes undoes the transaction that is open.
pub struct Session {
    pub(crate) db: Database,
    pub(crate) settings: Settings,
    /// The count of the configuration that the settings follow.
    configuration_count: u64,
    pub(super) cancel: Arc<Mutex<Cancel>>,
    pub(crate) info: SessionInfo,
    pub(crate) activity: Arc<Activity>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) transaction: TransactionState,
    /// The last of its commits that were acknowledged before they were durable.
    pub(crate) acknowledged: Acknowledged,
    /// Temporary tables of which commits take something.
    pub(crate) passing: Vec<Passing>,
    /// Whether functions with an effect are refused.
    pub(crate) reads_only: bool,
    /// Statements about rows by their keys.
    pub(crate) keyed: Keyed,
    pub(crate) statements: Arc<Statements>,
    pub(crate) cursors: Arc<Cursors>,
    pub(crate) chance: Arc<Chance>,
    /// The numbers that sequences gave it last.
    pub(crate) numbers: Arc<LastNumbers>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// Rows of the program, by the names that queries read them by.
    pub(crate) lent: Arc<LentTables>,
    /// What parts of the statement that runs have returned.
    pub(crate) results: Arc<Results>,
    /// Notes the queries of the statement that runs.
    pub(crate) trace: Option<Arc<Trace>>,
    /// The memory of what it keeps.
    pub(crate) account: Account,
}

impl std::ops::Drop for Session {
    /// Its temporary tables go with it, and nobody is told what it listened to.
    fn drop(&mut self) {
        self.db.part(self.activity.session_id);
        self.db.forget_session(self.activity.session_id);
        self.mailbox.unlisten_all();
    }
}

impl Session {
    pub(crate) fn new(db: Database) -> Session {
        let db = db.current();
        let info = SessionInfo::new(&db);
        let activity = db.activities().enter();
        let mailbox = Mailbox::new(db.activities().channels.clone(), activity.session_id);
        let db = db.seen_by(activity.session_id);
        let configuration_count = db.configuration_count();
        let settings = Settings::of(&db.configuration());
        let account = Account::of(db.session_memory());
        let mut session = Session {
            db,
            settings,
            configuration_count,
            cancel: Arc::default(),
            info,
            activity,
            notices: vec![],
            transaction: TransactionState::default(),
            acknowledged: Acknowledged::default(),
            passing: vec![],
            reads_only: false,
            keyed: Keyed::default(),
            statements: Arc::default(),
            cursors: Arc::default(),
            chance: Arc::default(),
            numbers: Arc::default(),
            mailbox: Arc::new(mailbox),
            lent: Arc::default(),
            results: Arc::default(),
            trace: None,
            account,
        };
        session.db.join(session.activity.session_id, &session.cancel);
        session.stand_by();
        session
    }

    /// The memory of what it keeps.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The settings.
    pub fn settings(&mut self) -> &mut Settings {
        self.follow_configuration();
        &mut self.settings
    }

    /// After a reload, what the session has not set itself is as the server has it now.
    fn follow_configuration(&mut self) {
        let count = self.db.configuration_count();
        if count != self.configuration_count {
            self.configuration_count = count;
            self.settings.follow(&self.db.configuration());
        }
    }

    /// What statements had to tell since it was last asked.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        if self.notices.is_empty() {
            return vec![];
        }
        let least = self.settings.show("client_min_messages").unwrap_or_default();
        let mut notices = std::mem::take(&mut self.notices);
        notices.retain(|notice| notice.reaches(&least));
        notices
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// What its values are read and shown in: whoever prints results enters it.
    pub fn context(&self) -> zone::Context {
        zone::Context { zone: self.settings.zone.0, now_us: Some(runtime::time::unix_us()) }
    }

    /// Notes the queries of the statement that runs, if somebody wants to know them.
    pub(crate) fn trace(&self) -> Option<&Arc<Trace>> {
        self.trace.as_ref()
    }

    /// Forgets what belongs to the statement that ran.
    pub(crate) fn forget_statement(&mut self) {
        self.results = Arc::default();
        self.trace = None;
    }

    /// What others see of the session.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Cancels this session's statements from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(self.cancel.clone())
    }

    /// How long the statement that runs waits for those that write.
    pub(crate) fn lock_wait(&self) -> LockWait {
        let cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let timeout = self.settings.lock_timeout_ms;
        LockWait {
            cancel,
            timeout: (timeout > 0).then(|| Duration::from_millis(timeout)),
            session: Some(self.activity.session_id),
            watch: self.lock_watch(),
        }
    }

    /// The role that statements run as.
    pub(crate) fn role(&self) -> access::role::RoleId {
        self.info.role
    }

    /// Changes settings, for the session or for the transaction.
    pub(crate) fn apply(&mut self, changes: Vec<SettingChange>) -> SqlResult<()> {
        changes.into_iter().try_for_each(|change| {
            self.check_mode_open(&change.name, &change.value)?;
            match change.is_local {
                true => self.settings.set_local(&change.name, Some(&change.value)),
                false => self.settings.set(&change.name, &change.value),
            }
        })
    }

    /// What cancels the statement that begins now.
    pub(crate) fn begin(&mut self) -> Cancel {
        self.follow_configuration();
        self.transaction.is_committed.get_or_insert(true);
        let (info, settings) = (&self.info, &self.settings);
        self.activity.begin(&info.user, &settings.application_name, info.pid);
        let cancel = Cancel::default();
        self.listen_to(cancel.clone());
        if self.db.is_over() {
            cancel.cancel();
        }
        cancel
    }

    /// From now on a cancel request means this.
    pub(crate) fn listen_to(&self, cancel: Cancel) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel;
    }
}

impl Database {
    /// A session: settings, and one statement at a time.
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }
}

impl SessionInfo {
    /// A session of an embedded database, whose name is that of the file: whoever has the file may
    /// do everything with it.
    pub(crate) fn new(db: &Database) -> SessionInfo {
        let user = db.snapshot().access.name(BOOTSTRAP).to_owned();
        SessionInfo {
            user: user.clone(),
            role: BOOTSTRAP,
            session_user: user,
            session_role: BOOTSTRAP,
            login_role: BOOTSTRAP,
            database: db.name(),
            pid: std::process::id() as i32,
        }
    }
}
