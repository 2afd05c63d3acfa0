//! Foreign keys that are checked when the transaction commits.

use std::sync::Arc;

use arrow_array::RecordBatch;
use sql::catalog::TableId;
use sql::constraints::ForeignKey;
use sql::dml::{TargetCatalog, rows_with_keys};
use types::SqlResult;

use super::{KEYS_PER_QUERY, Key, missing_in_doubt, still_referenced};
use crate::catalog::TableEntry;
use crate::dml::references::{Reference, missing_parent, without_parent};
use crate::dml::rows::Rows;
use crate::locks::LockMode;
use crate::writing::Writing;

/// Looks again for what rows refer to that have such values of a foreign key. The rows that were referred to
/// have gone, or there were none.
///
/// # Errors
/// 23503; 40P01, 55P03, 57014.
pub(in crate::dml) async fn check_referred(
    writing: &Writing<'_>,
    child: &Arc<TableEntry>,
    key: &ForeignKey,
    (values, were_removed): (&[Key], bool),
) -> SqlResult<()> {
    let Some(parent) = writing.snapshot().table_by_id(TableId(key.table)) else { return Ok(()) };
    let check = Check { writing, child, key, parent, were_removed };
    for values in values.chunks(KEYS_PER_QUERY) {
        check.values(values).await?;
    }
    Ok(())
}

/// Leaves rows to be looked at again that refer to no row now.
pub(in crate::dml) async fn note_missing(
    writing: &Writing<'_>,
    entry: &TableEntry,
    key: &ForeignKey,
    parent: &Arc<TableEntry>,
    rows: &RecordBatch,
) -> SqlResult<()> {
    let missing = without_parent(key, parent, rows).await?;
    let doubts = missing.into_iter().filter_map(|row| missing_in_doubt(entry, key, rows, row));
    writing.block()?.note_doubts(doubts);
    Ok(())
}

struct Check<'a> {
    writing: &'a Writing<'a>,
    child: &'a Arc<TableEntry>,
    key: &'a ForeignKey,
    parent: &'a Arc<TableEntry>,
    were_removed: bool,
}

impl Check<'_> {
    /// Looks whether there are rows with the values, and what they refer to.
    async fn values(&self, values: &[Key]) -> SqlResult<()> {
        let Check { writing, child, key, parent, .. } = self;
        let name = &child.def.name;
        let target = TargetCatalog::new(&writing.catalog, name)?;
        let query = rows_with_keys(&target, &key.columns, &values.iter().collect::<Vec<_>>())?;
        let rows = writing.rows_of_latest(&query, name).await?;
        let found = Rows::found(child, &rows)?;
        let reference = Reference::new(parent, &key.referenced)?;
        let prefixes = reference.prefixes_of(&found.batch, &key.columns, &key.referenced)?;
        let referred = reference.locks(prefixes.iter().flatten(), LockMode::KeyShare);
        writing.lock_rows(parent, referred).await?;
        let stored = reference.find(&prefixes).await?;
        let missing = prefixes.iter().zip(&stored).position(|(p, s)| p.is_some() && s.is_none());
        match missing {
            None => Ok(()),
            Some(row) if self.were_removed => {
                Err(still_referenced(&parent.def, child, key, &found, row))
            }
            Some(row) => Err(missing_parent(child, key, parent, &found.batch, row)),
        }
    }
}
