//! Foreign keys that are checked when the transaction commits.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use sql::catalog::TableId;
use sql::constraints::ForeignKey;
use sql::dml::{TargetCatalog, rows_with_keys};
use types::SqlResult;

use super::{KEYS_PER_QUERY, Key, dangling, still_referenced};
use crate::catalog::TableEntry;
use crate::deferred::{Dangling, DanglingKeys};
use crate::dml::references::{Reference, missing_parent, without_parent};
use crate::dml::rows::Rows;
use crate::locks::LockMode;
use crate::writing::Writing;

/// Checks values that dangled when statements ended, unless their rows or their constraint have gone.
///
/// # Errors
/// 23503; 40P01, 55P03, 57014.
pub(crate) async fn check_dangling(writing: &Writing<'_>, dangling: DanglingKeys) -> SqlResult<()> {
    let mut by_key = BTreeMap::<_, Vec<Key>>::new();
    for Dangling { table, constraint, was_removed, values } in dangling {
        by_key.entry((table, constraint, was_removed)).or_default().push(values);
    }
    for ((table, constraint, was_removed), values) in by_key {
        let Some(child) = writing.snapshot().table_by_id(table).cloned() else { continue };
        let keys = &child.def.constraints.foreign_keys;
        let Some(key) = keys.iter().find(|key| key.name == constraint) else { continue };
        let Some(parent) = writing.snapshot().table_by_id(TableId(key.table)) else { continue };
        let check = Check { writing, child: &child, key, parent, was_removed };
        for values in values.chunks(KEYS_PER_QUERY) {
            check.values(values).await?;
        }
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
    let dangling = missing.into_iter().filter_map(|row| dangling(entry, key, rows, row));
    writing.block()?.note_dangling(dangling);
    Ok(())
}

struct Check<'a> {
    writing: &'a Writing<'a>,
    child: &'a Arc<TableEntry>,
    key: &'a ForeignKey,
    parent: &'a Arc<TableEntry>,
    was_removed: bool,
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
            Some(row) if self.was_removed => {
                Err(still_referenced(&parent.def, child, key, &found, row))
            }
            Some(row) => Err(missing_parent(child, key, parent, &found.batch, row)),
        }
    }
}
