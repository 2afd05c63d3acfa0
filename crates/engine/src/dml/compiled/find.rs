//! Rows by a key, or by the first columns of one, as their statement sees them.

use std::ops::Bound;

use arrow_array::RecordBatch;
use plan::{IndexRef, ScalarValue};
use runtime::IoCounters;
use storage::{Depth, Direction};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::relation::keys::{beginning_with, encode};
use crate::relation::rows::{RowKeys, Rows};

/// Rows that are changed at once; of more a plan makes batches and gives way between them.
const ROWS_MAX: usize = 128;

/// The rows, with all columns of the table; `None` if there may be more than a few.
pub(super) async fn rows(
    snapshot: &Snapshot,
    entry: &TableEntry,
    index: &IndexRef,
    values: &[ScalarValue],
) -> SqlResult<Option<RecordBatch>> {
    let key = encode(&entry.tree_of(index).1.key, values)?;
    match index {
        IndexRef::Primary if values.len() == entry.layout.key.len() => {
            by_keys(snapshot, entry, &[key]).await.map(Some)
        }
        IndexRef::Primary => {
            let ordinals = all_of(entry);
            let mut found = Rows::new(&entry.layout, &ordinals, 1);
            let is_all = by_prefix(snapshot, entry, index, key, &mut found).await?;
            Ok(is_all.then(|| found.finish()))
        }
        IndexRef::Secondary(_) => {
            let layout = entry.tree_of(index).1;
            let row_keys = RowKeys::new(entry, &layout);
            let mut found = Rows::new(&layout, &[], 0).keys_by(Some(&row_keys));
            if !by_prefix(snapshot, entry, index, key, &mut found).await? {
                return Ok(None);
            }
            let rows = by_keys(snapshot, entry, &found.keys).await?;
            match rows.num_rows() == found.keys.len() {
                true => Ok(Some(rows)),
                false => {
                    let message = "an index entry points to a row that does not exist";
                    Err(SqlError::new(SqlState::DATA_CORRUPTED, message))
                }
            }
        }
    }
}

/// The rows with these whole primary keys.
async fn by_keys(
    snapshot: &Snapshot,
    entry: &TableEntry,
    keys: &[Vec<u8>],
) -> SqlResult<RecordBatch> {
    let (tree, io) = (snapshot.visible(entry.tree.clone()), IoCounters::default());
    let ordinals = all_of(entry);
    let mut found = Rows::new(&entry.layout, &ordinals, 1);
    match keys {
        [key] => tree.get(key, &io, &mut found).await?,
        keys => tree.get_batch(keys, Depth::Many, &io, &mut found).await?,
    }
    Ok(found.finish())
}

/// Takes the entries that begin with a key; whether these are all.
async fn by_prefix(
    snapshot: &Snapshot,
    entry: &TableEntry,
    index: &IndexRef,
    key: Vec<u8>,
    found: &mut Rows<'_>,
) -> SqlResult<bool> {
    let (tree, io) = (snapshot.visible(entry.tree_of(index).0), IoCounters::default());
    let (low, high) = beginning_with(key);
    let range = (Bound::Included(low), Bound::Excluded(high));
    let first = tree.first(&range, Direction::Forward, ROWS_MAX, &io, found).await?;
    Ok(first.last.is_none())
}

/// Ordinals of all columns that rows have in the tree.
fn all_of(entry: &TableEntry) -> Vec<usize> {
    (0..entry.layout.schema.columns.len()).collect()
}
