//! `TRUNCATE`: new empty trees take the place of the old ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use plan::constraints::ColumnDefault;
use sql::parse::Truncate;
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult, SqlState};

use super::references::referring;
use crate::catalog::entry::TableEntry;
use crate::columns::stored::StoredColumns;
use crate::fault;
use crate::parts::publish::emptied;
use crate::writing::Writing;

/// Empties tables.
///
/// Errors: 42P01 for an unknown table; 0A000 when a table that is not emptied refers to one that is.
pub(crate) async fn truncate(writing: &Writing<'_>, truncate: &Truncate) -> SqlResult<()> {
    let entries =
        truncate.tables.iter().map(|t| writing.entry(t)).collect::<SqlResult<Vec<_>>>()?;
    let entries = closure(writing, entries, truncate.cascade)?;
    let restart = truncate.restart_identity;
    let mut remotes = vec![];
    for entry in &entries {
        remotes.push(unless_cancelled(&writing.cancel, emptied(writing.db, entry)).await??);
    }
    let change = writing.change(move |store, snapshot| {
        Box::pin(async move {
            for (entry, remote) in entries.into_iter().zip(remotes) {
                let tree = store.create_tree().await.map_err(fault::storage)?;
                let mut indexes = vec![];
                for _ in &entry.indexes {
                    indexes.push(store.create_tree().await.map_err(fault::storage)?);
                }
                let columns = match &entry.columns {
                    None => None,
                    Some(_) => {
                        let deleted = store.create_tree().await.map_err(fault::storage)?;
                        Some(StoredColumns { remote, ..StoredColumns::empty(deleted) })
                    }
                };
                let mut def = (*entry.def).clone();
                def.statistics = Arc::default();
                if restart {
                    let mut constraints = (*def.constraints).clone();
                    for default in constraints.defaults.iter_mut().flatten() {
                        if let ColumnDefault::Identity(identity) = default {
                            identity.sequence = identity.sequence.restarted();
                        }
                    }
                    def.constraints = Arc::new(constraints);
                }
                let new = TableEntry::new(store, def, tree, &indexes)?;
                snapshot.put_over(&entry, new.with_columns(store, columns.as_ref())?);
            }
            Ok(())
        })
    });
    change.await
}

/// The tables, and with `cascade` those that refer to them.
fn closure(
    writing: &Writing<'_>,
    mut entries: Vec<Arc<TableEntry>>,
    cascade: bool,
) -> SqlResult<Vec<Arc<TableEntry>>> {
    let mut names = BTreeSet::new();
    entries.retain(|e| names.insert(e.def.name.clone()));
    let mut next = 0;
    while next < entries.len() {
        let referenced = entries[next].clone();
        for (child, key) in referring(&writing.catalog, referenced.def.id) {
            if names.contains(&child.def.name) {
                continue;
            }
            if !cascade {
                let message = "cannot truncate a table referenced in a foreign key constraint";
                let detail = format!(
                    "Table \"{}\" references \"{}\" by {}.",
                    child.def.name, referenced.def.name, key.name
                );
                return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_detail(detail)
                    .with_hint("Truncate both at the same time, or use TRUNCATE ... CASCADE."));
            }
            names.insert(child.def.name.clone());
            entries.push(child);
        }
        next += 1;
    }
    Ok(entries)
}
