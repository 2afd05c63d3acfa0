//! Sessions: statements in, results out.

pub(crate) mod acknowledged;
pub(crate) mod admit;
pub(crate) mod before_commit;
pub(crate) mod cancel;
pub(crate) mod chance;
pub(crate) mod chunks;
pub(crate) mod client;
pub(crate) mod constraints;
pub(crate) mod definitions;
pub(crate) mod explained;
pub(crate) mod keyed;
pub(crate) mod notifications;
pub(crate) mod program;
pub(crate) mod roles;
pub(crate) mod row_locks;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod shown;
pub(crate) mod transaction;
pub(crate) mod with_writes;
pub(crate) mod write;

use chance::Chance;
use transaction::TransactionStatus;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use runtime::sync::Cancel;
use sql::parse::{OnCommit, Statement};
use sql::plan::Plan;
use sql::{InFlight, PlannerOptions, Query};
use types::{SqlError, SqlResult, SqlState, zone};

use crate::access::session_info::SessionInfo;
use crate::activity::Activity;
use crate::catalog::snapshot::Snapshot;
use crate::columns::remote::writable::check_writable;
use crate::cursors::{self, Cursors};
use crate::database::Database;
use crate::figures::QueryFigures;
use crate::isolation::Isolation;
use crate::lent::LentTables;
use crate::lifted::Lifted;
use crate::locks::table::LockWait;
use crate::notice::Notice;
use crate::notifications::Mailbox;
use crate::numbers::{GivenNumbers, LastNumbers};
use crate::prepared::PointExecution;
use crate::query::Watch;
use crate::relation::seek::Seek;
use crate::result::{ResultSet, StatementResult};
use crate::settings::Settings;
use crate::statements::{Executed, Statements};
use crate::system::catalog::SystemCatalog;
use crate::system::results::Results;
use crate::system::sleep::Sleep;
use crate::system::view::{Monitor, SessionView, SettingChange};
use crate::traced::Trace;
use crate::waiting::let_others;
use crate::writing::Writing;
use crate::{access, isolation, query};

use acknowledged::Acknowledged;
use before_commit::Passing;
use cancel::CancelHandle;
use client::Client;
use keyed::Keyed;
use transaction::TransactionState;

/// Settings, a transaction, and one statement at a time. Used from an ordinary thread, which blocks. A
/// session that goes undoes the transaction that is open.
pub struct Session {
    db: Database,
    pub(crate) settings: Settings,
    /// The count of the configuration that the settings follow.
    configuration_count: u64,
    cancel: Arc<Mutex<Cancel>>,
    pub(crate) info: SessionInfo,
    activity: Arc<Activity>,
    notices: Vec<Notice>,
    transaction: TransactionState,
    /// The last of its commits that were acknowledged before they were durable.
    acknowledged: Acknowledged,
    /// Temporary tables of which commits take something.
    passing: Vec<Passing>,
    /// Whether functions with an effect are refused.
    reads_only: bool,
    /// Look-ups that came as text.
    pub(crate) lifted: Lifted,
    /// Statements about rows by their keys.
    keyed: Keyed,
    pub(crate) statements: Arc<Statements>,
    pub(crate) cursors: Arc<Cursors>,
    chance: Arc<Chance>,
    /// The numbers that sequences gave it last.
    pub(crate) numbers: Arc<LastNumbers>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// Rows of the program, by the names that queries read them by.
    pub(crate) lent: Arc<LentTables>,
    /// What parts of the statement that runs have returned.
    results: Arc<Results>,
    /// Notes the queries of the statement that runs.
    trace: Option<Arc<Trace>>,
}

impl std::ops::Drop for Session {
    /// Its temporary tables go with it, and nobody is told what it listened to.
    fn drop(&mut self) {
        self.db.forget_session(self.activity.session_id);
        self.mailbox.unlisten_all();
    }
}

impl Session {
    pub(crate) fn new(db: Database) -> Session {
        let info = SessionInfo::new(&db);
        let activity = db.activities().enter();
        let mailbox = Mailbox::new(db.activities().channels.clone(), activity.session_id);
        let db = db.seen_by(activity.session_id);
        let configuration_count = db.configuration_count();
        let settings = Settings::of(&db.configuration());
        Session {
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
            lifted: Lifted::default(),
            keyed: Keyed::default(),
            statements: Arc::default(),
            cursors: Arc::default(),
            chance: Arc::default(),
            numbers: Arc::default(),
            mailbox: Arc::new(mailbox),
            lent: Arc::default(),
            results: Arc::default(),
            trace: None,
        }
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
    fn forget_statement(&mut self) {
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

    pub(crate) async fn dispatch(
        &mut self,
        statement: Statement,
        client: Client,
        cancel: Cancel,
    ) -> SqlResult<StatementResult> {
        access::check::check(&self.db.snapshot(), &**self.db.system(), self.info.role, &statement)?;
        if admit::looks(&statement) {
            self.look().await;
        }
        if self.begins_writing(&statement) {
            self.begin_part().await?;
        }
        match statement {
            Statement::Query(query) => self.query(&query, cancel).await.map(StatementResult::Rows),
            Statement::Explain(e) => Box::pin(self.explain(&e, cancel)).await,
            Statement::WithWrites(with) => Box::pin(self.with_writes(with, cancel)).await,
            Statement::ExplainWrite(e) => Box::pin(self.explain_write(e)).await,
            Statement::Set { name, value: Some(value) } => self.set_or_probe(name, value).await,
            Statement::SetTransaction(modes) => self.set(&modes),
            Statement::Set { name, value: None } => self.reset(&name).map(|()| tag("SET")),
            Statement::SetLocal { name, value } => {
                self.set_local(&name, value.as_deref()).map(|()| tag("SET"))
            }
            Statement::Reset { name } => {
                self.reset(name.as_deref().unwrap_or("all")).map(|()| tag("RESET"))
            }
            Statement::Show { name } => self.show(&name),
            Statement::Notification(statement) => self.notification(statement),
            Statement::SetConstraints(set) => {
                Box::pin(self.set_constraints(&set)).await.map(|()| tag("SET CONSTRAINTS"))
            }
            Statement::Lock(lock) => self.lock_tables(&lock).await.map(|()| tag("LOCK TABLE")),
            Statement::Prepare(prepare) => {
                Box::pin(self.prepare(&prepare)).await.map(|()| tag("PREPARE"))
            }
            Statement::Execute(execute) => match self.executed(&execute)? {
                Executed::Statement(statement) => {
                    self.admit(&statement)?;
                    Box::pin(self.dispatch(*statement, client, cancel)).await
                }
                Executed::Point(point) => {
                    self.run_look_up(&point, cancel).await.map(StatementResult::Rows)
                }
            },
            Statement::Deallocate { name } => self.deallocate(name.as_deref()),
            Statement::Discard(what) => self.discard(what).await,
            Statement::Cursor(cursor) => cursors::unserved(&cursor, self.transaction.status),
            Statement::CopyTo(copy) => self.copy_to(&copy, cancel, client.output).await,
            Statement::Copy(copy) => {
                let statement = Statement::Copy(copy.clone());
                crate::reserved::check(&**self.db.system(), &statement)?;
                check_writable(&self.db.snapshot(), &statement)?;
                Box::pin(self.copy_rows(&copy, client.input)).await
            }
            Statement::Role(statement) => self.change_roles(&statement).await,
            Statement::Checkpoint => {
                self.db.make_durable(&self.lock_wait()).await.map(|()| tag("CHECKPOINT"))
            }
            Statement::Backup { path } => {
                let path = std::path::Path::new(&path);
                if !path.is_absolute() {
                    let message = "relative path not allowed for BACKUP";
                    return Err(SqlError::new(SqlState("42602"), message));
                }
                self.db.copied_to(path, &cancel).await.map(|_| tag("BACKUP"))
            }
            other => Box::pin(self.write(other)).await,
        }
    }

    /// Runs a look-up that is planned already.
    async fn run_look_up(
        &mut self,
        point: &PointExecution,
        cancel: Cancel,
    ) -> SqlResult<ResultSet> {
        self.look().await;
        self.look_alone();
        let catalog = self.system_catalog();
        let watch = Watch { cancel, activity: &self.activity };
        let (plan, access) = point.planned();
        let access = access.clone();
        let ran = query::run_point(&self.db, catalog, plan, &self.settings, watch, access).await;
        self.looked(ran).map(|ran| selected(plan, ran))
    }

    /// Runs a statement that writes.
    async fn write(&mut self, statement: Statement) -> SqlResult<StatementResult> {
        crate::reserved::check(&**self.db.system(), &statement)?;
        check_writable(&self.db.snapshot(), &statement)?;
        let statement = match rows::RowStatement::new(statement) {
            Ok(statement) => return self.change_rows(statement).await,
            Err(statement) => *statement,
        };
        let passing = match &statement {
            Statement::CreateTable(create)
                if create.on_commit != OnCommit::PreserveRows
                    && !self.db.newest().is_temporary(&create.name) =>
            {
                Some(create.clone())
            }
            _ => None,
        };
        let notes_reads =
            is_filled(&statement) && self.is_idle() && self.isolation() == Isolation::Serializable;
        let mut writing = self.writing_definitions(&statement).await?;
        if notes_reads {
            writing.note_reads();
        }
        let skipped = crate::notice::skipped(writing.snapshot(), &statement);
        let written = Box::pin(write::write(&writing, statement)).await;
        let settled = writing.settle(written).await;
        self.notices.extend(skipped);
        let (result, told) = settled?;
        self.notices.extend(told);
        match passing {
            Some(create) => self.note_created(&create).await.map(|()| result),
            None => Ok(result),
        }
    }

    /// The catalog as this session sees it, with the system's relations and functions.
    pub(crate) fn system_catalog(&self) -> SystemCatalog {
        self.catalog_over(self.db.snapshot())
    }

    pub(crate) fn catalog_over(&self, snapshot: Arc<Snapshot>) -> SystemCatalog {
        let catalog = SystemCatalog::new(
            self.db.system().clone(),
            SessionView {
                snapshot,
                session: self.info.clone(),
                settings: self.settings.clone(),
                statements: self.statements.clone(),
                cursors: self.cursors.clone(),
                chance: self.chance.clone(),
                numbers: self.numbers.clone(),
                mailbox: self.mailbox.clone(),
                lent: self.lent.clone(),
                given: GivenNumbers::default(),
                in_block: self.transaction.status != TransactionStatus::Idle,
                reads_only: self.reads_only,
                sleep: Sleep::default(),
                session_id: self.activity.session_id,
                wishes: Mutex::default(),
                changes: Mutex::default(),
                now_us: runtime::time::unix_us(),
                governor: self.db.governor().clone(),
                page_bytes: self.db.page_bytes() as u64,
                checkpoint: self.db.store().checkpoint_number(),
                monitor: Monitor {
                    activities: self.db.activities().clone(),
                    handle: self.db.handle(),
                    versions: self.db.versions().clone(),
                },
            },
        );
        catalog.with_results(self.results.clone())
    }

    /// What a statement works with that writes alone; waits until no other one writes.
    pub(crate) async fn writing_alone(&self) -> SqlResult<Writing<'_>> {
        let wait = self.lock_wait();
        let right = self.db.writer(&wait).await?;
        Ok(Writing::new(self, wait, right))
    }

    /// What a statement that changes roles and privileges works with.
    pub(crate) async fn writing_access(&self) -> SqlResult<Writing<'_>> {
        let wait = self.lock_wait();
        let right = self.db.definer(&wait).await?;
        Ok(Writing::new(self, wait, right))
    }

    /// What a statement works with that cannot run again, in a block: the definitions of its table, and of
    /// those to which it refers, stay as they are.
    pub(crate) async fn writing_table(&self, table: &str) -> SqlResult<Writing<'_>> {
        loop {
            let mut writing = self.writing_rows().await?;
            let entry = writing.entry(table)?;
            let referred = writing.snapshot().tables.referred(&entry).cloned();
            let tables: Vec<_> = std::iter::once(entry.clone()).chain(referred).collect();
            let locked_before = writing.block()?.count_locked();
            let locked = writing.lock_definitions(&tables).await;
            let block = writing.block()?;
            match locked {
                Err(error) if block.has_let_go(locked_before, &error) => {
                    let_others(&writing.cancel).await?;
                }
                Err(_) if block.take_runs_again() => {}
                locked => return locked.map(|()| writing),
            }
        }
    }

    /// What a statement that changes rows works with, in a block.
    pub(crate) async fn writing_rows(&self) -> SqlResult<Writing<'_>> {
        let wait = self.lock_wait();
        if let Some(block) = self.db.block() {
            block.enter(&wait).await?;
        }
        Ok(Writing::new(self, wait, None))
    }

    /// With what is known of the moment.
    pub(crate) fn planner_options_now(&self) -> PlannerOptions {
        if self.settings.device.is_none() {
            self.db.probe_device_if_due();
        }
        PlannerOptions { cached_fraction: self.db.cached_share(), ..self.planner_options() }
    }

    pub(crate) fn planner_options(&self) -> PlannerOptions {
        let (in_flight, workers) = (self.settings.in_flight(), self.db.worker_count());
        PlannerOptions {
            device: self.settings.device_profile(),
            in_flight,
            page_bytes: self.db.page_bytes(),
            // A query in so many tasks uses no more.
            workers: match in_flight {
                InFlight::AtMost(tasks) => workers.min(tasks),
                InFlight::Many => workers,
            },
            enable_hashjoin: self.settings.enable_hashjoin,
            enable_indexnestloop: self.settings.enable_indexnestloop,
            enable_seqscan: self.settings.enable_seqscan,
            enable_indexscan: self.settings.enable_indexscan,
            enable_indexonlyscan: self.settings.enable_indexonlyscan,
            ..PlannerOptions::default()
        }
    }

    async fn query(&mut self, text: &Query, cancel: Cancel) -> SqlResult<ResultSet> {
        if let Some(locked) = Box::pin(self.locked(text, &cancel)).await? {
            return Ok(locked);
        }
        let (catalog, plan, planning) = self.plan(text, &cancel).await?;
        let (db, settings) = (&self.db, &self.settings);
        let watch = Watch { cancel, activity: &self.activity };
        let ran = query::run(db, catalog.clone(), &plan, settings, watch, planning).await?;
        isolation::check_locked(&catalog.snapshot().read_view)?;
        // Before it has any effect.
        self.looked(Ok(()))?;
        self.save_numbers(catalog.given()).await?;
        self.change_settings(&catalog)?;
        Ok(selected(&plan, ran))
    }

    /// Finds one row. It takes microseconds, so nobody watches it, and it cannot be cancelled.
    pub(crate) async fn seek(&mut self, plan: &Plan, seek: Seek<'_>) -> SqlResult<ResultSet> {
        self.begin();
        let found = seek.run(&IoCounters::default()).await;
        let count = found.as_ref().map_or(0, |batches| batches.len() as u64);
        let batches = self.activity.end_in(self.settings.execution_mode, found, count)?;
        let tag = format!("SELECT {}", batches.len());
        Ok(ResultSet { schema: plan.root.schema.clone(), batches, tag, figures: None })
    }

    /// The role that statements run as.
    pub(crate) fn role(&self) -> access::role::RoleId {
        self.info.role
    }

    /// Does what `set_config` asked for.
    fn change_settings(&mut self, catalog: &SystemCatalog) -> SqlResult<()> {
        self.apply(catalog.changes())
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
        cancel
    }

    /// From now on a cancel request means this.
    pub(crate) fn listen_to(&self, cancel: Cancel) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel;
    }
}

/// The result of a query that ran.
fn selected(plan: &Plan, (batches, figures): (Vec<RecordBatch>, QueryFigures)) -> ResultSet {
    let schema = plan.root.schema.clone();
    let figures = Some(Box::new(figures));
    let mut result = ResultSet { schema, batches, tag: String::new(), figures };
    result.tag = format!("SELECT {}", result.row_count());
    result
}

/// Whether a statement makes a table of what a query finds.
fn is_filled(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateTable(create) if create.query.is_some())
}


/// The ordinals of the columns named; each must exist and occur once.
pub(crate) fn ordinals(
    snapshot: &Snapshot,
    table: &str,
    names: &[String],
) -> SqlResult<Vec<usize>> {
    let schema = &snapshot.table(table)?.def.schema;
    let mut found = vec![];
    for name in names {
        let ordinal = schema.ordinal(name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            SqlError::new(SqlState::UNDEFINED_COLUMN, message)
        })?;
        if found.contains(&ordinal) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        found.push(ordinal);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;

fn tag(text: &str) -> StatementResult {
    StatementResult::Command { tag: text.to_owned() }
}
