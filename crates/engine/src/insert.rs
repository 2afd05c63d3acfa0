//! Adds rows to a table: all of them or none.
//!
//! Entries are made, sorted and checked against the trees first; then they are inserted. Few rows
//! go into the trees in place; many are merged with the old rows into new trees by a bulk load.

use std::sync::Arc;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use storage::{Depth, Tree};
use types::key::{KeyColumn, KeyEncoder, successor};
use types::row::index_key_columns;
use types::{SqlError, SqlResult};

use crate::catalog::TableEntry;
use crate::database::{Database, PAGE_BYTES};
use crate::fault;
use crate::load::{TableLoader, duplicate_key, key_arrays, row_ids};

/// The entries for one tree.
struct Entries {
    tree: Tree,
    key: Vec<KeyColumn>,
    unique: Option<(usize, String)>,
    /// Key, then value.
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Inserts rows: all columns of the table in order.
pub(crate) fn insert(db: &Database, table: &str, batch: &RecordBatch) -> SqlResult<()> {
    let writer = db.writer();
    let entry = db.snapshot().table(table)?.clone();
    if batch.get_array_memory_size() > in_place_bytes_max(db) {
        let mut loader = TableLoader::with_writer(db, entry, writer)?;
        loader.push(batch)?;
        return loader.finish().map(|_| ());
    }
    let mut trees = entries(&entry, batch)?;
    for tree in &mut trees {
        tree.sort_and_check()?;
    }
    let row_count = batch.num_rows() as u64;
    db.change(move |store, snapshot| {
        Box::pin(async move {
            for tree in &trees {
                tree.check_stored().await?;
            }
            for tree in &trees {
                tree.insert().await?;
            }
            let mut def = (*entry.def).clone();
            let mut statistics = (*def.statistics).clone();
            statistics.row_count += row_count;
            statistics.leaf_pages = entry.tree.stats().leaf_pages;
            let pages = entry.indexes.iter().map(|i| i.tree.stats().leaf_pages);
            statistics.index_leaf_pages = pages.collect();
            def.statistics = Arc::new(statistics);
            let next_row_id = entry.next_row_id + row_count as i64;
            let trees: Vec<_> = entry.indexes.iter().map(|i| i.tree_id).collect();
            snapshot.put(TableEntry::new(store, def, entry.tree_id, &trees, next_row_id)?);
            Ok(())
        })
    })
}

/// Rows of more bytes are merged in by a bulk load. In-place changes stay in the pool until the
/// checkpoint, and each row may touch a page of every tree: a small share of the pool is safe.
pub(crate) fn in_place_bytes_max(db: &Database) -> usize {
    db.pool().frames * PAGE_BYTES as usize / 256
}

fn entries(entry: &TableEntry, batch: &RecordBatch) -> SqlResult<Vec<Entries>> {
    let def = &entry.def;
    let ids = row_ids(entry.next_row_id, batch.num_rows());
    let clustered = Entries {
        tree: entry.tree.clone(),
        key: entry.layout.key.clone(),
        unique: Some((entry.layout.key.len(), format!("{}_pkey", def.name))),
        rows: vec![],
    };
    let mut trees = vec![clustered];
    for (index, stored) in def.indexes.iter().zip(&entry.indexes) {
        trees.push(Entries {
            tree: stored.tree.clone(),
            key: index_key_columns(&def.schema, &def.primary_key, &index.columns),
            unique: index.unique.then(|| (index.columns.len(), index.name.clone())),
            rows: vec![],
        });
    }
    for (number, tree) in trees.iter_mut().enumerate() {
        let encoder = KeyEncoder::new(&tree.key, &key_arrays(&tree.key, batch, &ids));
        for row in 0..batch.num_rows() {
            let (mut key, mut value) = (vec![], vec![]);
            encoder.encode(row, &mut key)?;
            if number == 0 {
                entry.layout.encode_value(batch, row, &mut value)?;
            }
            fault::check_entry(&tree.tree, &key, &value)?;
            tree.rows.push((key, value));
        }
    }
    Ok(trees)
}

impl Entries {
    /// The leading bytes of a key that must be unique; `None` when one of the values is null.
    fn unique_prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let (count, _) = self.unique.as_ref()?;
        let columns = types::key::split_columns(&self.key, key);
        let null = |(column, bytes): (&KeyColumn, &&[u8])| column.nullable && bytes.len() == 1;
        if self.key[..*count].iter().zip(&columns).any(null) {
            return None;
        }
        Some(&key[..columns[..*count].iter().map(|c| c.len()).sum()])
    }

    fn violation(&self) -> SqlError {
        duplicate_key(self.unique.as_ref().map_or("", |(_, name)| name))
    }

    /// Orders the rows and refuses duplicates among them.
    fn sort_and_check(&mut self) -> SqlResult<()> {
        self.rows.sort();
        let twice = |pair: &[(Vec<u8>, Vec<u8>)]| {
            let first = self.unique_prefix(&pair[0].0);
            first.is_some() && first == self.unique_prefix(&pair[1].0)
        };
        if self.rows.windows(2).any(twice) { Err(self.violation()) } else { Ok(()) }
    }

    /// Refuses duplicates of stored rows.
    async fn check_stored(&self) -> SqlResult<()> {
        let prefixes = self.rows.iter().filter_map(|(key, _)| self.unique_prefix(key));
        let end = |key: &[u8]| successor(key).expect("an encoded value has a successor");
        let ranges: Vec<_> = prefixes.map(|key| (key.to_vec(), end(key))).collect();
        let (mut found, io) = (false, IoCounters::default());
        let mut visit = |_: usize, _: &[u8], _: &[u8]| found = true;
        let searched = self.tree.range_batch(&ranges, Depth::Many, &io, &mut visit).await;
        searched.map_err(fault::storage)?;
        if found { Err(self.violation()) } else { Ok(()) }
    }

    async fn insert(&self) -> SqlResult<()> {
        for (key, value) in &self.rows {
            let inserted = self.tree.insert(key, value).await.map_err(fault::storage)?;
            if inserted == storage::Inserted::Duplicate {
                return Err(SqlError::internal("a checked key is a duplicate"));
            }
        }
        Ok(())
    }
}
