//! Statements that change few rows and are compiled: their rows are found by a key, without a plan.
//!
//! Nothing happens before `commit`, so whatever is in doubt is left to the planned road, and so is each
//! error: both see the same state, and the planned road says what is wrong. Only where an `INSERT` has
//! taken numbers of a sequence, its errors are told as they are.

pub(crate) mod find;

use std::sync::Arc;

use arrow_array::RecordBatch;
use sql::dml::Execution;
use types::SqlResult;

use super::change::{Change, commit};
use super::constraints::checked_by;
use super::foreign;
use super::insert::write;
use super::outcome::outcome;
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::result::StatementResult;
use crate::writing::Writing;

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
    let (count, returned) = (old.len(), new.batch.clone());
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
    let (count, returned) = (old.len(), old.batch.clone());
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
    let Some(rows) = execution.inserted(&writing.catalog)? else { return Ok(None) };
    let rows = checked_by(execution.rules(), &entry.def, rows)?;
    let (conflict, returning) = (execution.conflict(), execution.returning());
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
    values: &RecordBatch,
) -> SqlResult<Option<Rows>> {
    let Some((index, key)) = execution.key() else { return Ok(None) };
    let found = find::rows(writing.snapshot(), entry, index, &key).await?;
    let Some(found) = found else { return Ok(None) };
    let meant = match found.num_rows() {
        0 => Ok(found),
        _ => execution.meant(&found, values),
    };
    let Ok(meant) = meant else { return Ok(None) };
    Rows::found(entry, &meant).map(Some)
}

/// The rows as they become.
fn changed(
    execution: &Execution,
    entry: &TableEntry,
    old: &Rows,
    values: &RecordBatch,
) -> SqlResult<Rows> {
    if old.is_empty() {
        return Ok(old.clone());
    }
    let new = execution.updated(&old.batch, values)?;
    let batch = checked_by(execution.rules(), &entry.def, new)?;
    Ok(Rows { batch, ids: old.ids.clone() })
}
