//! Statements that change single rows and are compiled: the row is found by one descent, without a
//! plan.
//!
//! Nothing happens before `commit`, so whatever is in doubt is left to the planned road, and so is each
//! error: both see the same state, and the planned road says what is wrong. Only where an `INSERT` has
//! taken numbers of a sequence, its errors are told as they are.

use std::sync::Arc;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use sql::dml::Execution;
use types::SqlResult;
use types::row::BatchBuilder;

use super::constraints::checked_by;
use super::insert::write;
use super::rows::Rows;
use super::{Change, commit, foreign, outcome};
use crate::catalog::TableEntry;
use crate::result::StatementResult;
use crate::source::encode;
use crate::visible::Entries;
use crate::writing::Writing;

/// Changes the row of an `UPDATE`; `None` where it has to be planned.
pub(super) async fn update(
    writing: &Writing<'_>,
    execution: &Execution,
) -> SqlResult<Option<StatementResult>> {
    let Some((entry, old)) = found(writing, execution).await? else { return Ok(None) };
    let Ok(new) = changed(execution, &entry, &old) else { return Ok(None) };
    apply(writing, execution, "UPDATE", Change::new(&entry, old, new)).await.map(Some)
}

/// Deletes the row of a `DELETE`; `None` where it has to be planned.
pub(super) async fn delete(
    writing: &Writing<'_>,
    execution: &Execution,
) -> SqlResult<Option<StatementResult>> {
    let Some((entry, old)) = found(writing, execution).await? else { return Ok(None) };
    let none = Rows::none(&entry);
    apply(writing, execution, "DELETE", Change::new(&entry, old, none)).await.map(Some)
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

/// The row that a statement is about, or none, in its table.
async fn found(
    writing: &Writing<'_>,
    execution: &Execution,
) -> SqlResult<Option<(Arc<TableEntry>, Rows)>> {
    let Some(entry) = entry(writing, execution) else { return Ok(None) };
    let Some(key) = execution.key() else { return Ok(None) };
    let row = stored(writing, &entry, &encode(&entry.layout.key, &key)?).await?;
    let row = match row.num_rows() {
        0 => row,
        _ => match execution.holds(&row) {
            Ok(true) => row,
            Ok(false) => row.slice(0, 0),
            Err(_) => return Ok(None),
        },
    };
    let rows = Rows::found(&entry, &row)?;
    Ok(Some((entry, rows)))
}

/// The row of a whole primary key as the statement sees it, or none.
async fn stored(writing: &Writing<'_>, entry: &TableEntry, key: &[u8]) -> SqlResult<RecordBatch> {
    let tree = writing.snapshot().visible(entry.tree.clone());
    let mut found = Found { entry, row: Found::none(entry) };
    tree.get(key, &IoCounters::default(), &mut found).await?;
    Ok(found.row.finish())
}

/// The row as it becomes.
fn changed(execution: &Execution, entry: &TableEntry, old: &Rows) -> SqlResult<Rows> {
    if old.is_empty() {
        return Ok(old.clone());
    }
    let new = execution.updated(&old.batch)?;
    let batch = checked_by(execution.rules(), &entry.def, new)?;
    Ok(Rows { batch, ids: old.ids.clone() })
}

/// Checks the change against other tables and makes it.
async fn apply(
    writing: &Writing<'_>,
    execution: &Execution,
    verb: &str,
    change: Change,
) -> SqlResult<StatementResult> {
    let (count, returned) = match verb {
        "DELETE" => (change.removed.len(), change.removed.batch.clone()),
        _ => (change.added.len(), change.added.batch.clone()),
    };
    let changes = foreign::enforce(writing, change).await?;
    let result = outcome(verb, count, execution.returning(), &returned)?;
    commit(writing, changes).await?;
    Ok(result)
}

/// The row, if it was found.
struct Found<'a> {
    entry: &'a TableEntry,
    row: BatchBuilder,
}

impl Found<'_> {
    fn none(entry: &TableEntry) -> BatchBuilder {
        let ordinals: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
        BatchBuilder::new(entry.layout.clone(), &ordinals, 1)
    }
}

impl Entries for Found<'_> {
    fn restart(&mut self) {
        self.row = Found::none(self.entry);
    }

    fn take(&mut self, _: usize, key: &[u8], value: &[u8]) {
        self.row.push(key, value);
    }
}
