//! The tree of an index, made of all rows of its table.

use std::sync::atomic::Ordering::Relaxed;

use plan::catalog::IndexDef;
use runtime::sync::Cancel;
use storage::TreeId;
use txn::waiting::unless_cancelled;
use types::SqlResult;

use super::sorting::{Sorting, TreeSpec};
use crate::catalog::entry::{TableEntry, index_layout};
use crate::catalog::row_ids::row_ids;
use crate::catalog::snapshot::Snapshot;
use crate::database::Database;
use crate::isolation;
use crate::relation::whole::TableRows;
use crate::writing::Writing;

/// Builds the tree of a new index over the rows of a table.
///
/// # Errors
/// 23505 for rows with the same unique key; 40001 when others have changed rows since the snapshot that the
/// transaction keeps.
pub(crate) async fn build_index(
    writing: &Writing<'_>,
    entry: &TableEntry,
    index: &IndexDef,
) -> SqlResult<TreeId> {
    isolation::check_table(&writing.snapshot().read_view, entry)?;
    let unique = index.unique.then(|| (index.columns.len(), index.name.clone()));
    index_tree(writing.db, writing.snapshot(), entry, (index, unique), &writing.cancel).await
}

/// The same for who has the right to write: the rows are those that the trees have. With the index comes how
/// many of its columns must be unique, and the name of the constraint.
pub(super) async fn index_tree(
    db: &Database,
    snapshot: &Snapshot,
    entry: &TableEntry,
    (index, unique): (&IndexDef, Option<(usize, String)>),
    cancel: &Cancel,
) -> SqlResult<TreeId> {
    let def = &entry.def;
    let layout = index_layout(def, index);
    let key = layout.key.iter().map(|k| k.ordinal);
    let columns: Vec<usize> = key.chain(layout.value_columns().iter().copied()).collect();
    let spec = TreeSpec::of_entries(&entry.tree, layout, unique);
    let mut sorting = Sorting::begin(db, vec![spec], cancel.clone());
    let job = db.start_job("reading", entry.row_count());
    let mut rows = TableRows::new(snapshot, entry, &columns)?;
    while let Some(batch) = unless_cancelled(cancel, rows.next()).await?? {
        job.done.fetch_add(batch.num_rows() as u64, Relaxed);
        let ids = row_ids(0, batch.num_rows());
        sorting.push(batch, ids).await?;
    }
    Ok(sorting.write(db).await?[0])
}
