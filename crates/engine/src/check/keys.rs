//! What a check looks at of keys: that no two rows have a unique one, and that rows which refer to others find
//! them.
//!
//! Of a table that is clustered by its primary key nothing is to be looked at: its tree has no key twice.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use runtime::sync::Cancel;
use sql::catalog::TableId;
use sql::constraints::ForeignKey;
use types::{SqlError, SqlResult};

use crate::catalog::{Snapshot, TableEntry};
use crate::database::Job;
use crate::dml::{RepeatedKeys, named_values, without_parent};
use crate::reader::TableRows;
use crate::waiting::give_way;

/// Rows that break a constraint.
#[derive(Default)]
struct Broken {
    count: u64,
    /// Columns and values of the first one.
    first: Option<String>,
}

impl Broken {
    fn note(&mut self, count: usize, first: impl FnOnce() -> String) {
        self.count += count as u64;
        if count > 0 {
            self.first.get_or_insert_with(first);
        }
    }

    /// Their number, what they do, and the first of them.
    fn told(&self, rows: u64, what: &str) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(format!("{} of {rows} rows {what}, the first with {first}", self.count))
    }
}

/// Counts rows whose unique key another row has, too. The index agrees with its table.
///
/// # Errors
/// 57014; those of storage.
pub(super) async fn repeated(
    entry: &TableEntry,
    position: usize,
    job: &Job,
    cancel: &Cancel,
) -> SqlResult<Option<String>> {
    let (columns, rows) = (&entry.def.indexes[position].columns, entry.row_count());
    let (mut keys, mut broken) = (RepeatedKeys::new(entry, position, cancel), Broken::default());
    while let Some(found) = keys.next().await? {
        job.done.fetch_add(keys.walked(), Relaxed);
        broken.note(found.num_rows(), || named_values(entry, columns, found.columns(), 0));
    }
    Ok(broken.told(rows, "have the key of another one"))
}

/// Counts rows that refer to a row which is not there.
///
/// # Errors
/// 57014; those of storage.
pub(super) async fn astray(
    snapshot: &Snapshot,
    entry: &TableEntry,
    key: &ForeignKey,
    job: &Job,
    cancel: &Cancel,
) -> SqlResult<Option<String>> {
    let parent = snapshot.table_by_id(TableId(key.table));
    let parent: &Arc<_> =
        parent.ok_or_else(|| SqlError::internal("a foreign key refers to no table"))?;
    // Of a row only these columns are read.
    let ordinals = &key.columns;
    let read = ForeignKey { columns: (0..ordinals.len()).collect(), ..key.clone() };
    let (mut table, mut broken) = (TableRows::new(snapshot, entry, ordinals)?, Broken::default());
    while let Some(rows) = table.next().await? {
        give_way(cancel).await?;
        let missing = without_parent(&read, parent, &rows).await?;
        let first = || named_values(entry, ordinals, rows.columns(), missing[0]);
        broken.note(missing.len(), first);
        job.done.fetch_add(rows.num_rows() as u64, Relaxed);
    }
    let what = format!("refer to no row of table \"{}\"", parent.def.name);
    Ok(broken.told(entry.row_count(), &what))
}
