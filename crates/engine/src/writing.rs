//! What a statement that writes works with.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use plan::Plan;
use plan::catalog::{IndexDef, TableId};
use plan::constraints::{Deferral, ForeignKey};
use runtime::sync::Cancel;
use runtime::time;
use sql::dml::{Execution, TargetCatalog};
use sql::{Bound, PlannerOptions, Query, RowChange, Statement};
use storage::{Store, planted};
use txn::locks::mode::{LockKey, LockMode};
use txn::locks::table::{DEADLOCK, LockWait, WriteRight};
use txn::waiting::let_others;
use types::cells::Cells;
use types::{SqlError, SqlResult};

use crate::activity::Activity;
use crate::block::Block;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::commit::StoreFuture;
use crate::database::Database;
use crate::deferred::{Doubt, Doubted};
use crate::dml::references::Reference;
use crate::isolation;
use crate::load::target::Target;
use crate::planning::Planner;
use crate::query::{self, Run, Watch};
use crate::session::state::Session;
use crate::settings::Settings;
use crate::stream::rows::QueryRows;
use crate::system::catalog::SystemCatalog;

/// How often one that has locked nothing else tries to have a table for itself, and lets others go
/// first.
const ATTEMPTS: u32 = 8;

/// A query that finds the rows which a statement changes, or those that it adds.
pub(crate) struct Finding {
    plan: Arc<Plan>,
    catalog: SystemCatalog,
}

/// What a statement that writes works with: from its first look at the catalog to its end it has the right
/// to write, beside others or alone.
pub(crate) struct Writing<'a> {
    session: &'a Session,
    pub(crate) db: &'a Database,
    pub(crate) settings: &'a Settings,
    pub(crate) options: PlannerOptions,
    pub(crate) catalog: SystemCatalog,
    pub(crate) cancel: Cancel,
    pub(crate) activity: &'a Activity,
    pub(crate) planner: Planner,
    wait: LockWait,
    /// `None` in a block, which has it itself.
    pub(crate) right: Option<WriteRight>,
    /// The transaction has locked nothing but the definitions of the statement's tables.
    is_free: bool,
}

impl Finding {
    /// The types of its columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.plan.root.schema
    }
}

impl<'a> Writing<'a> {
    pub(crate) fn new(
        session: &'a Session,
        wait: LockWait,
        right: Option<WriteRight>,
    ) -> Writing<'a> {
        let db = session.database();
        Writing {
            session,
            db,
            settings: &session.settings,
            options: session.planner_options_now(),
            catalog: session.catalog_over(db.newest()),
            cancel: wait.cancel.clone(),
            activity: session.activity(),
            planner: session.planner(),
            wait,
            right,
            is_free: false,
        }
    }

    /// The block that changes rows.
    pub(crate) fn block(&self) -> SqlResult<&'a Arc<Block>> {
        self.db.block().ok_or_else(|| SqlError::internal("rows are changed in a block"))
    }

    /// Locks keys until the transaction ends.
    ///
    /// # Errors
    /// 40P01, 55P03, 57014.
    pub(crate) async fn lock(&self, keys: Vec<(LockKey, LockMode)>) -> SqlResult<()> {
        match (self.db.block(), &self.right) {
            (Some(block), _) => block.lock(keys, &self.wait).await,
            (None, Some(right)) => right.lock(keys, &self.wait).await,
            (None, None) => Ok(()),
        }
    }

    /// Locks keys of a table, and the table against who changes its definition. A statement that has found
    /// another definition runs again.
    ///
    /// # Errors
    /// As [`Writing::lock`], and 40001.
    pub(crate) async fn lock_rows(
        &self,
        entry: &TableEntry,
        mut keys: Vec<(LockKey, LockMode)>,
    ) -> SqlResult<()> {
        keys.push((LockKey::of_table(entry.tree_id), LockMode::KeyShare));
        self.lock(keys).await?;
        match self.db.block() {
            Some(block) if !block.has_as_found(self.snapshot(), entry.def.id) => {
                Err(block.overtaken())
            }
            _ => Ok(()),
        }
    }

    /// Has a table for itself from now on, with those that refer to it and to which it refers;
    /// others go on with other tables. Who did not have it may find what others have done to it
    /// since the statement began.
    ///
    /// # Errors
    /// As [`Writing::lock`] and [`Block::define`].
    pub(crate) async fn alone(&self, entry: &Arc<TableEntry>) -> SqlResult<()> {
        let Some(block) = self.db.block() else { return Ok(()) };
        if block.keeps(entry.def.id) {
            return Ok(());
        }
        for attempt in 1.. {
            if self.is_free {
                // Else two that do the same would wait for each other.
                block.right()?.let_go();
            }
            match self.define_alone(block, entry).await {
                Err(error) if self.is_free && error.state == DEADLOCK && attempt < ATTEMPTS => {}
                done => return done,
            }
            let_others(&self.cancel).await?;
        }
        Ok(())
    }

    /// First the tables: a transaction that waits for the right to define has no definitions yet,
    /// and can let go. Others may have written them anew meanwhile, so that they have other trees:
    /// nobody does any more when the transaction has the right, and it locks them as they are then.
    async fn define_alone(&self, block: &Block, entry: &Arc<TableEntry>) -> SqlResult<()> {
        if entry.lies_elsewhere() {
            return block.exclude(&self.wait).await;
        }
        let whole = |entry: &Arc<TableEntry>| (LockKey::of_table(entry.tree_id), LockMode::Update);
        if self.db.has_table_alone(self.snapshot(), entry) {
            self.lock(vec![whole(entry)]).await?;
            block.define(&self.wait).await?;
        } else {
            self.lock(self.snapshot().around(entry).map(whole).collect()).await?;
            block.define(&self.wait).await?;
            let now = block.changed();
            let entry = now.table_by_id(entry.def.id).ok_or_else(|| block.overtaken())?;
            self.lock(now.around(entry).map(whole).collect()).await?;
        }
        block.note_kept(&[entry.def.id]);
        Ok(())
    }

    /// Locks the definitions of tables, of which the statement has found these. What the transaction had locked
    /// before says whether it can let them go.
    ///
    /// # Errors
    /// As [`Writing::lock`], and 40001 when one of them has another definition by now.
    pub(crate) async fn lock_definitions(&mut self, tables: &[Arc<TableEntry>]) -> SqlResult<()> {
        let block = self.block()?;
        let is_free = block.count_locked() == 0 && !block.has_changed() && !block.defines();
        let key = |entry: &Arc<TableEntry>| (LockKey::of_table(entry.tree_id), LockMode::KeyShare);
        self.lock(tables.iter().map(key).collect()).await?;
        self.is_free = is_free;
        let block = self.block()?;
        let is_as_found =
            |entry: &Arc<TableEntry>| block.has_as_found(self.snapshot(), entry.def.id);
        match tables.iter().all(is_as_found) {
            true => Ok(()),
            false => Err(block.overtaken()),
        }
    }

    /// Whether others have changed definitions since a `WITH` has found its tables, where one of its parts has
    /// waited to change them itself: it `had_them` before or not. Statements that have one part look at their
    /// table anew ([`Writing::refreshed`]).
    pub(crate) fn has_lagged(&self, had_them: bool) -> SqlResult<bool> {
        let block = self.block()?;
        // Else nobody could, or the transaction has failed for that (`Block::exclude`).
        let may_lag = block.is_frozen() && !had_them && !block.keeps_version();
        Ok(may_lag && !block.changed().has_definitions_of(self.snapshot()))
    }

    /// A table as it is now, for who has just got it for itself.
    ///
    /// # Errors
    /// 40001 when its definition has changed.
    pub(crate) fn refreshed(&self, entry: &Arc<TableEntry>) -> SqlResult<Arc<TableEntry>> {
        let newest = self.db.newest();
        let now = newest.table_by_id(entry.def.id).filter(|now| now.has_shape_of(entry));
        now.cloned().ok_or_else(|| self.block().map_or_else(|error| error, |b| b.overtaken()))
    }

    /// Whether a constraint is checked when the transaction commits.
    pub(crate) fn defers(&self, name: &str, deferral: Deferral) -> bool {
        self.session.deferrals().defers(name, deferral)
    }

    /// A table to be loaded. What of its rows is not checked meanwhile is before the transaction commits.
    pub(crate) fn target(&self, entry: &Arc<TableEntry>) -> SqlResult<Target> {
        let indexes = entry.def.indexes.iter();
        let is_deferred = |index: &&Arc<IndexDef>| self.defers(&index.name, index.deferral);
        let deferred: Vec<_> = indexes.filter(is_deferred).cloned().collect();
        let doubt = |index: &Arc<IndexDef>| {
            let (table, constraint, values) = (entry.def.id, index.name.clone(), vec![]);
            Doubt { table, constraint, what: Doubted::Unique, values }
        };
        if !deferred.is_empty() {
            self.block()?.note_doubts(deferred.iter().map(doubt));
        }
        let unchecked = deferred.iter().map(|index| index.id).collect();
        Ok(Target { unchecked, ..Target::of(entry.clone()) })
    }

    /// The table that a foreign key refers to, as it is now.
    ///
    /// # Errors
    /// XX000
    pub(crate) fn referred(&self, key: &ForeignKey) -> SqlResult<Arc<TableEntry>> {
        let now = self.db.block().map(|block| block.changed());
        let now = now.as_ref().unwrap_or(self.snapshot());
        let table = now.table_by_id(TableId(key.table)).cloned();
        table.ok_or_else(|| SqlError::internal("a foreign key refers to no table"))
    }

    /// Refuses to go by a key that others have taken away since the version which the transaction keeps; if
    /// not `was_there`, also by one that they have given.
    ///
    /// # Errors
    /// 40001; 72000.
    pub(crate) fn check_seen(
        &self,
        reference: &Reference,
        key: &[u8],
        was_there: bool,
    ) -> SqlResult<()> {
        if !self.db.block().is_some_and(|block| block.keeps_version()) {
            return Ok(());
        }
        let replaced = reference.replaced(key, &self.snapshot().read_view)?;
        match replaced.iter().any(|(_, old)| old.is_some() || !was_there) {
            true => Err(isolation::concurrent_update()),
            false => Ok(()),
        }
    }

    /// Notes from now on what it reads: outside of a block it is a transaction, which is serializable.
    pub(crate) fn note_reads(&mut self) {
        let snapshot = self.snapshot();
        let noting = snapshot.with_view(snapshot.read_view.pinned(true));
        self.catalog = self.session.catalog_over(noting);
    }

    /// The catalog before the statement.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        self.catalog.snapshot()
    }

    /// The table named `name`, or 42P01 with the nearest name.
    pub(crate) fn entry(&self, name: &str) -> SqlResult<Arc<TableEntry>> {
        self.snapshot().table(name).cloned()
    }

    /// Makes a change, which is durable and visible when the statement has settled.
    ///
    /// # Errors
    /// As [`Database::change`].
    pub(crate) async fn change(
        &self,
        change: impl for<'s> FnOnce(&'s Store, &'s mut Snapshot) -> StoreFuture<'s> + 'static,
    ) -> SqlResult<()> {
        self.note_numbers();
        let view = &self.snapshot().read_view;
        let reads = (self.db.block().is_none() && view.notes_reads()).then(|| view.clone());
        self.db.change(self.right.as_ref(), reads, change).await
    }

    /// The numbers that sequences gave the statement become durable with its change. To be called before
    /// that.
    pub(crate) fn note_numbers(&self) {
        self.db.versions().note_given(&self.catalog.given());
    }

    /// The statement has altered sequences: who takes numbers waits for the transaction from now
    /// on. One that ends with the statement is about to.
    ///
    /// # Errors
    /// XX000 when the transaction has ended.
    pub(crate) fn note_numbers_altered(&self) -> SqlResult<()> {
        let Some(block) = self.db.block() else { return Ok(()) };
        block.right().map(|right| right.note_numbers_altered())
    }

    /// The end of the statement: gives the right to write on, and waits until what it changed is durable.
    ///
    /// # Errors
    /// That of the statement, or why it does not become durable.
    pub(crate) async fn settle<T>(self, done: SqlResult<T>) -> SqlResult<T> {
        let done = done?;
        if planted::is("definition-not-awaited") {
            return Ok(done);
        }
        self.db.settle(self.right).await.map(|()| done)
    }

    /// Runs a query over the state before the statement; its rows. With a `target` it is one that names
    /// the table which the statement changes.
    pub(crate) async fn batches(
        &self,
        text: &Query,
        target: Option<&str>,
    ) -> SqlResult<(SchemaRef, Vec<RecordBatch>)> {
        self.batches_of(self.catalog.clone(), text, target).await
    }

    async fn batches_of(
        &self,
        catalog: SystemCatalog,
        text: &Query,
        target: Option<&str>,
    ) -> SqlResult<(SchemaRef, Vec<RecordBatch>)> {
        let plan = self.plan(text, target).await?;
        self.run_plan(catalog, &plan).await
    }

    async fn run_plan(
        &self,
        catalog: SystemCatalog,
        plan: &Arc<Plan>,
    ) -> SqlResult<(SchemaRef, Vec<RecordBatch>)> {
        let watch = Watch { cancel: self.cancel.clone(), activity: self.activity };
        let few = match self.session.trace() {
            None => query::few_rows(&catalog, plan, self.settings, &watch).await?,
            Some(_) => None,
        };
        let batches = match few {
            Some(few) => vec![few],
            None => self.run_pipelines(catalog, plan).await?,
        };
        Ok((plan.root.schema.clone(), batches))
    }

    async fn run_pipelines(
        &self,
        catalog: SystemCatalog,
        plan: &Arc<Plan>,
    ) -> SqlResult<Vec<RecordBatch>> {
        let watch = Watch { cancel: self.cancel.clone(), activity: self.activity };
        let (db, settings) = (self.db, self.settings);
        let ran = query::run(db, catalog, plan, settings, watch, Duration::ZERO).await?;
        if let Some(trace) = self.session.trace() {
            trace.note(plan, Some(ran.1));
        }
        Ok(ran.0)
    }

    /// The query that finds the rows which a statement changes, or those that it adds; that makes its generic
    /// plan when it runs for the second time. With a `target` it is one that names the table which changes.
    pub(crate) async fn finding(
        &self,
        bound: Option<&Arc<Bound>>,
        text: &Query,
        target: Option<&str>,
    ) -> SqlResult<Finding> {
        let began = time::now();
        let plan = self.plan(text, target).await?;
        let is_large = text.is_large(&|name| self.snapshot().views.get(name).cloned());
        if let Some(wish) = self.session.wish(bound).filter(|_| !is_large) {
            let (catalog, options, theirs) = (self.catalog.clone(), self.options, plan.clone());
            let work = move || {
                let generic = wish.made(&theirs, &catalog, &options)?;
                Ok((wish, generic))
            };
            let (wish, generic) = self.prepared(false, work).await?;
            self.session.keep_plan(wish, generic);
        }
        self.activity.planned(began.elapsed());
        Ok(Finding { plan, catalog: self.catalog.clone() })
    }

    /// The statement that an execution has not done, to be planned: by its generic plan, if it has
    /// one.
    ///
    /// # Errors
    /// Those of parsing.
    pub(crate) fn planned(&self, execution: &Execution) -> SqlResult<Statement> {
        match execution.prepared() {
            Some((template, values)) => self.session.bound_again(template, values),
            None => execution.planned(),
        }
    }

    /// The same by the generic plan of the statement, and what is done with the rows; `None` where that is good no
    /// more.
    pub(crate) fn finding_again<'b>(&self, bound: &'b Bound) -> Option<(Finding, &'b RowChange)> {
        let how = bound.generic()?.change()?;
        let (catalog, plan, _) = self.session.planned_before(bound, &self.catalog, true)?;
        Some((Finding { plan, catalog }, how))
    }

    /// All rows that are found, where they are found by a program.
    pub(crate) async fn found_few(&self, finding: &Finding) -> SqlResult<Option<Cells>> {
        if self.session.trace().is_some() {
            return Ok(None);
        }
        let watch = Watch { cancel: self.cancel.clone(), activity: self.activity };
        query::few_cells(&finding.catalog, &finding.plan, self.settings, &watch).await
    }

    /// Begins to look for rows.
    pub(crate) fn find(&self, finding: &Finding) -> QueryRows {
        let watch = Watch { cancel: self.cancel.clone(), activity: self.activity };
        let (catalog, plan) = (finding.catalog.clone(), &finding.plan);
        QueryRows::start(Run::new(self.db, catalog, plan, self.settings, watch, Duration::ZERO))
    }

    /// Notes what it took to find rows, which are all taken.
    pub(crate) fn note_found(&self, finding: &Finding, rows: &mut QueryRows) {
        if let Some(trace) = self.session.trace() {
            trace.note(&finding.plan, rows.figures());
        }
    }

    /// All rows that are found.
    pub(crate) async fn found(&self, finding: &Finding) -> SqlResult<Vec<RecordBatch>> {
        self.run_pipelines(finding.catalog.clone(), &finding.plan).await
    }

    /// The same in one batch.
    pub(crate) async fn found_together(&self, finding: &Finding) -> SqlResult<RecordBatch> {
        let (schema, batches) = self.run_plan(finding.catalog.clone(), &finding.plan).await?;
        crate::dml::rows::concatenated(&schema, &batches)
    }

    /// All rows of a query in one batch, as [`Writing::batches`].
    pub(crate) async fn rows(&self, text: &Query, target: Option<&str>) -> SqlResult<RecordBatch> {
        let (schema, batches) = self.batches(text, target).await?;
        crate::dml::rows::concatenated(&schema, &batches)
    }

    /// The rows of a query about the state that constraints hold for, in one batch: with all that others
    /// have committed before now.
    pub(crate) async fn rows_of_latest(
        &self,
        text: &Query,
        target: &str,
    ) -> SqlResult<RecordBatch> {
        let latest = self.db.block().map_or_else(|| self.db.newest(), |block| block.latest());
        let latest = self.session.catalog_over(latest);
        let (schema, batches) = self.batches_of(latest, text, Some(target)).await?;
        crate::dml::rows::concatenated(&schema, &batches)
    }

    /// Begins to look for rows that are added as they come.
    pub(crate) fn stream(&self, finding: &Finding) -> QueryRows {
        if let Some(trace) = self.session.trace() {
            trace.note(&finding.plan, None);
        }
        self.find(finding)
    }

    /// Does what comes before a plan, here or beside the workers.
    ///
    /// # Errors
    /// Those of `work`; 57014.
    pub(crate) async fn prepared<T: Send + 'static>(
        &self,
        is_large: bool,
        work: impl FnOnce() -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        self.planner.plan(is_large, &self.cancel, work).await
    }

    /// How a query is run, as [`Writing::batches`].
    ///
    /// # Errors
    /// Those of planning; 57014.
    pub(crate) async fn plan(&self, text: &Query, target: Option<&str>) -> SqlResult<Arc<Plan>> {
        let is_large = text.is_large(&|name| self.snapshot().views.get(name).cloned());
        Box::pin(self.catalog.open_files(text, &self.cancel)).await?;
        let (catalog, options) = (self.catalog.clone(), self.options);
        let (query, target) = (text.clone(), target.map(str::to_owned));
        let plan = move || match target {
            None => sql::plan_query(&query, &catalog, &options),
            Some(name) => sql::plan_query(&query, &TargetCatalog::new(&catalog, &name)?, &options),
        };
        self.prepared(is_large, plan).await.map(Arc::new)
    }
}
