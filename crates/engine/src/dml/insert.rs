//! `INSERT`, with what it does about conflicts.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use arrow_select::filter::filter_record_batch;
use sql::dml::{Conflict, ConflictAction, Defaults, RowExprs, returning};
use sql::parse::{Insert, Statement};
use sql::{Bound, InsertRows, RowChange, insert_rows, rows_of_query};
use txn::locks::mode::{LockKey, LockMode};
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult, SqlState};

use super::change::{Change, commit};
use super::constraints::checked;
use super::incoming::{Source, insert_query, may_stream};
use super::outcome::outcome;
use super::references::{Reference, stored_rows};
use super::rows::{NewRows, Rows, concatenated};
use super::{compiled, foreign};
use crate::catalog::entry::TableEntry;
use crate::fault::internal;
use crate::result::StatementResult;
use crate::writing::{Finding, Writing};

/// Values that are computed at once; more keep a worker too long.
const VALUES_MAX: usize = 2048;

/// Inserts the rows of a statement.
pub(crate) async fn insert(
    writing: &Writing<'_>,
    insert: &Arc<Insert>,
) -> SqlResult<StatementResult> {
    let Some(execution) = insert.execution() else {
        return Box::pin(planned(writing, insert)).await;
    };
    if let Some(result) = compiled::insert(writing, execution).await? {
        return Ok(result);
    }
    match writing.planned(execution)? {
        Statement::Insert(insert) => Box::pin(planned(writing, &Arc::new(insert))).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// The same with its values bound anew.
async fn planned(writing: &Writing<'_>, insert: &Arc<Insert>) -> SqlResult<StatementResult> {
    if let Some(bound) = insert.bound.as_ref().filter(|bound| bound.generic().is_some()) {
        return Box::pin(again(writing, insert, bound)).await;
    }
    let catalog = &writing.catalog;
    // Views and system relations take no rows.
    sql::dml::TargetCatalog::new(catalog, &insert.table)?;
    let entry = writing.entry(&insert.table)?;
    let returning = returning(&**insert, catalog)?;
    let conflict = Conflict::of(insert, catalog)?;
    let mut defaults = Defaults::new(&entry.def, catalog)?;
    let (theirs, own) = (insert.clone(), catalog.clone());
    let computed = writing.prepared(insert.value_count() > VALUES_MAX, move || {
        let rows = insert_rows(&theirs, &own, &mut defaults)?;
        Ok((rows, defaults))
    });
    let (rows, mut defaults) = computed.await?;
    let rows = match rows {
        InsertRows::Values(rows) => rows,
        InsertRows::Queries(queries, ordinals) if queries.len() == 1 => {
            let finding = writing.finding(insert.bound.as_ref(), &queries[0], None).await?;
            let how = RowChange { ordinals, conflict, returning };
            return Box::pin(add(writing, insert, &finding, &how, defaults)).await;
        }
        InsertRows::Queries(queries, targets) => {
            let mut rows = vec![];
            for query in &queries {
                let found = writing.rows(query, None).await?;
                rows.push(rows_of_query(&entry.def, &targets, &found, insert, &mut defaults)?);
            }
            concatenated(&sql::incoming_schema(&entry.def).arrow(), &rows)?
        }
    };
    let rows = NewRows::Vectors(checked(&entry.def, catalog, rows)?);
    write(writing, &entry, rows, conflict.as_ref(), returning.as_ref()).await
}

/// The same by a plan that was made before.
async fn again(
    writing: &Writing<'_>,
    insert: &Insert,
    bound: &Bound,
) -> SqlResult<StatementResult> {
    if let Some((finding, how)) = writing.finding_again(bound) {
        let table = &writing.entry(&insert.table)?.def;
        let defaults = Defaults::new(table, &writing.catalog)?;
        return Box::pin(add(writing, insert, &finding, &how, defaults)).await;
    }
    match bound.again()? {
        Statement::Insert(insert) => Box::pin(planned(writing, &Arc::new(insert))).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// Inserts the rows that a query finds.
async fn add(
    writing: &Writing<'_>,
    insert: &Insert,
    finding: &Finding,
    how: &RowChange,
    mut defaults: Defaults,
) -> SqlResult<StatementResult> {
    let RowChange { ordinals, conflict, returning } = how;
    let entry = writing.entry(&insert.table)?;
    if returning.is_none() && conflict.is_none() && may_stream(&entry) {
        let source = Source { finding, targets: ordinals, insert };
        let inserted = Box::pin(insert_query(writing, &entry, &source, &mut defaults));
        let count = inserted.await?;
        return Ok(StatementResult::Command { tag: format!("INSERT 0 {count}") });
    }
    let found = writing.found_together(finding).await?;
    let rows = rows_of_query(&entry.def, ordinals, &found, insert, &mut defaults)?;
    let rows = NewRows::Vectors(checked(&entry.def, &writing.catalog, rows)?);
    write(writing, &entry, rows, conflict.as_ref(), returning.as_ref()).await
}

/// Inserts whole rows, which fulfil what single rows must.
pub(super) async fn write(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rows: NewRows,
    conflict: Option<&Conflict>,
    returning: Option<&RowExprs>,
) -> SqlResult<StatementResult> {
    let planned = match conflict {
        None => Planned::all(entry, rows),
        Some(conflict) => {
            let rows = rows.into_batch(&entry.schema())?;
            resolve(writing, entry, rows, conflict).await?
        }
    };
    let order = planned.order.clone();
    let change = planned.change(entry).await?;
    let (count, added) = (change.added.len(), change.added.clone());
    let written = match order {
        Some(order) if returning.is_some() => added.take(&order)?,
        _ => added,
    };
    let changes = foreign::enforce(writing, change).await?;
    let result = outcome("INSERT 0", count, returning, &written)?;
    commit(writing, changes).await?;
    Ok(result)
}

/// Inserts rows that have all columns of the table; generated ones need not be filled in.
pub(crate) async fn insert_batches(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rows: &[RecordBatch],
) -> SqlResult<()> {
    let rows = concatenated(&entry.schema(), rows)?;
    let rows = checked(&entry.def, &writing.catalog, rows)?;
    let change = Planned::all(entry, NewRows::Vectors(rows)).change(entry).await?;
    commit(writing, foreign::enforce(writing, change).await?).await
}

/// What becomes of the rows of an `INSERT`.
struct Planned {
    inserted: NewRows,
    /// Rows that were in the way, and what they become.
    removed: Rows,
    updated: Rows,
    /// Where the rows that are written stand, inserted ones first, in the order of the statement.
    order: Option<Vec<u32>>,
}

impl Planned {
    fn all(entry: &TableEntry, inserted: NewRows) -> Planned {
        let (removed, updated) = (Rows::none(entry), Rows::none(entry));
        Planned { inserted, removed, updated, order: None }
    }

    /// The change of the table.
    async fn change(self, entry: &Arc<TableEntry>) -> SqlResult<Change> {
        let inserted = self.inserted.numbered(entry).await?;
        let added = match self.updated.is_empty() {
            true => inserted,
            false => inserted.and(&self.updated).expect("rows of one table"),
        };
        Ok(Change::new(entry, self.removed, added))
    }
}

/// 55000: whether a row is in conflict with one is known when the transaction ends.
fn deferrable_arbiter(entry: &TableEntry, constraint: &str) -> SqlError {
    let message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints \
                   as arbiters";
    SqlError::new(SqlState("55000"), message).of_table(&entry.def.name).of_constraint(constraint)
}

/// Which rows are inserted, and which stored rows change instead.
async fn resolve(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rows: RecordBatch,
    conflict: &Conflict,
) -> SqlResult<Planned> {
    if let Some(constraint) = conflict.deferrable.as_ref().filter(|_| rows.num_rows() > 0) {
        return Err(deferrable_arbiter(entry, constraint));
    }
    writing.block()?.note_newest_seen();
    let ids = Arc::new(Int64Array::from(vec![0; rows.num_rows()]));
    let proposed = Rows::new(rows, ids);
    let mut blocked: Vec<Option<Vec<u8>>> = vec![None; proposed.len()];
    let mut repeated = vec![false; proposed.len()];
    for key in &conflict.keys {
        let reference = Reference::new(entry, key)?;
        let prefixes = reference.prefixes(proposed.batch())?;
        let keys = reference.locks(prefixes.iter().flatten(), LockMode::Update);
        writing.lock_rows(entry, keys).await?;
        let stored = reference.find(&prefixes).await?;
        let mut seen = HashSet::new();
        for (row, prefix) in prefixes.iter().enumerate() {
            if let Some(prefix) = prefix.as_ref().filter(|_| stored[row].is_some()) {
                writing.check_seen(&reference, prefix, false)?;
            }
            blocked[row] = blocked[row].take().or_else(|| stored[row].clone());
            repeated[row] |= prefix.as_ref().is_some_and(|p| !seen.insert(p));
        }
    }
    let free = |row: &u32| blocked[*row as usize].is_none() && !repeated[*row as usize];
    let kept: Vec<u32> = (0..proposed.len() as u32).filter(free).collect();
    let mut planned = Planned::all(entry, NewRows::Vectors(proposed.take(&kept)?.batch().clone()));
    let ConflictAction::Update(assignments) = &conflict.action else { return Ok(planned) };
    if repeated.contains(&true) {
        let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
        return Err(SqlError::new(SqlState::CARDINALITY_VIOLATION, message).with_hint(
            "Ensure that no rows proposed for insertion within the same command have duplicate \
             constrained values.",
        ));
    }
    let (rows, keys): (Vec<u32>, Vec<Vec<u8>>) =
        (0u32..).zip(blocked).filter_map(|(row, key)| key.map(|key| (row, key))).unzip();
    let lock = |key: &Vec<u8>| {
        (LockKey { tree: entry.tree_of_row(key), key: key.clone() }, LockMode::Update)
    };
    writing.lock(keys.iter().map(lock).collect()).await?;
    // They may have to be downloaded.
    let stored = stored_rows(writing.snapshot(), entry, &keys);
    let stored = unless_cancelled(&writing.cancel, stored).await??;
    let excluded = proposed.take(&rows)?;
    let (updated, changed) = assignments.apply(stored.batch(), excluded.batch())?;
    let updated = checked(&entry.def, &writing.catalog, updated)?;
    let batch = filter_record_batch(stored.batch(), &changed).map_err(internal)?;
    let ids = arrow_select::filter::filter(stored.ids(), &changed).map_err(internal)?;
    let written = kept.iter().chain(
        rows.iter().zip(changed.iter()).filter(|(_, c)| *c == Some(true)).map(|(row, _)| row),
    );
    let mut order: Vec<(u32, u32)> = written.copied().zip(0..).collect();
    order.sort_unstable();
    planned.order = Some(order.into_iter().map(|(_, at)| at).collect());
    let new_ids = match &entry.columns {
        // The ids of a part are those of its rows alone.
        Some(_) => entry.take_row_ids(updated.num_rows()).await?,
        None => ids.clone(),
    };
    planned.updated = Rows::new(updated, new_ids);
    planned.removed = Rows::new(batch, ids);
    Ok(planned)
}
