//! `CREATE TABLE`, `CREATE INDEX`, `DROP`.

use std::sync::Arc;

use sql::catalog::{IndexDef, IndexId, TableDef, TableId, TableStatistics};
use sql::parse::{CreateIndex, CreateTable};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::database::Database;
use crate::fault;
use crate::load::{build_index, drop_trees};

fn exists(name: &str) -> SqlError {
    let message = format!("relation \"{name}\" already exists");
    SqlError::new(SqlState::DUPLICATE_TABLE, message)
}

/// Creates an empty table, with an index for each of its unique constraints.
pub(crate) fn create_table(db: &Database, table: CreateTable) -> SqlResult<()> {
    let _writer = db.writer();
    if db.snapshot().has_relation(&table.name) {
        return if table.if_not_exists { Ok(()) } else { Err(exists(&table.name)) };
    }
    db.change(move |store, snapshot| {
        Box::pin(async move {
            let id = TableId(snapshot.take_id());
            let (mut indexes, mut trees) = (vec![], vec![]);
            for columns in table.unique {
                let names = columns.iter().map(|&c| table.schema.columns[c].name.as_str());
                let names = names.collect::<Vec<_>>().join("_");
                let (id, name) =
                    (IndexId(snapshot.take_id()), format!("{}_{names}_key", table.name));
                indexes.push(Arc::new(IndexDef { id, name, columns, unique: true }));
                trees.push(store.create_tree().await.map_err(fault::storage)?);
            }
            let index_leaf_pages = vec![1; indexes.len()];
            let statistics = Arc::new(TableStatistics { index_leaf_pages, ..Default::default() });
            let CreateTable { name, schema, primary_key, .. } = table;
            let def = TableDef { id, name, schema, primary_key, indexes, statistics };
            let tree = store.create_tree().await.map_err(fault::storage)?;
            snapshot.put(TableEntry::new(store, def, tree, &trees, 1)?);
            Ok(())
        })
    })
}

/// Creates an index on `columns` over the rows that are there.
pub(crate) fn create_index(
    db: &Database,
    index: &CreateIndex,
    columns: Vec<usize>,
) -> SqlResult<()> {
    let _writer = db.writer();
    let snapshot = db.snapshot();
    let (name, unique) = (index.name.clone(), index.unique);
    if snapshot.has_relation(&name) {
        return if index.if_not_exists { Ok(()) } else { Err(exists(&name)) };
    }
    let entry = snapshot.table(&index.table)?.clone();
    if let Some(&bad) = columns.iter().find(|&&c| !entry.def.schema.columns[c].ty.may_be_key()) {
        let ty = entry.def.schema.columns[bad].ty;
        return Err(SqlError::unsupported(format!("a key of type {ty}")));
    }
    let tree = build_index(db, &entry, &columns, unique.then(|| name.clone()))?;
    db.change(move |store, snapshot| {
        Box::pin(async move {
            let id = IndexId(snapshot.take_id());
            let mut def = (*entry.def).clone();
            def.indexes.push(Arc::new(IndexDef { id, name, columns, unique }));
            let mut statistics = (*def.statistics).clone();
            let built = store.tree(tree).map_err(fault::storage)?;
            statistics.index_leaf_pages.push(built.stats().leaf_pages);
            def.statistics = Arc::new(statistics);
            let trees: Vec<_> = entry.indexes.iter().map(|i| i.tree_id).chain([tree]).collect();
            snapshot.put(TableEntry::new(store, def, entry.tree_id, &trees, entry.next_row_id)?);
            Ok(())
        })
    })
}

/// Drops tables.
pub(crate) fn drop_tables(db: &Database, names: &[String], if_exists: bool) -> SqlResult<()> {
    let _writer = db.writer();
    let snapshot = db.snapshot();
    let mut entries = vec![];
    for name in names {
        match snapshot.tables.get(name) {
            Some(entry) => entries.push(entry.clone()),
            None if snapshot.views.contains_key(name) => {
                let message = format!("\"{name}\" is not a table");
                return Err(SqlError::new(SqlState("42809"), message)
                    .with_hint("use DROP VIEW to remove a view"));
            }
            None if if_exists => {}
            None => {
                let message = format!("table \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
            }
        }
    }
    crate::view::no_dependents(&snapshot, names)?;
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
            snapshot.put(TableEntry::new(store, def, entry.tree_id, &trees, entry.next_row_id)?);
            drop_trees(store, &[dropped]).await
        })
    })
}
