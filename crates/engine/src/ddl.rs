//! `CREATE` and `ALTER` of tables and sequences, `CREATE INDEX`, `DROP`.

mod alter;
mod create;
mod drop;
mod sequence;

pub(crate) use alter::alter_table;
pub(crate) use create::create_table;
pub(crate) use drop::drop_tables;
pub(crate) use sequence::{alter_sequence, create_sequence, drop_sequences};

use std::sync::Arc;

use sql::catalog::{IndexDef, IndexId};
use sql::parse::CreateIndex;
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::database::Database;
use crate::fault;
use crate::load::build_index;

fn exists(name: &str) -> SqlError {
    let message = format!("relation \"{name}\" already exists");
    SqlError::new(SqlState::DUPLICATE_TABLE, message)
}

/// Creates an index over the rows that are there.
///
/// Errors: 42P01, 42P07, 42701 and 42703 for names, 23505 for rows with the same unique key.
pub(crate) fn create_index(db: &Database, index: &CreateIndex) -> SqlResult<()> {
    let _writer = db.writer()?;
    let snapshot = db.snapshot();
    let (name, unique) = (index.name.clone(), index.unique);
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
    if let Some(&bad) = columns.iter().find(|&&c| !entry.def.schema.columns[c].ty.may_be_key()) {
        let ty = entry.def.schema.columns[bad].ty;
        return Err(SqlError::unsupported(format!("a key of type {ty}")));
    }
    let def = IndexDef { id: IndexId(0), name, columns, included, unique };
    let tree = build_index(db, &entry, &def)?;
    db.change(move |store, snapshot| {
        Box::pin(async move {
            let index = IndexDef { id: IndexId(snapshot.take_id()), ..def };
            let mut def = (*entry.def).clone();
            def.indexes.push(Arc::new(index));
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

fn ordinal(entry: &TableEntry, name: &str) -> SqlResult<usize> {
    entry.def.schema.ordinal(name).ok_or_else(|| {
        let message = format!("column \"{name}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

/// Drops indexes.
pub(crate) fn drop_indexes(db: &Database, names: &[String], if_exists: bool) -> SqlResult<()> {
    let _writer = db.writer()?;
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
            snapshot.abandon(&[dropped]);
            Ok(())
        })
    })
}
