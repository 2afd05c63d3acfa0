//! Runs a plan over the tables of a catalog snapshot and collects rows and figures.

use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use exec::{
    Governor, Grant, LocalFuture, Lookup, Mode, Progress, Query, Reservation, ScanFilter, Source,
    Tables, batch_bytes,
};
use plan::catalog::TableDef;
use plan::codegen::Start;
use plan::{Access, LookupJoin, Node, Operator, Plan, Scan};
use runtime::sync::{Cancel, Permits};
use runtime::{Account, IoCounters};
use storage::Depth;
use txn::waiting::unless_cancelled;
use types::cells::Cells;
use types::{SqlError, SqlResult};

use crate::activity::{Activity, LiveQuery};
use crate::catalog::entry::TableEntry;
use crate::columns::fetch::ChunkFetch;
use crate::database::Database;
use crate::figures::QueryFigures;
use crate::objects::room::Room;
use crate::relation::columns::ColumnSource;
use crate::relation::lookup::TableLookup;
use crate::relation::partition::Partition;
use crate::relation::programs::ProgramTables;
use crate::relation::scan::TableSource;
use crate::settings::Settings;
use crate::system::catalog::SystemCatalog;

/// The tables of a snapshot as `exec` wants them.
struct SnapshotTables {
    plan: Arc<Plan>,
    catalog: SystemCatalog,
    /// The access path of the one scan, in place of the plan's.
    access: Option<Access>,
    /// The rows of the one scan that are wanted; `None` is all.
    partition: Option<Partition>,
    /// The memory of the query.
    memory: Grant,
    /// That of all operators of all queries.
    operator_bytes: usize,
}

impl SnapshotTables {
    fn entry(&self, table: &plan::catalog::TableDef) -> SqlResult<&Arc<TableEntry>> {
        let found = self.catalog.snapshot().table_by_id(table.id);
        found.ok_or_else(|| SqlError::internal("the plan is of another catalog version"))
    }

    /// The memory for what one scan downloads.
    fn room(&self) -> Arc<Room> {
        Room::new(self.memory.reserve("download"), self.operator_bytes)
    }

    /// What fetches these columns of rows of a column table, where they are fetched.
    fn chunks(
        &self,
        entry: &TableEntry,
        columns: &[usize],
        fetches: bool,
    ) -> SqlResult<Option<ChunkFetch>> {
        let Some(stored) = entry.columns.as_ref().filter(|_| fetches) else { return Ok(None) };
        let headers = self.memory.reserve("headers of chunks");
        let room = stored.remote.is_some().then(|| self.room());
        ChunkFetch::new(self.catalog.snapshot(), entry, columns, Some(headers), room)
    }
}

impl Tables for SnapshotTables {
    fn source(&self, scan: &Scan, filters: &[ScanFilter]) -> SqlResult<Arc<dyn Source>> {
        let room = || self.room();
        if let Some(files) = self.catalog.file_source(scan, room) {
            return Ok(Arc::new(files?));
        }
        if let Some(lent) = self.catalog.lent_source(scan) {
            return Ok(Arc::new(lent?));
        }
        if scan.table.id.is_system() {
            return Ok(Arc::new(self.catalog.source(scan.table.id, &scan.columns)?));
        }
        let (entry, snapshot) = (self.entry(&scan.table)?, self.catalog.snapshot());
        let access = match &self.access {
            Some(access) => Cow::Borrowed(access),
            None => self.plan.access(scan),
        };
        if let (Some(columns), Access::Full) = (&entry.columns, &*access) {
            let room = columns.remote.is_some().then(room);
            let source = ColumnSource::new(snapshot, entry, scan, filters, room)?;
            return Ok(Arc::new(source.within(self.partition.as_ref())));
        }
        let fetches = matches!(*access, Access::Range { fetch: true, .. });
        let chunks = self.chunks(entry, &scan.columns, fetches)?;
        let source = TableSource::new(snapshot, entry, (scan, &access), chunks)?;
        Ok(Arc::new(source.within(self.partition.as_ref())))
    }

    fn lookup(&self, join: &LookupJoin) -> SqlResult<Arc<dyn Lookup>> {
        let entry = self.entry(&join.table)?;
        let chunks = self.chunks(entry, &join.columns, join.fetch)?;
        Ok(Arc::new(TableLookup::new(self.catalog.snapshot(), entry, join, chunks)))
    }
}

/// Who may end a query, and who watches it.
pub(crate) struct Watch<'a> {
    pub(crate) cancel: Cancel,
    pub(crate) activity: &'a Activity,
}

/// Keeps all rows.
struct Collect {
    batches: Mutex<Vec<RecordBatch>>,
    memory: Arc<Reservation>,
}

impl exec::Output for Collect {
    fn push<'a>(&'a self, batch: RecordBatch) -> LocalFuture<'a, SqlResult<bool>> {
        let counted = self.memory.grow(batch_bytes(&batch));
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).push(batch);
        Box::pin(async { counted.map(|()| true) })
    }
}

/// Rows go on when the time is over that functions asked to wait.
struct Delayed {
    output: Arc<dyn exec::Output>,
    catalog: SystemCatalog,
    cancel: Cancel,
}

impl exec::Output for Delayed {
    fn push<'a>(&'a self, batch: RecordBatch) -> LocalFuture<'a, SqlResult<bool>> {
        Box::pin(async move {
            unless_cancelled(&self.cancel, self.catalog.pay()).await??;
            self.output.push(batch).await
        })
    }
}

/// A query that is about to run. It holds no handle of the database, whose last one must not be
/// dropped on a worker.
pub(crate) struct Run {
    plan: Arc<Plan>,
    catalog: SystemCatalog,
    progress: Arc<Progress>,
    account: Arc<Account>,
    query: Query,
    governor: Governor,
    work_mem: usize,
    planning: Duration,
    access: Option<Access>,
    partition: Option<Partition>,
}

impl Run {
    pub(crate) fn new(
        db: &Database,
        catalog: SystemCatalog,
        plan: &Arc<Plan>,
        settings: &Settings,
        watch: Watch<'_>,
        planning: Duration,
    ) -> Run {
        let progress = Arc::new(Progress::new(plan.node_count, db.worker_count()));
        db.watch(&progress);
        let permits = Permits::new(db.shares().tasks(settings, plan));
        let mut query = Query::new(settings.mode(), permits, watch.cancel, progress.clone());
        query.beside = db.beside().evaluators.clone();
        query.bindings = plan.bindings.clone();
        query.codegen = settings.jit.map(exec::codegen);
        query.lookup_batch_rows = settings.lookup_batch_rows;
        query.spill_path = Some(db.spill_path());
        query.parts_per_worker = db.shares().parts_per_worker(db.worker_count(), db.page_bytes());
        let account = watch.activity.account();
        watch.activity.runs(LiveQuery {
            plan: plan.clone(),
            progress: progress.clone(),
            account: account.clone(),
            mode: settings.execution_mode,
            started: runtime::time::now(),
        });
        let (plan, governor, work_mem) = (plan.clone(), db.governor().clone(), settings.work_mem);
        let (access, partition) = (None, None);
        Run {
            plan,
            catalog,
            progress,
            account,
            query,
            governor,
            work_mem,
            planning,
            access,
            partition,
        }
    }

    /// Over one partition of the table of the plan's one scan.
    pub(crate) fn within(self, partition: Partition) -> Run {
        Run { partition: Some(partition), ..self }
    }

    /// With an access path of its own for the plan's one scan.
    pub(crate) fn with_access(self, access: Option<Access>) -> Run {
        Run { access, ..self }
    }

    /// The columns of the result.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.plan.root.schema.clone()
    }

    pub(crate) fn catalog(&self) -> SystemCatalog {
        self.catalog.clone()
    }

    /// Notes its tables as read as a whole, if its transaction wants to know: it may read them when that has ended.
    pub(crate) fn note_tables(&self) {
        let snapshot = self.catalog.snapshot();
        let tables = tables_of(&self.plan.root).into_iter();
        let entries = tables.filter_map(|table| snapshot.table_by_id(table.id));
        for tree in entries.flat_map(|entry| entry.trees()) {
            snapshot.read_view.note_read(tree, b"", None);
        }
    }

    /// Waits until there is memory for its operators, or until it is cancelled.
    async fn admitted(&mut self) -> SqlResult<()> {
        let admission = self.governor.admit(&self.plan, self.work_mem);
        self.query.memory = unless_cancelled(&self.query.cancel, admission).await?;
        Ok(())
    }

    /// Runs it, its rows collected.
    async fn execute(mut self) -> SqlResult<(Vec<RecordBatch>, QueryFigures)> {
        self.admitted().await?;
        let memory = self.query.memory.reserve_collected("result");
        let output = Arc::new(Collect { batches: Mutex::default(), memory });
        let figures = self.push_to(output.clone()).await?;
        let batches =
            std::mem::take(&mut *output.batches.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((batches, figures))
    }

    /// Runs it, its rows pushed to `output`.
    pub(crate) async fn into_output(
        mut self,
        output: Arc<dyn exec::Output>,
    ) -> SqlResult<QueryFigures> {
        self.admitted().await?;
        self.push_to(output).await
    }

    async fn push_to(self, output: Arc<dyn exec::Output>) -> SqlResult<QueryFigures> {
        let (catalog, cancel) = (self.catalog.clone(), self.query.cancel.clone());
        let output = Arc::new(Delayed { output, catalog: catalog.clone(), cancel: cancel.clone() });
        let (account, codegen) = (self.account, self.query.codegen.clone());
        let started = runtime::time::now();
        let tables = Arc::new(SnapshotTables {
            plan: self.plan.clone(),
            catalog: self.catalog,
            access: self.access,
            partition: self.partition,
            memory: self.query.memory.clone(),
            operator_bytes: self.governor.limit(),
        });
        let execution = exec::execute(self.plan, tables, Arc::new(self.query), output);
        account.clone().enter(execution).await?;
        unless_cancelled(&cancel, catalog.pay()).await??;
        let elapsed = runtime::time::now() - started;
        let (progress, account) = (self.progress.snapshot(), account.snapshot());
        let code = codegen.map(|codegen| codegen.figures());
        Ok(QueryFigures { elapsed, planning: self.planning, progress, account, code })
    }
}

/// The tables that a plan reads below a node.
fn tables_of(node: &Node) -> Vec<&TableDef> {
    let mut tables: Vec<_> = node.children().into_iter().flat_map(tables_of).collect();
    match &node.operator {
        Operator::Scan(scan) => tables.push(&scan.table),
        Operator::LookupJoin(join) => tables.push(&join.table),
        _ => {}
    }
    tables
}

/// Runs `plan`; `planning` is reported back with the figures.
pub(crate) async fn run(
    db: &Database,
    catalog: SystemCatalog,
    plan: &Arc<Plan>,
    settings: &Settings,
    watch: Watch<'_>,
    planning: Duration,
) -> SqlResult<(Vec<RecordBatch>, QueryFigures)> {
    Run::new(db, catalog, plan, settings, watch, planning).execute().await
}

/// Rows of a query, and what it took where that was watched.
pub(crate) type Ran = (Vec<RecordBatch>, Option<QueryFigures>);

/// As [`run`]; a plan of few rows is run by its program, if it has one.
pub(crate) async fn rows(
    db: &Database,
    catalog: SystemCatalog,
    plan: &Arc<Plan>,
    settings: &Settings,
    watch: Watch<'_>,
    planning: Duration,
) -> SqlResult<Ran> {
    if let Some(few) = few_rows(&catalog, plan, settings, &watch).await? {
        return Ok((vec![few], None));
    }
    let (batches, figures) = run(db, catalog, plan, settings, watch, planning).await?;
    Ok((batches, Some(figures)))
}

/// The rows of a plan by its program; `None` where it has none, or more rows than that has.
pub(crate) async fn few_rows(
    catalog: &SystemCatalog,
    plan: &Arc<Plan>,
    settings: &Settings,
    watch: &Watch<'_>,
) -> SqlResult<Option<RecordBatch>> {
    let rows = few_cells(catalog, plan, settings, watch).await?;
    rows.map(|rows| exec::program_batch(plan, &rows)).transpose()
}

/// The same as rows of values.
pub(crate) async fn few_cells(
    catalog: &SystemCatalog,
    plan: &Arc<Plan>,
    settings: &Settings,
    watch: &Watch<'_>,
) -> SqlResult<Option<Cells>> {
    let Some(program) = plan.program.as_ref().filter(|_| may_be_programs(settings, watch)) else {
        return Ok(None);
    };
    let depth = match settings.mode() {
        Mode::Serial | Mode::Static { .. } => Depth::One,
        Mode::OutOfOrder => Depth::Many,
    };
    let given = |id, columns: &[usize]| catalog.part_rows(id, columns);
    let (snapshot, given) = (catalog.snapshot(), &given);
    let tables = ProgramTables { snapshot, given, depth, io: IoCounters::default() };
    let run = exec::run_program(plan, program, &tables);
    let found = unless_cancelled(&watch.cancel, run).await?;
    if calls_functions(plan) {
        unless_cancelled(&watch.cancel, catalog.pay()).await??;
    }
    let is_done = !matches!(found, Ok(None));
    let reads = tables.io.reads.load(Relaxed);
    watch.activity.programmed(settings.execution_mode, is_done, reads);
    found
}

/// True if a plan calls functions of the session.
pub(crate) fn calls_functions(plan: &Plan) -> bool {
    plan.bindings.as_ref().is_some_and(|bindings| bindings.parameters.calls.is_some())
}

/// True if plans may be run by their programs, which nobody watches, and which are interpreted.
fn may_be_programs(settings: &Settings, watch: &Watch<'_>) -> bool {
    settings.enable_rowprogram
        && settings.jit != Some(Start::FirstUse)
        && !watch.activity.is_traced()
}

/// As [`run`], with an access path of its own for the plan's one scan.
pub(crate) async fn run_point(
    db: &Database,
    catalog: SystemCatalog,
    plan: &Arc<Plan>,
    settings: &Settings,
    watch: Watch<'_>,
    access: Access,
) -> SqlResult<(Vec<RecordBatch>, QueryFigures)> {
    let run = Run::new(db, catalog, plan, settings, watch, Duration::ZERO);
    run.with_access(Some(access)).execute().await
}
