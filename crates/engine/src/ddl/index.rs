//! `CREATE INDEX` and `DROP INDEX`.

use std::sync::Arc;

use plan::catalog::{IndexDef, IndexId, IndexMethod};
use sql::parse::{CreateIndex, RelationName};
use storage::Store;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::names::exists;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::load::index::build_index;
use crate::writing::Writing;

/// Creates an index over the rows that are there.
///
/// Errors: 42P01, 42P07, 42701 and 42703 for names, 23505 for rows with the same unique key.
pub(crate) async fn create_index(writing: &Writing<'_>, index: &CreateIndex) -> SqlResult<()> {
    let snapshot = writing.snapshot();
    let unique = index.unique;
    let name = index.name_among(|name| snapshot.has_relation(name));
    if snapshot.has_relation(&name) {
        return if index.if_not_exists { Ok(()) } else { Err(exists(&name)) };
    }
    let entry = snapshot.table(&index.table)?.clone();
    let columns = index.columns.iter().map(|name| ordinal(&entry, name));
    let columns = columns.collect::<SqlResult<Vec<_>>>()?;
    if let Some(twice) = (1..columns.len()).find(|&i| columns[..i].contains(&columns[i])) {
        let message = format!("column \"{}\" appears twice in a key", index.columns[twice]);
        return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
    }
    let included = index.included.iter().map(|name| ordinal(&entry, name));
    let included = included.collect::<SqlResult<Vec<_>>>()?;
    let types = columns.iter().map(|&c| entry.def.schema.columns[c].ty);
    if let Some(ty) = types.into_iter().find(|ty| !may_be_indexed(*ty, index.method)) {
        return Err(SqlError::unsupported(format!("a key of type {ty}")));
    }
    let (method, orders) = (index.method, index.orders.clone());
    let def =
        IndexDef { included, unique, method, orders, ..IndexDef::new(IndexId(0), &name, columns) };
    let tree = build_index(writing, &entry, &def).await?;
    let change = writing.change(move |store, snapshot| {
        Box::pin(async move {
            let index = IndexDef { id: IndexId(snapshot.take_id()), ..def };
            let mut def = (*entry.def).clone();
            def.indexes.push(Arc::new(index));
            let trees: Vec<_> = entry.index_trees().chain([tree]).collect();
            snapshot.put(entry.with_indexes(store, def, &trees)?);
            Ok(())
        })
    });
    change.await
}

/// Equal intervals have equal hashes; their order has no key.
pub(crate) fn may_be_indexed(ty: LogicalType, method: IndexMethod) -> bool {
    let is_interval = ty.plain() == LogicalType::Interval;
    ty.may_be_key() || (method == IndexMethod::Hash && is_interval)
}

pub(crate) fn ordinal(entry: &TableEntry, name: &str) -> SqlResult<usize> {
    entry.def.schema.ordinal(name).ok_or_else(|| {
        let message = format!("column \"{name}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

/// Drops indexes, all of them or none.
///
/// Errors: 42704 for a name that is none, 2BP01 for that of a constraint.
pub(crate) async fn drop_indexes(
    writing: &Writing<'_>,
    names: &[RelationName],
    if_exists: bool,
) -> SqlResult<()> {
    let is_there = |name: &&RelationName| writing.snapshot().index(name).is_some();
    if let Some(name) = names.iter().find(|name| !is_there(name) && !if_exists) {
        let message = format!("index \"{name}\" does not exist");
        return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
    }
    let names: Vec<String> = names.iter().filter(is_there).map(|name| name.name.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let change = writing.change(move |store, snapshot| {
        Box::pin(async move {
            for name in names {
                // Of two that would do for a foreign key the second one is needed when the first has gone.
                check_not_needed(snapshot, &name)?;
                // One that is named twice has gone.
                let found = snapshot.index(&name).map(|(entry, at)| (entry.clone(), at));
                if let Some((entry, position)) = found {
                    drop_index(store, snapshot, &entry, position)?;
                }
            }
            Ok(())
        })
    });
    change.await
}

/// 2BP01 for the index of a constraint, which goes with that, and for one that a foreign key needs.
pub(crate) fn check_not_needed(snapshot: &Snapshot, name: &str) -> SqlResult<()> {
    let Some((entry, position)) = snapshot.index(name) else { return Ok(()) };
    let (def, index) = (&entry.def, &entry.def.indexes[position]);
    if !index.primary && !def.constraints.unique.contains(&index.name) {
        return check_not_referred_to(snapshot, entry, position);
    }
    let table = &def.name;
    let message =
        format!("cannot drop index {name} because constraint {name} on table {table} requires it");
    Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .with_hint(format!("You can drop constraint {name} on table {table} instead.")))
}

/// 2BP01 for the only unique key that a foreign key of another table, or of the same, can mean.
pub(crate) fn check_not_referred_to(
    snapshot: &Snapshot,
    entry: &TableEntry,
    position: usize,
) -> SqlResult<()> {
    let def = &entry.def;
    let same = |a: &[usize], b: &[usize]| a.len() == b.len() && a.iter().all(|c| b.contains(c));
    let is_other = |columns: &[usize]| {
        let others = def.indexes.iter().enumerate().filter(|(at, _)| *at != position);
        let mut unique = others.filter(|(_, index)| index.is_always_unique());
        same(&def.primary_key, columns) || unique.any(|(_, index)| same(&index.columns, columns))
    };
    for child in snapshot.all_tables() {
        let keys = child.def.constraints.foreign_keys.iter().filter(|key| key.table == def.id.0);
        let index = &def.indexes[position];
        let mut keys = keys.filter(|key| same(&index.columns, &key.referenced));
        if let Some(key) = keys.find(|key| !is_other(&key.referenced)) {
            let (name, constraint, child) = (&index.name, &key.name, &child.def.name);
            let message = format!("cannot drop index {name} because other objects depend on it");
            let detail =
                format!("constraint {constraint} on table {child} depends on index {name}");
            return Err(SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_detail(detail)
                .with_hint(format!("Drop the constraint {constraint} on table {child} first.")));
        }
    }
    Ok(())
}

pub(crate) fn drop_index(
    store: &Store,
    snapshot: &mut Snapshot,
    entry: &TableEntry,
    position: usize,
) -> SqlResult<()> {
    let mut def = (*entry.def).clone();
    def.indexes.remove(position);
    let mut trees: Vec<_> = entry.index_trees().collect();
    let dropped = trees.remove(position);
    snapshot.put(entry.with_indexes(store, def, &trees)?);
    snapshot.abandon(&[dropped]);
    Ok(())
}
