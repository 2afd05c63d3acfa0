//! `CREATE TABLE`, `CREATE INDEX`, `DROP`.

use std::sync::Arc;

use sql::catalog::{IndexDef, IndexId, TableDef, TableId, TableStatistics};
use types::{Schema, SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::database::Database;
use crate::fault;
use crate::load::{build_index, drop_trees};

fn exists(name: &str) -> SqlError {
    let message = format!("relation \"{name}\" already exists");
    SqlError::new(SqlState::DUPLICATE_TABLE, message)
}

/// Creates an empty table; false when it was there and that is fine.
pub(crate) fn create_table(
    db: &Database,
    name: &str,
    schema: Schema,
    primary_key: Vec<usize>,
    if_not_exists: bool,
) -> SqlResult<bool> {
    let _writer = db.writer();
    if db.snapshot().has_relation(name) {
        return if if_not_exists { Ok(false) } else { Err(exists(name)) };
    }
    let name = name.to_owned();
    db.change(move |store, snapshot| {
        Box::pin(async move {
            let id = TableId(snapshot.take_id());
            let statistics = Arc::new(TableStatistics::default());
            let indexes = vec![];
            let def = TableDef { id, name, schema, primary_key, indexes, statistics };
            let tree = store.create_tree().await.map_err(fault::storage)?;
            snapshot.put(TableEntry::new(store, def, tree, &[], 1));
            Ok(())
        })
    })?;
    Ok(true)
}

/// Creates an index over the rows that are there; false when it was there and that is fine.
pub(crate) fn create_index(
    db: &Database,
    name: &str,
    table: &str,
    columns: Vec<usize>,
    unique: bool,
    if_not_exists: bool,
) -> SqlResult<bool> {
    let _writer = db.writer();
    let snapshot = db.snapshot();
    if snapshot.has_relation(name) {
        return if if_not_exists { Ok(false) } else { Err(exists(name)) };
    }
    let entry = snapshot.table(table)?.clone();
    let tree = build_index(db, &entry, &columns, unique.then(|| name.to_owned()))?;
    let name = name.to_owned();
    db.change(move |store, snapshot| {
        Box::pin(async move {
            let id = IndexId(snapshot.take_id());
            let mut def = (*entry.def).clone();
            def.indexes.push(Arc::new(IndexDef { id, name, columns, unique }));
            let mut statistics = (*def.statistics).clone();
            statistics.index_leaf_pages.push(store.tree(tree).leaf_pages());
            def.statistics = Arc::new(statistics);
            let trees: Vec<_> = entry.indexes.iter().map(|i| i.tree_id).chain([tree]).collect();
            snapshot.put(TableEntry::new(store, def, entry.tree_id, &trees, entry.next_row_id));
            Ok(())
        })
    })?;
    Ok(true)
}

/// Drops tables; false for each that was not there when that is fine.
pub(crate) fn drop_tables(db: &Database, names: &[String], if_exists: bool) -> SqlResult<()> {
    let _writer = db.writer();
    let snapshot = db.snapshot();
    let mut entries = vec![];
    for name in names {
        match snapshot.tables.get(name) {
            Some(entry) => entries.push(entry.clone()),
            None if if_exists => {}
            None => {
                let message = format!("table \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        }
    }
    db.change(move |store, snapshot| {
        Box::pin(async move {
            for entry in entries {
                if snapshot.tables.remove(&entry.def.name).is_some() {
                    drop_trees(store, &entry.tree_ids()).await?;
                }
            }
            Ok(())
        })
    })
}

/// Drops indexes.
pub(crate) fn drop_indexes(db: &Database, names: &[String], if_exists: bool) -> SqlResult<()> {
    let _writer = db.writer();
    for name in names {
        match db.snapshot().index(name) {
            Some((entry, position)) => drop_index(db, entry.clone(), position)?,
            None if if_exists => {}
            None => {
                let message = format!("index \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
            }
        }
    }
    Ok(())
}

fn drop_index(db: &Database, entry: Arc<TableEntry>, position: usize) -> SqlResult<()> {
    db.change(move |store, snapshot| {
        Box::pin(async move {
            let mut def = (*entry.def).clone();
            def.indexes.remove(position);
            let mut statistics = (*def.statistics).clone();
            statistics.index_leaf_pages.remove(position);
            def.statistics = Arc::new(statistics);
            let mut trees: Vec<_> = entry.indexes.iter().map(|i| i.tree_id).collect();
            let dropped = trees.remove(position);
            snapshot.put(TableEntry::new(store, def, entry.tree_id, &trees, entry.next_row_id));
            drop_trees(store, &[dropped]).await
        })
    })
}
