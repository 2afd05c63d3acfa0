//! `UPDATE` and `DELETE` of more rows than are changed in place. Rows are changed as they are found, and go
//! to a load that writes the table's trees anew; so no number of rows needs more memory.
//!
//! Until a statement has found more rows than that, it shares the table. Then it gives up what it
//! has found, for it would wait with the memory of its query for others that may wait for memory,
//! and looks again when it has the table for itself.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::RecordBatch;
use plan::constraints::{ColumnDefault, ForeignKey};
use txn::waiting::give_way;
use types::SqlResult;
use types::cells::Cells;

use super::change::{InPlace, alone, replace};
use super::incoming::{check_referring, refers_to_itself};
use super::references::referring;
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::load::leaving::Leaving;
use crate::load::loader::Loader;
use crate::writing::{Finding, Writing};

/// What a statement has found.
pub(super) enum Found {
    /// All of its rows, as cells.
    Few(Cells),
    /// All of its rows.
    All(Vec<RecordBatch>),
    /// More than are changed in place, which are looked for again.
    TooMany,
}

/// Looks for the rows of a statement; if it `may_stream`, until they are too many.
///
/// # Errors
/// The query's; 53200 for rows that do not fit if it may not.
pub(super) async fn found(
    writing: &Writing<'_>,
    finding: &Finding,
    may_stream: bool,
) -> SqlResult<Found> {
    if let Some(few) = writing.found_few(finding).await? {
        return Ok(Found::Few(few));
    }
    // A future for itself: that of few rows is small without it.
    match may_stream {
        true => Box::pin(found_first(writing, finding)).await,
        false => Box::pin(writing.found(finding)).await.map(Found::All),
    }
}

/// Looks for the rows of a statement until they are too many.
async fn found_first(writing: &Writing<'_>, finding: &Finding) -> SqlResult<Found> {
    let mut rows = writing.find(finding);
    let (mut kept, mut counted) = (vec![], InPlace::default());
    while let Some(batch) = rows.next().await? {
        counted.add(&batch)?;
        if counted.is_over(writing.db) {
            return Ok(Found::TooMany);
        }
        kept.push(batch);
    }
    writing.note_found(finding, &mut rows);
    Ok(Found::All(kept))
}

/// Whether an `UPDATE` of these columns may change rows one after the other: no row of another table, and
/// none of this one, goes by what others of the table become.
pub(super) fn may_change(writing: &Writing<'_>, entry: &TableEntry, ordinals: &[usize]) -> bool {
    let referring = referring(&writing.catalog, entry.def.id);
    !is_part(writing)
        && !refers_to_itself(entry)
        && !referring.iter().any(|(_, key)| is_changed(entry, ordinals, &key.referenced))
}

/// The foreign keys of a table whose columns an `UPDATE` of these may change.
pub(super) fn changed_keys(entry: &TableEntry, ordinals: &[usize]) -> Vec<ForeignKey> {
    let keys = entry.def.constraints.foreign_keys.iter();
    keys.filter(|key| is_changed(entry, ordinals, &key.columns)).cloned().collect()
}

/// The same of a `DELETE`.
pub(super) fn may_remove(writing: &Writing<'_>, entry: &TableEntry) -> bool {
    !is_part(writing) && referring(&writing.catalog, entry.def.id).is_empty()
}

/// Whether it is a part of a statement whose other parts may change the same table.
fn is_part(writing: &Writing<'_>) -> bool {
    writing.db.block().is_none_or(|block| block.is_frozen())
}

/// Whether an `UPDATE` of the columns at `ordinals` may change one of `columns`.
fn is_changed(entry: &TableEntry, ordinals: &[usize], columns: &[usize]) -> bool {
    let default = |column: usize| entry.def.constraints.defaults.get(column);
    let is_generated =
        |column: usize| matches!(default(column), Some(Some(ColumnDefault::Generated(_))));
    columns.iter().any(|&column| ordinals.contains(&column) || is_generated(column))
}

/// Changes the rows that a query finds, by `change`: what go and what come for them, which may refer to
/// other rows by these `keys`. Their number.
///
/// # Errors
/// Those of the query, of `change` and of the load; 40001 when others have changed the table. The table
/// stays as it was then.
pub(super) async fn change(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    (finding, keys): (&Finding, &[ForeignKey]),
    change: impl FnMut(&RecordBatch) -> SqlResult<(Rows, Rows)>,
) -> SqlResult<u64> {
    alone(writing, entry, true).await?;
    let (db, cancel) = (writing.db, &writing.cancel);
    let mut loader = Loader::empty(db, writing.target(entry)?, cancel.clone())?;
    let mut leaving = Leaving::of(db, entry);
    let taken = take(writing, entry, (finding, keys, change), (&mut loader, &mut leaving)).await;
    let count = match taken {
        Ok(count) => count,
        Err(error) => {
            leaving.discard().await;
            return Err(error);
        }
    };
    loader.keep_rows(db, leaving.finish()).await?;
    replace(writing, entry, loader.build(db).await?).await?;
    Ok(count)
}

/// Hands over the rows that go and those that come.
async fn take(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    (finding, keys, mut change): (
        &Finding,
        &[ForeignKey],
        impl FnMut(&RecordBatch) -> SqlResult<(Rows, Rows)>,
    ),
    (loader, leaving): (&mut Loader, &mut Leaving),
) -> SqlResult<u64> {
    let (mut rows, mut count) = (writing.find(finding), 0);
    let job = writing.db.start_job("changing", 0);
    while let Some(found) = rows.next().await? {
        let (old, new) = change(&found)?;
        count += old.len() as u64;
        leaving.push(old.batch(), old.ids(), &writing.cancel).await?;
        check_referring(writing, entry, keys, new.batch()).await?;
        loader.push_all(new.batch(), new.ids()).await?;
        job.done.store(count, Relaxed);
        give_way(&writing.cancel).await?;
    }
    writing.note_found(finding, &mut rows);
    Ok(count)
}
