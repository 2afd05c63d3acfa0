//! Queries that lock the rows that they return, in a transaction: `FOR UPDATE` and its kin.
//!
//! The rows of tables are locked one by one, of joins too. What locks rows of groups, or of an outer join
//! that has none of them, locks these tables; where it names views, it is given the right to write alone.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take;
use plan::Plan;
use runtime::sync::Cancel;
use sql::dml::{LockedQuery, ROWS_PER_WANTED};
use sql::{Query, RowLockMode, RowLocks, Statement};
use storage::planted;
use txn::locks::mode::{LockKey, LockMode};
use txn::locks::table::LockWait;
use txn::undo::ReadView;
use txn::waiting::let_others;
use types::key::KeyEncoder;
use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::block::Block;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::dml::rows::concatenated;
use crate::fault::internal;
use crate::isolation;
use crate::query::{self, Watch};
use crate::result::{ResultSet, StatementResult};
use crate::system::catalog::SystemCatalog;

/// A query that locks rows, and the definitions that it goes by.
struct Bound {
    locked: Arc<LockedQuery>,
    by: Arc<Snapshot>,
}

/// Rows that a query has found, with what locks them.
struct Found {
    schema: SchemaRef,
    rows: RecordBatch,
    /// Of each table one for each row.
    locks: Vec<Vec<(LockKey, LockMode)>>,
}

impl Session {
    /// Begins a query: its rows where it locks them, as [`Session::locked`].
    ///
    /// # Errors
    /// Those of [`Session::locked`], and of waiting for who alters sequences.
    pub(crate) async fn begun(
        &mut self,
        query: &Query,
        cancel: &Cancel,
    ) -> SqlResult<Option<ResultSet>> {
        self.await_numbers(query).await?;
        self.locked(query, cancel).await
    }

    /// Runs a query that locks rows of tables; `None` when it is none, which nothing has been done about
    /// but that its transaction may write alone now. Where no transaction goes on, what it locks is locked
    /// until it ends: it waits for others, or skips what they have.
    ///
    /// # Errors
    /// Those of the query; 42501 for rows that may not be changed; 55P03 for `NOWAIT`; 40001, 40P01.
    pub(crate) async fn locked(
        &mut self,
        query: &Query,
        cancel: &Cancel,
    ) -> SqlResult<Option<ResultSet>> {
        query.check_locked_names()?;
        crate::privileges::row_locks(
            &self.db.snapshot(),
            &**self.db.system(),
            self.info.role,
            query,
        )?;
        self.look().await;
        self.look_alone();
        let Some(kind) = query.row_locks() else { return Ok(None) };
        let locked = query.locked_relations().iter();
        let locked = locked.filter(|relation| relation.schema.as_deref() == Some("public"));
        let names: BTreeSet<String> = locked.map(|relation| relation.name.clone()).collect();
        self.mean_names(!names.is_empty(), names);
        let wait = match kind {
            RowLocks::Waits => self.lock_wait(),
            RowLocks::DoesNotWait => self.lock_wait().without_waiting(),
        };
        let goes_on = self.locks_rows();
        let Some(bound) = self.bound_locks(query)? else {
            if goes_on {
                self.lock_relations(query, &wait).await?;
            }
            return Ok(None);
        };
        if !self.has_written() && goes_on {
            self.begin_writing(&wait).await?;
        }
        let is_alone = !goes_on && self.begin_rows().await?;
        let (result, changes) = match self.lock_rows((query, bound), kind, &wait, cancel).await {
            Ok((rows, catalog)) => (Ok(rows), catalog.changes()),
            Err(error) => (Err(error), vec![]),
        };
        let ended = self.end_rows(is_alone, result.map(StatementResult::Rows)).await?;
        self.apply(changes)?;
        match ended {
            StatementResult::Rows(rows) => Ok(Some(rows)),
            StatementResult::Command { .. } => Err(SqlError::internal("a query without rows")),
        }
    }

    /// A query that locks rows, by definitions as they are now; `None` when it locks whole tables.
    fn bound_locks(&self, query: &Query) -> SqlResult<Option<Bound>> {
        let catalog = self.system_catalog();
        let by = catalog.snapshot().clone();
        if let Some(generic) = query.bound.as_ref().and_then(|bound| bound.generic())
            && let Some(locked) = generic.locked().filter(|_| generic.holds(&catalog))
        {
            return Ok(Some(Bound { locked: locked.clone(), by }));
        }
        let valued = with_values(query)?;
        let locked = LockedQuery::of(&valued, &catalog)?;
        Ok(locked.map(|locked| Bound { locked: Arc::new(locked), by }))
    }

    /// Keeps others from changing the tables whose rows a query locks.
    async fn lock_relations(&mut self, query: &Query, wait: &LockWait) -> SqlResult<()> {
        let relations = query.locked_relations();
        let names: Vec<&str> = relations.iter().map(|relation| relation.name.as_str()).collect();
        self.lock_whole(&names, LockMode::Update, wait).await
    }

    /// Finds rows and locks them, until they are as they were found; the catalog that has what they were found to
    /// change beside.
    async fn lock_rows(
        &mut self,
        (query, mut bound): (&Query, Bound),
        kind: RowLocks,
        wait: &LockWait,
        cancel: &Cancel,
    ) -> SqlResult<(ResultSet, SystemCatalog)> {
        let limit = bound.locked.wanted();
        let mut looked_at = bound.locked.looked_at_first();
        let block = self.db.block().cloned();
        let block = block.ok_or_else(|| SqlError::internal("rows are locked in a block"))?;
        let locked_before = block.count_locked();
        loop {
            block.enter(wait).await?;
            let Some(catalog) = self.lock_tables_of(&block, &bound, kind, wait).await? else {
                bound = self.bound_locks(query)?.ok_or_else(isolation::concurrent_update)?;
                continue;
            };
            let locked = &bound.locked;
            let found = self.found((query, locked), looked_at, &catalog, cancel).await?;
            let kept = match locked.skips {
                None if planted::is("for-update-unlocked") => {
                    (0..found.rows.num_rows() as u32).collect()
                }
                None => match lock_each(&block, &found, locked, kind, wait).await {
                    Err(error) if block.has_let_go(locked_before, &error) => {
                        let_others(cancel).await?;
                        continue;
                    }
                    locked => {
                        locked?;
                        (0..found.rows.num_rows() as u32).collect()
                    }
                },
                Some(_) => block.lock_free(&found.locks[0], limit)?,
            };
            let view = &catalog.snapshot().read_view;
            let is_overtaken = kept.iter().any(|row| {
                found.locks.iter().any(|locks| is_outdated(view, &locks[*row as usize]))
            });
            if is_overtaken {
                let overtaken = block.overtaken();
                if !block.take_runs_again() {
                    return Err(overtaken);
                }
                let_others(cancel).await?;
                continue;
            }
            let is_all = looked_at.is_none_or(|count| (found.rows.num_rows() as u64) < count);
            if !is_all && limit.is_some_and(|limit| (kept.len() as u64) < limit) {
                looked_at = looked_at.map(|count| count.saturating_mul(ROWS_PER_WANTED));
                continue;
            }
            self.save_numbers(catalog.given()).await?;
            return found.result(&kept, locked).map(|rows| (rows, catalog));
        }
    }

    /// Locks the tables of a query, whose definitions stay as they are then; the catalog behind that. Nothing
    /// if others have changed them since those that it goes by.
    async fn lock_tables_of(
        &self,
        block: &Block,
        Bound { locked, by: snapshot }: &Bound,
        kind: RowLocks,
        wait: &LockWait,
    ) -> SqlResult<Option<SystemCatalog>> {
        let names = locked.tables.iter().map(|table| &table.name);
        let entries = names.map(|name| snapshot.table(name)).collect::<SqlResult<Vec<_>>>()?;
        let whole =
            |entry: &&Arc<TableEntry>| (LockKey::of_table(entry.tree_id), LockMode::KeyShare);
        let first = locked.tables.first().map_or("", |table| &table.name);
        let taken = block.lock(entries.iter().map(whole).collect(), wait).await;
        taken.map_err(|error| of_nowait(error, kind, first))?;
        let catalog = self.system_catalog();
        if entries.iter().all(|entry| block.has_as_found(snapshot, entry.def.id)) {
            return Ok(Some(catalog));
        }
        let overtaken = block.overtaken();
        if block.take_runs_again() { Ok(None) } else { Err(overtaken) }
    }

    /// The rows of the query as its transaction sees them now.
    async fn found(
        &self,
        (query, locked): (&Query, &LockedQuery),
        count_max: Option<u64>,
        catalog: &SystemCatalog,
        cancel: &Cancel,
    ) -> SqlResult<Found> {
        let plan = self.plan_locked((query, locked), count_max, catalog, cancel).await?;
        let watch = Watch { cancel: cancel.clone(), activity: &self.activity };
        let planning = std::time::Duration::ZERO;
        let ran = query::rows(&self.db, catalog.clone(), &plan, &self.settings, watch, planning);
        let (batches, _) = ran.await?;
        let rows = concatenated(&plan.root.schema, &batches)?;
        let (mut locks, mut first) = (vec![], rows.num_columns() - locked.key_count());
        for table in &locked.tables {
            let entry = catalog.snapshot().table(&table.name)?;
            locks.push(locks_of(entry, &rows, first, mode_of(table.mode))?);
            first += table.key_count;
        }
        Ok(Found { schema: plan.root.schema.clone(), rows, locks })
    }
}

impl Session {
    /// The plan that finds the rows of a query which locks them: for all values, where there is one
    /// and as many rows are looked at as it is for.
    async fn plan_locked(
        &self,
        (query, locked): (&Query, &LockedQuery),
        count_max: Option<u64>,
        catalog: &SystemCatalog,
        cancel: &Cancel,
    ) -> SqlResult<Arc<Plan>> {
        let is_first = count_max == locked.looked_at_first();
        let known = query.bound.as_ref().filter(|bound| is_first && bound.generic().is_some());
        if let Some(known) = known
            && let Some((_, plan, _)) = self.planned_before(known, catalog, true)
        {
            return Ok(plan);
        }
        let query = with_values(query)?.into_owned();
        let wish = self.wish(query.bound.as_ref().filter(|_| is_first));
        let (theirs, options) = (catalog.clone(), self.planner_options_now());
        let work = move || {
            let anew = || SqlError::internal("a query locks no rows any more");
            let locked = LockedQuery::of(&query, &theirs)?.ok_or_else(anew)?;
            let target = locked.targets(&theirs)?;
            let plan = sql::plan_query(&locked.query(count_max), &target, &options)?;
            let made = wish.map(|wish| {
                let generic = wish.made(&plan, &theirs, &options)?;
                Ok((wish, generic))
            });
            Ok((plan, made.transpose()?))
        };
        let (plan, made) = self.planner().plan(false, cancel, work).await?;
        if let Some((wish, generic)) = made {
            self.keep_plan(wish, generic);
        }
        Ok(Arc::new(plan))
    }

    /// The columns of a query with a plan that is kept for all values, but for the keys of rows
    /// that it locks.
    pub(super) fn described_before(&self, bound: &sql::Bound) -> Option<SchemaRef> {
        let generic = bound.generic()?;
        let schema = generic.schema().filter(|_| generic.holds(&self.system_catalog()))?;
        let Some(locked) = generic.locked() else { return Some(schema) };
        let own = schema.fields().len() - locked.key_count();
        let metadata = schema.metadata().clone();
        Some(Arc::new(Schema::new_with_metadata(schema.fields()[..own].to_vec(), metadata)))
    }
}

/// The query with its values in its syntax tree, in place of the parameters of a plan for all
/// values.
fn with_values(query: &Query) -> SqlResult<Cow<'_, Query>> {
    let Some(bound) = query.bound.as_ref().filter(|bound| bound.generic().is_some()) else {
        return Ok(Cow::Borrowed(query));
    };
    match bound.again()? {
        Statement::Query(query) => Ok(Cow::Owned(query)),
        _ => Err(SqlError::internal("a query is another statement now")),
    }
}

impl Found {
    /// The rows at these positions, without what `OFFSET` leaves out and without their keys.
    fn result(self, kept: &[u32], locked: &LockedQuery) -> SqlResult<ResultSet> {
        let (_, offset) = locked.skips.unwrap_or_default();
        let kept = kept.get(offset as usize..).unwrap_or_default();
        let columns: Vec<usize> = (0..self.rows.num_columns() - locked.key_count()).collect();
        let fields: Vec<_> = columns.iter().map(|at| self.schema.fields()[*at].clone()).collect();
        let positions = arrow_array::UInt32Array::from(kept.to_vec());
        let taken = columns.iter().map(|at| take(self.rows.column(*at), &positions, None));
        let taken = taken.collect::<Result<Vec<_>, _>>().map_err(internal)?;
        let metadata = self.schema.metadata().clone();
        let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields, metadata));
        let count = RecordBatchOptions::new().with_row_count(Some(positions.len()));
        let rows = RecordBatch::try_new_with_options(schema.clone(), taken, &count);
        let rows = rows.map_err(internal)?;
        let tag = format!("SELECT {}", rows.num_rows());
        Ok(ResultSet { schema, batches: vec![rows], tag, figures: None })
    }
}

/// Locks the rows of each table.
async fn lock_each(
    block: &Block,
    found: &Found,
    locked: &LockedQuery,
    kind: RowLocks,
    wait: &LockWait,
) -> SqlResult<()> {
    for (table, locks) in locked.tables.iter().zip(&found.locks) {
        let taken = block.lock(locks.clone(), wait).await;
        taken.map_err(|error| of_nowait(error, kind, &table.name))?;
    }
    Ok(())
}

/// True if others have changed a row since the view in a way that a lock of it does not allow: who
/// refers to a row lets others change what is no key.
fn is_outdated(view: &ReadView, (LockKey { tree, key }, mode): &(LockKey, LockMode)) -> bool {
    let key = std::iter::once(key.as_slice());
    match mode {
        LockMode::KeyShare => view.is_key_outdated(*tree, key),
        _ => view.is_outdated(*tree, key),
    }
}

fn mode_of(mode: RowLockMode) -> LockMode {
    match mode {
        RowLockMode::KeyShare => LockMode::KeyShare,
        RowLockMode::Share => LockMode::Share,
        RowLockMode::NoKeyUpdate => LockMode::NoKeyUpdate,
        RowLockMode::Update => LockMode::Update,
    }
}

/// What locks the rows whose keys begin at the column `first`.
fn locks_of(
    entry: &TableEntry,
    rows: &RecordBatch,
    first: usize,
    mode: LockMode,
) -> SqlResult<Vec<(LockKey, LockMode)>> {
    let encoder = KeyEncoder::new(&entry.layout.key, &rows.columns()[first..]);
    let lock = |row: usize| {
        let mut key = vec![];
        encoder.encode(row, &mut key)?;
        Ok((LockKey { tree: entry.tree_of_row(&key), key }, mode))
    };
    (0..rows.num_rows()).map(lock).collect()
}

fn of_nowait(error: SqlError, kind: RowLocks, table: &str) -> SqlError {
    if kind != RowLocks::DoesNotWait || error.state != SqlState("55P03") {
        return error;
    }
    SqlError::new(error.state, format!("could not obtain lock on row in relation \"{table}\""))
}
