//! Sessions: statements in, results out.

mod blocks;
mod roles;
mod shown;

pub use blocks::may_run_in_block;

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use runtime::sync::Cancel;
use sql::parse::{self, DropObject, Statement, Vacuum};
use sql::plan::Plan;
use sql::{PlannerOptions, Query, Template};
use types::zone;
use types::{SqlError, SqlResult, SqlState};

use crate::activity::Activity;
use crate::block::Block;
use crate::catalog::Snapshot;
use crate::check::CHECK_COLUMN;
use crate::cursors::{self, Cursors};
use crate::database::Database;
use crate::lifted::Lifted;
use crate::notice::Notice;
use crate::prepared::PointExecution;
use crate::query::{QueryFigures, Watch};
use crate::result::{ResultSet, StatementResult};
use crate::seek::Seek;
use crate::settings::Settings;
use crate::statements::{Executed, Statements};
use crate::system::{
    Generator, LastNumbers, Monitor, SessionInfo, SettingChange, Sleep, SystemCatalog, View,
};
use crate::turn::{self, Patience};
use crate::{access, analyze, comments, ddl, dml, query, reorganize, view};

/// Settings and one statement at a time. Used from an ordinary thread, which blocks.
pub struct Session {
    db: Database,
    pub(crate) settings: Settings,
    /// The count of the configuration that the settings follow.
    configuration_count: u64,
    cancel: Arc<Mutex<Cancel>>,
    pub(crate) info: SessionInfo,
    activity: Arc<Activity>,
    notices: Vec<Notice>,
    /// Whether a transaction block is open: it has modes of its own.
    in_block: bool,
    /// Whether functions with an effect are refused.
    reads_only: bool,
    /// The next statement is the first that writes in a block.
    block_begins: bool,
    /// Look-ups that came as text.
    pub(crate) lifted: Lifted,
    pub(crate) statements: Arc<Statements>,
    pub(crate) cursors: Arc<Cursors>,
    chance: Arc<Mutex<Option<Generator>>>,
    /// The numbers that sequences gave it last.
    pub(crate) numbers: Arc<LastNumbers>,
}

/// The other ends of `COPY FROM STDIN` and `COPY TO STDOUT`.
#[derive(Default)]
pub(crate) struct Client<'a> {
    pub(crate) input: Option<&'a mut dyn Read>,
    pub(crate) output: Option<&'a mut dyn Write>,
}

/// Cancels what a session is doing, from any thread.
#[derive(Clone)]
pub struct CancelHandle(Arc<Mutex<Cancel>>);

impl CancelHandle {
    /// Ends the running statement with 57014; nothing happens when none runs.
    pub fn cancel(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }
}

impl std::ops::Drop for Session {
    /// Its temporary tables go with it.
    fn drop(&mut self) {
        self.db.forget_session(self.activity.session_id);
    }
}

impl Session {
    pub(crate) fn new(db: Database) -> Session {
        let info = SessionInfo::new(&db);
        let activity = db.activities().enter();
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
            in_block: false,
            reads_only: false,
            block_begins: false,
            lifted: Lifted::default(),
            statements: Arc::default(),
            cursors: Arc::default(),
            chance: Arc::default(),
            numbers: Arc::default(),
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

    /// What others see of the session.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Cancels this session's statements from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(self.cancel.clone())
    }

    /// Runs all statements of `text` in order, up to the first error. Each is a transaction.
    pub fn execute(&mut self, text: &str) -> SqlResult<Vec<StatementResult>> {
        self.activity.announce(&text.into());
        if let Some((point, shape)) = self.known_look_up(text) {
            self.activity.announce_shape(shape);
            let cancel = self.begin();
            let result = self.look_up(&point, cancel).map(StatementResult::Rows);
            let rows = result.as_ref().map_or(0, StatementResult::row_count);
            return self.activity.end(result, rows).map(|result| vec![result]);
        }
        let statements = Template::all(text)?.into_iter();
        let bound = statements.map(|template| {
            template.bind(&[]).map(|statement| (statement, Arc::new(template.shape())))
        });
        let statements = bound.collect::<SqlResult<Vec<_>>>()?;
        let run = |(statement, shape)| {
            self.activity.announce_shape(shape);
            let result = self.run(statement, Client::default());
            // Each statement is a transaction.
            self.end_transaction();
            result
        };
        statements.into_iter().map(run).collect()
    }

    /// Runs `COPY table FROM STDIN` with `input` as its data.
    pub fn copy_in(&mut self, text: &str, input: &mut dyn Read) -> SqlResult<StatementResult> {
        let statement = only_copy(text)?;
        self.activity.announce(&text.into());
        self.run(statement, Client { input: Some(input), output: None })
    }

    /// Runs `COPY .. TO STDOUT`, its data written to `output`.
    pub fn copy_out(&mut self, text: &str, output: &mut dyn Write) -> SqlResult<StatementResult> {
        let statement = only_copy(text)?;
        self.activity.announce(&text.into());
        self.run(statement, Client { input: None, output: Some(output) })
    }

    fn run(&mut self, statement: Statement, client: Client<'_>) -> SqlResult<StatementResult> {
        let cancel = self.begin();
        let _entered = zone::enter(self.context());
        let planning = crate::planning::until_cancelled(cancel.clone());
        let patience = self.patience();
        let result = sql::with_patience(planning, || {
            turn::patiently(patience, || self.dispatch(statement, client, cancel))
        });
        let rows = result.as_ref().map_or(0, StatementResult::row_count);
        self.activity.end(result, rows)
    }

    /// How long the statement that runs waits for those that write.
    pub(crate) fn patience(&self) -> Patience {
        let cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let timeout = self.settings.lock_timeout_ms;
        Patience { cancel, timeout: (timeout > 0).then(|| Duration::from_millis(timeout)) }
    }

    pub(crate) fn dispatch(
        &mut self,
        statement: Statement,
        client: Client<'_>,
        cancel: Cancel,
    ) -> SqlResult<StatementResult> {
        let block_begins = std::mem::take(&mut self.block_begins);
        access::check(&self.db.snapshot(), self.info.role, &statement)?;
        if block_begins {
            self.db = self.db.within(Block::begin(&self.db)?);
        }
        match statement {
            Statement::Query(query) => self.query(&query, cancel).map(StatementResult::Rows),
            Statement::Explain(e) => self.explain(&e, cancel),
            Statement::Set { name, value: Some(value) } => {
                self.settings.set(&name, &value).map(|()| tag("SET"))
            }
            Statement::SetTransaction(modes) => {
                let mut modes = modes.iter();
                let set = modes.try_for_each(|(name, value)| self.settings.set(name, value));
                set.map(|()| tag("SET"))
            }
            Statement::Set { name, value: None } => self.settings.reset(&name).map(|()| tag("SET")),
            Statement::SetLocal { name, value } => {
                self.set_local(&name, value.as_deref()).map(|()| tag("SET"))
            }
            Statement::Reset { name } => {
                self.settings.reset(name.as_deref().unwrap_or("all")).map(|()| tag("RESET"))
            }
            Statement::Show { name } => self.show(&name),
            Statement::Transaction(step) => self.end_block(&step),
            Statement::Prepare(prepare) => self.prepare(&prepare).map(|()| tag("PREPARE")),
            Statement::Execute(execute) => match self.executed(&execute)? {
                Executed::Statement(statement) => self.dispatch(*statement, client, cancel),
                Executed::Point(point) => self.look_up(&point, cancel).map(StatementResult::Rows),
            },
            Statement::Deallocate { name } => self.deallocate(name.as_deref()),
            Statement::Discard(what) => self.discard(what),
            Statement::Cursor(cursor) => cursors::without_blocks(&cursor),
            Statement::CopyTo(copy) => self.copy_to(&copy, cancel, client.output),
            other => self.write(other, client.input),
        }
    }

    /// Runs a look-up that is planned already.
    fn look_up(&mut self, point: &PointExecution, cancel: Cancel) -> SqlResult<ResultSet> {
        let catalog = self.system_catalog();
        let watch = Watch { cancel, activity: &self.activity };
        let (plan, access) = point.planned();
        let ran = query::run_point(&self.db, catalog, plan, &self.settings, watch, access)?;
        Ok(selected(plan, ran))
    }

    fn write(
        &mut self,
        statement: Statement,
        input: Option<&mut dyn Read>,
    ) -> SqlResult<StatementResult> {
        let db = &self.db;
        crate::reserved::check(&statement)?;
        self.notices.extend(crate::notice::skipped(&db.snapshot(), &statement));
        match statement {
            Statement::CreateTable(table) => {
                let count = ddl::create_table(&self.writing()?, &table)?;
                Ok(match table.query {
                    Some(_) => tag(&format!("SELECT {count}")),
                    None => tag("CREATE TABLE"),
                })
            }
            Statement::AlterTable(alter) => {
                ddl::alter_table(&self.writing()?, &alter)?;
                Ok(tag("ALTER TABLE"))
            }
            Statement::CreateSequence(create) => {
                ddl::create_sequence(db, &create, self.info.role)?;
                Ok(tag("CREATE SEQUENCE"))
            }
            Statement::AlterSequence(alter) => {
                ddl::alter_sequence(db, &alter)?;
                Ok(tag("ALTER SEQUENCE"))
            }
            Statement::CreateView(create) => {
                view::create(db, create, self.info.role)?;
                Ok(tag("CREATE VIEW"))
            }
            Statement::CreateIndex(index) => {
                ddl::create_index(db, &index)?;
                Ok(tag("CREATE INDEX"))
            }
            Statement::Drop(drop) => drop_objects(db, &drop),
            Statement::Insert(insert) => dml::insert(&self.writing()?, &insert),
            Statement::Update(update) => dml::update(&self.writing()?, &update),
            Statement::Delete(delete) => dml::delete(&self.writing()?, &delete),
            Statement::Truncate(truncate) => {
                dml::truncate(&self.writing()?, &truncate)?;
                Ok(tag("TRUNCATE TABLE"))
            }
            Statement::Copy(copy) => self.copy_from(&copy, input),
            Statement::Analyze { table } => {
                let skipped = analyze::analyze(db, self.info.role, table.as_deref())?;
                self.notices.extend(skipped);
                Ok(tag("ANALYZE"))
            }
            Statement::Vacuum(vacuum) => self.vacuum(&vacuum),
            Statement::Comment(comment) => {
                comments::comment(db, comment)?;
                Ok(tag("COMMENT"))
            }
            Statement::Reorganize { table } => {
                reorganize::reorganize(&self.writing()?, &table)?;
                Ok(tag("REORGANIZE"))
            }
            Statement::Role(statement) => self.change_roles(&statement),
            Statement::CheckDatabase => self.check_database(),
            Statement::Checkpoint => {
                db.checkpoint()?;
                Ok(tag("CHECKPOINT"))
            }
            _ => Err(SqlError::internal("a statement was not dispatched")),
        }
    }

    /// The catalog as this session sees it, with the system's relations and functions.
    pub(crate) fn system_catalog(&self) -> SystemCatalog {
        SystemCatalog::new(View {
            snapshot: self.db.snapshot(),
            session: self.info.clone(),
            settings: self.settings.clone(),
            statements: self.statements.clone(),
            cursors: self.cursors.clone(),
            chance: self.chance.clone(),
            numbers: self.numbers.clone(),
            given: Mutex::default(),
            in_block: self.in_block,
            reads_only: self.reads_only,
            sleep: Sleep::default(),
            session_id: self.activity.session_id,
            wishes: Mutex::default(),
            changes: Mutex::default(),
            now_us: runtime::time::unix_us(),
            page_bytes: self.db.page_bytes() as u64,
            monitor: Monitor { activities: self.db.activities().clone(), handle: self.db.handle() },
        })
    }

    /// One row for each thing that is damaged.
    fn check_database(&mut self) -> SqlResult<StatementResult> {
        let report = self.db.check()?;
        if report.problems.is_empty() {
            self.notices.push(Notice::information(report.to_string()));
        }
        let rows = report.problems.into_iter().map(|problem| vec![problem]).collect();
        Ok(StatementResult::Rows(ResultSet::text(&[CHECK_COLUMN], rows, "CHECK")))
    }

    /// Space is taken back when rows go; only statistics are left to do.
    fn vacuum(&mut self, vacuum: &Vacuum) -> SqlResult<StatementResult> {
        for table in &vacuum.tables {
            self.db.snapshot().table(table)?;
        }
        self.notices.extend(analyze::not_vacuumed(&self.db.snapshot(), self.info.role, vacuum));
        let tables = vacuum.tables.iter().map(|table| Some(table.as_str()));
        let all = vacuum.tables.is_empty().then_some(None);
        for table in tables.chain(all).filter(|_| vacuum.analyze) {
            self.notices.extend(analyze::analyze(&self.db, self.info.role, table)?);
        }
        Ok(tag("VACUUM"))
    }

    /// What a statement that writes works with; waits until no other one writes.
    pub(crate) fn writing(&self) -> SqlResult<dml::Writing<'_>> {
        let (db, settings) = (&self.db, &self.settings);
        let _writer = db.writer()?;
        let cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (options, catalog) = (self.planner_options(), self.system_catalog());
        let activity = &*self.activity;
        Ok(dml::Writing { db, settings, options, catalog, cancel, activity, _writer })
    }

    /// With what is known of the moment.
    pub(crate) fn planner_options_now(&self) -> PlannerOptions {
        let mut options = self.planner_options();
        options.device.cached_fraction = self.db.cached_share();
        options
    }

    pub(crate) fn planner_options(&self) -> PlannerOptions {
        PlannerOptions {
            workers: self.db.worker_count(),
            enable_hashjoin: self.settings.enable_hashjoin,
            enable_indexnestloop: self.settings.enable_indexnestloop,
            enable_seqscan: self.settings.enable_seqscan,
            enable_indexscan: self.settings.enable_indexscan,
            enable_indexonlyscan: self.settings.enable_indexonlyscan,
            ..PlannerOptions::default()
        }
    }

    /// Plans a query; what it was planned with, and how long that took.
    pub(crate) fn plan(&self, query: &Query) -> SqlResult<(SystemCatalog, Arc<Plan>, Duration)> {
        let _entered = zone::enter(self.context());
        let (catalog, options) = (self.system_catalog(), self.planner_options_now());
        let started = runtime::time::now();
        let plan = sql::plan_query(query, &catalog, &options)?;
        let planning = runtime::time::now() - started;
        self.activity.planned(planning);
        Ok((catalog, Arc::new(plan), planning))
    }

    fn query(&mut self, text: &Query, cancel: Cancel) -> SqlResult<ResultSet> {
        let (catalog, plan, planning) = self.plan(text)?;
        let (db, settings) = (&self.db, &self.settings);
        let watch = Watch { cancel, activity: &self.activity };
        let ran = query::run(db, catalog.clone(), &plan, settings, watch, planning)?;
        self.db.save_numbers(catalog.given())?;
        self.change_settings(&catalog)?;
        Ok(selected(&plan, ran))
    }

    /// Runs one statement inside of a task of the database's runtime. Queries run in that task;
    /// what writes runs on a thread of its own, since writers take turns and so may block.
    ///
    /// # Errors
    /// The statement's. The session comes back in any case, unless the engine itself failed.
    pub async fn perform(
        mut self,
        statement: Statement,
        input: Option<Box<dyn Read + Send>>,
    ) -> SqlResult<(Session, SqlResult<StatementResult>)> {
        if let Statement::Query(text) = &statement {
            let cancel = self.begin();
            let result = self.query_in_task(text, cancel).await.map(StatementResult::Rows);
            let rows = result.as_ref().map_or(0, StatementResult::row_count);
            let result = self.activity.end(result, rows);
            return Ok((self, result));
        }
        let work = move || {
            let mut input = input;
            let input = input.as_mut().map(|input| &mut **input as &mut dyn Read);
            let result = self.run(statement, Client { input, output: None });
            (self, result)
        };
        let failed = |aborted| SqlError::internal(format!("a statement failed: {aborted}"));
        runtime::offload(work).await.map_err(failed)
    }

    async fn query_in_task(&mut self, text: &Query, cancel: Cancel) -> SqlResult<ResultSet> {
        let (catalog, plan, planning) = self.plan_in_task(text, &cancel).await?;
        let (db, settings) = (&self.db, &self.settings);
        let watch = Watch { cancel, activity: &self.activity };
        let run = query::run_in_task(db, catalog.clone(), &plan, settings, watch, planning);
        let ran = run.await?;
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
    pub(crate) fn role(&self) -> access::RoleId {
        self.info.role
    }

    /// Does what `set_config` asked for.
    fn change_settings(&mut self, catalog: &SystemCatalog) -> SqlResult<()> {
        self.apply(catalog.changes())
    }

    /// Changes settings, for the session or for the transaction.
    pub(crate) fn apply(&mut self, changes: Vec<SettingChange>) -> SqlResult<()> {
        changes.into_iter().try_for_each(|change| match change.is_local {
            true => self.settings.set_local(&change.name, Some(&change.value)),
            false => self.settings.set(&change.name, &change.value),
        })
    }

    /// What cancels the statement that begins now.
    pub(crate) fn begin(&mut self) -> Cancel {
        self.follow_configuration();
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

/// The one statement of a text, a `COPY`.
fn only_copy(text: &str) -> SqlResult<Statement> {
    let mut statements = parse::parse(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement @ (Statement::Copy(_) | Statement::CopyTo(_))), true) => Ok(statement),
        _ => Err(SqlError::new(SqlState::SYNTAX_ERROR, "one COPY statement is expected")),
    }
}

fn drop_objects(db: &Database, drop: &parse::Drop) -> SqlResult<StatementResult> {
    match drop.object {
        DropObject::Table => ddl::drop_tables(db, drop).map(|()| tag("DROP TABLE")),
        DropObject::View => view::drop(db, &drop.names, drop.if_exists).map(|()| tag("DROP VIEW")),
        DropObject::Index => {
            ddl::drop_indexes(db, &drop.names, drop.if_exists).map(|()| tag("DROP INDEX"))
        }
        DropObject::Sequence => ddl::drop_sequences(db, drop).map(|()| tag("DROP SEQUENCE")),
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

fn tag(text: &str) -> StatementResult {
    StatementResult::Command { tag: text.to_owned() }
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
