//! `ALTER TABLE`: the steps of a change of a table.

use std::sync::Arc;

use plan::catalog::{TableDef, TableId};
use sql::parse::{AlterTable, Alteration};
use storage::{Store, TreeId};
use types::{SqlError, SqlResult, SqlState};

use super::draft::Altered;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::refused::check_definition;
use crate::ddl::sequence;
use crate::load::loader::Rebuilt;
use crate::writing::Writing;

/// Alters a table.
///
/// Errors: 42P01, 42703, 42701, 42704, 42710 for names; 2BP01 when something else needs what goes;
/// 42804 for types; 23502, 23503, 23505, 23514 for rows that do not fit the new definition.
pub(crate) async fn alter_table(writing: &Writing<'_>, alter: &AlterTable) -> SqlResult<()> {
    let snapshot = writing.catalog.snapshot();
    let entry = match snapshot.table(&alter.table) {
        Ok(entry) => entry.clone(),
        Err(_) if alter.if_exists => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut altered = Altered::new(&entry);
    for alteration in &alter.alterations {
        altered.apply(writing, alteration)?;
    }
    altered.finish(writing)?;
    let def = altered.definition();
    check_definition(&def)?;
    super::rebuild::check_types(writing, &altered, &def)?;
    let renamed_view = |v: &&Arc<sql::ViewDef>| v.relations.contains(&alter.table);
    let viewed = snapshot.views.values().find(renamed_view);
    if let Some(view) = viewed {
        keeps_views(writing, alter, &def, &view.name)?;
    }
    let rebuilt = match altered.rebuild {
        true => {
            let rebuilt = super::rebuild::rebuild(writing, &altered, &def).await?;
            super::rebuild::check_rows(writing, &altered, &def, &rebuilt).await?;
            Some(rebuilt)
        }
        false => {
            super::rebuild::validate(writing, &altered, &def).await?;
            None
        }
    };
    publish(writing, altered, def, rebuilt).await
}

/// Views are texts: what they name must stay.
pub(crate) fn keeps_views(
    writing: &Writing<'_>,
    alter: &AlterTable,
    def: &TableDef,
    view: &str,
) -> SqlResult<()> {
    let renames =
        |a: &Alteration| matches!(a, Alteration::Rename { .. } | Alteration::RenameColumn { .. });
    if alter.alterations.iter().any(renames) {
        return Err(SqlError::unsupported("renaming what a view names")
            .with_detail(format!("view {view} names the table"))
            .with_hint("drop the view first and create it again"));
    }
    let snapshot = writing.catalog.snapshot();
    let mut changed = (**snapshot).clone();
    let entry = snapshot.table(&alter.table)?.with_def(def.clone());
    changed.put(entry);
    let dependents = snapshot.views.values().filter(|v| v.relations.contains(&alter.table));
    for view in dependents {
        let before = sql::view_columns(view, &**snapshot)?;
        let after = sql::view_columns(view, &changed);
        let same = |a: &Vec<types::Column>| {
            a.len() == before.len() && a.iter().zip(&before).all(|(a, b)| a.ty == b.ty)
        };
        if !after.as_ref().is_ok_and(same) {
            let message =
                format!("cannot alter table {} because other objects depend on it", alter.table);
            return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_detail(format!("view {} depends on it", view.name))
                .with_hint("drop the view first"));
        }
    }
    Ok(())
}

/// Makes the new definition visible, over new trees where there are some.
pub(crate) async fn publish(
    writing: &Writing<'_>,
    altered: Altered,
    def: TableDef,
    rebuilt: Option<Rebuilt>,
) -> SqlResult<()> {
    let Altered { entry, remap, dropped_references, next_id, .. } = altered;
    let change = writing.change(move |store, snapshot: &mut Snapshot| {
        Box::pin(async move {
            snapshot.next_id = snapshot.next_id.max(next_id);
            let new = match &rebuilt {
                None => same_trees(&entry, store, def)?,
                Some(rebuilt) => rebuilt.entry(store, def)?,
            };
            snapshot.tables.remove(&entry.def.name);
            for (old, place) in entry.def.schema.columns.iter().zip(&remap) {
                let column = place.and_then(|place| new.def.schema.columns.get(place));
                if let Some(column) = column.filter(|column| column.name != old.name) {
                    snapshot.rename_commented(entry.def.id.0, &old.name, &column.name);
                }
                let new = place.and_then(|place| new.def.schema.columns.get(place));
                let new = new.map(|column| column.name.as_str());
                sequence::follow_column(snapshot, entry.def.id.0, &old.name, new);
            }
            refer_anew(snapshot, entry.def.id.0, &remap, &dropped_references);
            snapshot.put_over(&entry, new);
            Ok(())
        })
    });
    change.await
}

/// A table of another definition with the trees that it has.
pub(crate) fn same_trees(
    entry: &TableEntry,
    store: &Store,
    def: TableDef,
) -> SqlResult<TableEntry> {
    let indexes: Vec<TreeId> = entry.index_trees().collect();
    entry.with_indexes(store, def, &indexes)
}

/// Corrects what other tables say of the table's columns: `remap` has the new place of each.
pub(crate) fn refer_anew(
    snapshot: &mut Snapshot,
    table: u32,
    remap: &[Option<usize>],
    dropped: &[(TableId, String)],
) {
    let referring =
        |t: &&Arc<TableEntry>| t.def.constraints.foreign_keys.iter().any(|k| k.table == table);
    let entries: Vec<_> = snapshot.tables.values().filter(referring).cloned().collect();
    for entry in entries {
        let mut def = (*entry.def).clone();
        let mut constraints = (*def.constraints).clone();
        let is_dropped = |name: &str| dropped.iter().any(|(of, key)| *of == def.id && key == name);
        constraints.foreign_keys.retain(|k| k.table != table || !is_dropped(&k.name));
        for key in constraints.foreign_keys.iter_mut().filter(|k| k.table == table) {
            for ordinal in &mut key.referenced {
                *ordinal = remap[*ordinal].unwrap_or(*ordinal);
            }
        }
        // Most changes are none to who refers to the table.
        if constraints != *entry.def.constraints {
            def.constraints = Arc::new(constraints);
            snapshot.put(entry.with_def(def));
        }
    }
}
