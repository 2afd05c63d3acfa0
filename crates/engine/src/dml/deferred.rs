//! Deferrable constraints, looked at when a statement or the transaction ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use sql::catalog::TableId;
use types::SqlResult;

use super::change::Change;
use super::foreign::{Key, check_referred};
use super::repeated::check_repeated;
use crate::catalog::TableEntry;
use crate::deferred::{Doubt, Doubted, Doubts};
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
