//! Statements that change few rows and are compiled: their rows are found by a key, without a plan.
//!
//! Nothing happens before `commit`, so whatever is in doubt is left to the planned road, and so is each
//! error: both see the same state, and the planned road says what is wrong. Only where an `INSERT` has
//! taken numbers of a sequence, its errors are told as they are.

use std::sync::Arc;

use exec::{Room, Stopped};
use runtime::IoCounters;
use sql::dml::Execution;
use storage::Depth;
use types::SqlResult;
use types::cells::Cells;

use super::change::{Change, commit};
use super::conflict::OnConflict;
use super::constraints::checked_by;
use super::foreign;
use super::insert::write;
use super::outcome::outcome;
use super::rows::{NewRows, Rows};
use crate::catalog::entry::TableEntry;
use crate::relation::programs::ProgramTables;
use crate::result::StatementResult;
use crate::writing::Writing;

/// Rows that are changed at once; of more a plan makes batches and gives way between them.
const ROOM: Room = Room { rows: 128, bytes: 256 << 10 };

/// Changes the rows of an `UPDATE`; `None` where it has to be planned.
pub(super) async fn update(
    writing: &Writing<'_>,
    execution: &Execution,
) -> SqlResult<Option<StatementResult>> {
    let Some(entry) = entry(writing, execution) else { return Ok(None) };
    let Ok(values) = execution.values(&writing.catalog) else { return Ok(None) };
    let old = meant(writing, &entry, execution, &values).await?;
    let Some(old) = old else { return Ok(None) };
    let Ok(new) = changed(execution, &entry, &old, &values) else { return Ok(None) };
    let old = Rows::of_cells(&entry, old);
    let (count, returned) = (old.len(), new.clone());
    let change = Change::new(&entry, old, new);
    let changes = foreign::enforce(writing, change).await?;
    let result = outcome("UPDATE", count, execution.returning(), &returned)?;
    commit(writing, changes).await?;
    Ok(Some(result))
}

/// Deletes the rows of a `DELETE`; `None` where it has to be planned.
pub(super) async fn delete(
    writing: &Writing<'_>,
    execution: &Execution,
) -> SqlResult<Option<StatementResult>> {
    let Some(entry) = entry(writing, execution) else { return Ok(None) };
    let Ok(values) = execution.values(&writing.catalog) else { return Ok(None) };
    let old = meant(writing, &entry, execution, &values).await?;
    let Some(old) = old else { return Ok(None) };
    let old = Rows::of_cells(&entry, old);
    let (count, returned) = (old.len(), old.clone());
    let change = Change::new(&entry, old, Rows::none(&entry));
    let changes = foreign::enforce(writing, change).await?;
    let result = outcome("DELETE", count, execution.returning(), &returned)?;
    commit(writing, changes).await?;
    Ok(Some(result))
}

/// Inserts the rows of an `INSERT .. VALUES`; `None` where they have to be bound anew.
pub(super) async fn insert(
    writing: &Writing<'_>,
    execution: &Execution,
) -> SqlResult<Option<StatementResult>> {
    let Some(entry) = entry(writing, execution) else { return Ok(None) };
    let Some((rows, values)) = execution.inserted(&writing.catalog)? else { return Ok(None) };
    let rows = match execution.rules().is_empty() {
        true => NewRows::Cells(rows),
        false => {
            let incoming = sql::incoming_schema(&entry.def).arrow();
            let rows = NewRows::Cells(rows).into_batch(&incoming)?;
            NewRows::Vectors(checked_by(execution.rules(), &entry.def, rows)?)
        }
    };
    let on_conflict = |conflict| OnConflict { conflict, values: &values };
    let (conflict, returning) = (execution.conflict().map(on_conflict), execution.returning());
    write(writing, &entry, rows, conflict, returning).await.map(Some)
}

/// The table, if it is the one that the statement was compiled for.
fn entry(writing: &Writing<'_>, execution: &Execution) -> Option<Arc<TableEntry>> {
    let entry = writing.snapshot().table(execution.table_name()).ok()?;
    execution.fits(&entry.def).then(|| entry.clone())
}

/// The rows that a statement is about.
async fn meant(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    execution: &Execution,
    values: &Cells,
) -> SqlResult<Option<Cells>> {
    let Some((index, key)) = execution.key() else { return Ok(None) };
    let tables = ProgramTables {
        snapshot: writing.snapshot(),
        given: &|_, _| None,
        depth: Depth::Many,
        io: IoCounters::default(),
    };
    let found = match tables.with_key(entry, (index, &key), ROOM).await {
        Ok(found) => found,
        Err(Stopped::TooMany) => return Ok(None),
        Err(Stopped::Failed(error)) => return Err(error),
    };
    if found.is_empty() {
        return Ok(Some(found));
    }
    if execution.is_too_large(&found, values) {
        return Ok(None);
    }
    Ok(execution.meant(found, values).ok())
}

/// The rows as they become.
fn changed(
    execution: &Execution,
    entry: &TableEntry,
    old: &Cells,
    values: &Cells,
) -> SqlResult<Rows> {
    if old.is_empty() {
        return Ok(Rows::none(entry));
    }
    let new = execution.updated(old, values)?;
    if execution.rules().is_empty() {
        return Ok(Rows::of_cells(entry, new));
    }
    let new = Rows::of_cells(entry, new);
    let batch = checked_by(execution.rules(), &entry.def, new.batch().clone())?;
    Ok(Rows::new(batch, new.ids().clone()))
}
