//! `DROP TABLE`.

use std::sync::Arc;

use sql::parse::{Drop, RelationName};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::snapshot::Snapshot;
use crate::writing::Writing;

/// Drops tables; with `CASCADE` also the views that name them and the foreign keys that refer to
/// them.
pub(crate) async fn drop_tables(writing: &Writing<'_>, drop: &Drop) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    let mut entries = vec![];
    for name in &drop.names {
        match snapshot.tables.get(name) {
            Some(entry) => entries.push(entry.clone()),
            None if snapshot.views.contains_key(&name.name) => {
                let message = format!("\"{name}\" is not a table");
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .with_hint("use DROP VIEW to remove a view"));
            }
            None if snapshot.has_sequence(name) => {
                let message = format!("\"{name}\" is not a table");
                return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .with_hint("Use DROP SEQUENCE to remove a sequence."));
            }
            None if drop.if_exists => {}
            None => {
                let message = format!("table \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        }
    }
    // Views are of permanent tables.
    let permanent = drop.names.iter().filter(|name| !snapshot.is_temporary(name));
    let permanent: Vec<String> = permanent.map(|name| name.name.clone()).collect();
    if !drop.cascade {
        crate::view::no_dependents(snapshot, &permanent)?;
        no_referring(snapshot, &drop.names)?;
    }
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            for entry in entries {
                forget(snapshot, entry.def.id.0, &permanent);
                if snapshot.tables.remove(&entry.def.name).is_some() {
                    super::sequence::drop_owned(snapshot, entry.def.id.0);
                    snapshot.abandon(&entry.tree_ids());
                }
            }
            Ok(())
        })
    });
    change.await
}

/// Refuses to drop tables that others refer to.
fn no_referring(snapshot: &Snapshot, names: &[RelationName]) -> SqlResult<()> {
    for name in names {
        let Some(dropped) = snapshot.tables.get(name) else { continue };
        let is_other = |other: &String| names.iter().all(|name| name.name != *other);
        for other in snapshot.tables.values().filter(|t| is_other(&t.def.name)) {
            let keys = &other.def.constraints.foreign_keys;
            if let Some(key) = keys.iter().find(|k| k.table == dropped.def.id.0) {
                let message =
                    format!("cannot drop table {name} because other objects depend on it");
                let detail = format!(
                    "constraint {} on table {} depends on table {name}",
                    key.name, other.def.name
                );
                let state = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                return Err(SqlError::new(state, message)
                    .with_detail(detail)
                    .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
        }
    }
    Ok(())
}

/// Removes foreign keys to the table, and views that name one of the relations or each other.
fn forget(snapshot: &mut Snapshot, table: u32, names: &[String]) {
    let referring: Vec<_> = snapshot
        .tables
        .values()
        .filter(|t| t.def.constraints.foreign_keys.iter().any(|k| k.table == table))
        .cloned()
        .collect();
    for entry in referring {
        let mut def = (*entry.def).clone();
        let mut constraints = (*def.constraints).clone();
        constraints.foreign_keys.retain(|k| k.table != table);
        def.constraints = Arc::new(constraints);
        snapshot.put(entry.with_def(def));
    }
    let mut gone = names.to_vec();
    let mut next = 0;
    while next < gone.len() {
        let name = gone[next].clone();
        let views = snapshot.views.values().filter(|v| v.relations.contains(&name));
        let views: Vec<String> = views.map(|v| v.name.clone()).collect();
        for view in views {
            snapshot.views_mut().remove(&view);
            gone.push(view);
        }
        next += 1;
    }
}
