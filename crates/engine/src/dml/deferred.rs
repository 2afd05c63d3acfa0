//! Deferrable constraints, looked at when a statement or the transaction ends.
//!
//! Of a foreign key the values are noted for which there is no row.
//!
//! Of a unique key several rows may have the same values between the statements of a transaction.
//! Entries of a unique index end with the key of their row (`docs/format/row.md`), so its tree has room for
//! them. A transaction in which such a key comes or goes locks it as any unique key, so that others cannot give
//! or remove it meanwhile (PostgreSQL has them wait when it is checked). Where there is a row with the key
//! already it is noted, and the rows are counted when it is checked.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use plan::catalog::{IndexDef, TableId};
use plan::constraints::ForeignKey;
use sql::dml::{TargetCatalog, rows_with_keys};
use txn::locks::mode::LockMode;
use types::{SqlError, SqlResult};

use super::change::Change;
use super::foreign::link::{Key, Link};
use super::foreign::{KEYS_PER_QUERY, missing_in_doubt, still_referenced};
use super::references::{
    Reference, RepeatedKeys, missing_parent, named_values, types_of, without_parent,
};
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::deferred::{Doubt, Doubted, Doubts};
use crate::load::keys::duplicate_key;
use crate::writing::Writing;

/// Checks values that were in doubt when statements ended, unless their rows or their constraint have gone.
///
/// # Errors
/// 23503, 23505; 40P01, 55P03, 57014.
pub(crate) async fn check_doubts(writing: &Writing<'_>, doubts: Doubts) -> SqlResult<()> {
    let mut by_key = BTreeMap::<_, Vec<Key>>::new();
    for Doubt { table, constraint, what, values } in doubts {
        by_key.entry((table, constraint, what)).or_default().push(values);
    }
    for ((table, constraint, what), values) in by_key {
        let Some(entry) = writing.snapshot().table_by_id(table).cloned() else { continue };
        check_constraint(writing, &entry, &constraint, (what, &values)).await?;
    }
    Ok(())
}

async fn check_constraint(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    name: &str,
    (what, values): (Doubted, &[Key]),
) -> SqlResult<()> {
    if what == Doubted::Unique {
        let position = entry.def.indexes.iter().position(|index| index.name == name);
        return match position {
            Some(position) => check_repeated(writing, entry, position, values).await,
            None => Ok(()),
        };
    }
    let key = entry.def.constraints.foreign_keys.iter().find(|key| key.name == name);
    match key {
        Some(key) => check_referred(writing, entry, key, (values, what == Doubted::Removed)).await,
        None => Ok(()),
    }
}

/// The deferrable keys of tables that a statement has changed, which it checks when it ends.
pub(super) fn checked_now(writing: &Writing<'_>, changes: &[Change]) -> Vec<(TableId, String)> {
    let of_table = |change: &Change| {
        let def = change.entry.def.clone();
        let indexes = def.indexes.iter().filter(|index| {
            !index.deferral.is_never() && !writing.defers(&index.name, index.deferral)
        });
        indexes.map(|index| (def.id, index.name.clone())).collect::<Vec<_>>()
    };
    changes.iter().flat_map(of_table).collect()
}

/// Checks what is in doubt of these keys.
///
/// # Errors
/// 23505; 40P01, 55P03, 57014.
pub(super) async fn check_now(
    writing: &Writing<'_>,
    keys: Vec<(TableId, String)>,
) -> SqlResult<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let is_due = |doubt: &Doubt| {
        let is_it =
            |(table, name): &(TableId, String)| *table == doubt.table && *name == doubt.constraint;
        doubt.what == Doubted::Unique && keys.iter().any(is_it)
    };
    check_doubts(writing, writing.block()?.doubts_of(is_due)).await
}

/// Looks again for what rows refer to that have such values of a foreign key. The rows that were referred to
/// have gone, or there were none.
///
/// # Errors
/// 23503; 40P01, 55P03, 57014.
async fn check_referred(
    writing: &Writing<'_>,
    child: &Arc<TableEntry>,
    key: &ForeignKey,
    (values, were_removed): (&[Key], bool),
) -> SqlResult<()> {
    let Some(parent) = writing.snapshot().table_by_id(TableId(key.table)) else { return Ok(()) };
    let check = Referring { writing, child, key, parent, were_removed };
    for values in values.chunks(KEYS_PER_QUERY) {
        check.values(values).await?;
    }
    Ok(())
}

/// Leaves rows to be looked at again that refer to no row now.
pub(super) async fn note_missing(
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

struct Referring<'a> {
    writing: &'a Writing<'a>,
    child: &'a Arc<TableEntry>,
    key: &'a ForeignKey,
    parent: &'a Arc<TableEntry>,
    were_removed: bool,
}

impl Referring<'_> {
    /// Looks whether there are rows with the values, and what they refer to.
    async fn values(&self, values: &[Key]) -> SqlResult<()> {
        let Referring { writing, child, key, parent, .. } = self;
        let name = &child.def.name;
        let target = TargetCatalog::new(&writing.catalog, name)?;
        let types = types_of(child, &key.columns);
        let values: Vec<&Key> = values.iter().collect();
        let query = rows_with_keys(&target, &key.columns, &types, &values)?;
        let rows = writing.rows_of_latest(&query, name).await?;
        let found = Rows::found(child, &rows)?;
        let reference = Reference::new(parent, &key.referenced)?;
        let referred = reference.referred(found.batch(), &key.columns, &key.referenced)?;
        let locks = reference.locks(referred.keys.iter().flatten(), LockMode::KeyShare);
        writing.lock_rows(parent, locks).await?;
        let stored = reference.find(&referred.keys).await?;
        let is_missing = |&row: &usize| referred.is_missing(row, stored[row].as_ref());
        match (0..stored.len()).find(is_missing) {
            None => Ok(()),
            Some(row) if self.were_removed => {
                let (parent, child) = (parent.def.clone(), child.def.clone());
                let link = Link { parent, child, key: (*key).clone() };
                let values = link.referred(found.batch())?.swap_remove(row);
                Err(still_referenced(&link, &values.unwrap_or_default()))
            }
            Some(row) => Err(missing_parent(child, key, parent, found.batch(), row)),
        }
    }
}

/// Refuses values that several rows have in the unique key of an index; without values, any such.
///
/// # Errors
/// 23505; 40P01, 55P03, 57014.
async fn check_repeated(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    position: usize,
    values: &[Key],
) -> SqlResult<()> {
    if values.iter().any(Vec::is_empty) {
        writing.block()?.note_newest_seen();
        return check_all(writing, entry, position).await;
    }
    for values in values.chunks(KEYS_PER_QUERY) {
        check_values(writing, entry, position, values).await?;
    }
    Ok(())
}

async fn check_values(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    position: usize,
    values: &[Key],
) -> SqlResult<()> {
    let (index, reference) = (&entry.def.indexes[position], Reference::of_index(entry, position));
    let target = TargetCatalog::new(&writing.catalog, &entry.def.name)?;
    let (types, values) = (types_of(entry, &index.columns), values.iter().collect::<Vec<_>>());
    let query = rows_with_keys(&target, &index.columns, &types, &values)?;
    writing.block()?.note_newest_seen();
    let rows = writing.rows_of_latest(&query, &entry.def.name).await?;
    let found = Rows::found(entry, &rows)?;
    let mut seen = HashSet::new();
    for (row, key) in reference.prefixes(found.batch())?.into_iter().enumerate() {
        if key.is_some_and(|key| !seen.insert(key)) {
            let column = |&column: &usize| found.batch().column(column).clone();
            let key: Vec<ArrayRef> = index.columns.iter().map(column).collect();
            return Err(repeated(entry, index, &key, row));
        }
    }
    Ok(())
}

/// Looks at all entries, of a table that this transaction has for itself since it loaded it.
async fn check_all(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    position: usize,
) -> SqlResult<()> {
    let mut keys = RepeatedKeys::new(entry, position, &writing.cancel);
    while let Some(found) = keys.next().await? {
        if found.num_rows() > 0 {
            return Err(repeated(entry, &entry.def.indexes[position], found.columns(), 0));
        }
    }
    Ok(())
}

/// 23505 for the values of a key.
fn repeated(entry: &TableEntry, index: &IndexDef, key: &[ArrayRef], row: usize) -> SqlError {
    let key = named_values(entry, &index.columns, key, row);
    duplicate_key(&index.name)
        .with_detail(format!("Key {key} already exists."))
        .of_table(&entry.def.name)
}
