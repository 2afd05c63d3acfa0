//! Bulk load: rows are encoded, sorted per tree, and written bottom-up into new trees, which
//! replace the old ones in one checkpoint. A crash at any moment leaves the old or the new table.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use runtime::sync::Cancel;
use sql::catalog::{IndexDef, TableStatistics};
use storage::{Store, Tree, TreeId};
use types::key::{KeyColumn, KeyEncoder};
use types::row::RowLayout;
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::database::{Database, Job};
use crate::fault;
use crate::reader;
use crate::sorter::{Sorted, Sorter};
use crate::turn::{self, Turn};

/// Memory for sorting, over all trees of a load: runs of this size merge at the device's
/// sequential speed.
const SORT_BYTES: usize = 512 << 20;

/// Adds many rows to one table.
///
/// Lives on an ordinary thread; other writers wait until it is finished or dropped. Dropping it
/// leaves the table as it was.
pub struct TableLoader<'a> {
    db: &'a Database,
    entry: Arc<TableEntry>,
    trees: Vec<TreeInput>,
    next_row_id: i64,
    /// The right to write, unless the caller keeps it.
    _writer: Option<Turn>,
}

/// The trees of a table written anew, not part of it yet.
pub(crate) struct Rebuilt {
    /// The clustered tree, then those of the indexes.
    pub(crate) tree_ids: Vec<TreeId>,
    pub(crate) row_count: u64,
}

/// What a load did.
#[derive(Clone, Copy, Debug)]
pub struct LoadReport {
    /// Rows in the table.
    pub row_count: u64,
}

/// The entries of one tree to be.
struct TreeInput {
    /// A tree of the store, for its limits; the entries go into a new one.
    tree: Tree,
    sorter: Sorter,
    layout: Arc<RowLayout>,
    /// How many leading key columns must be unique, and the name of the constraint.
    unique: Option<(usize, String)>,
}

impl<'a> TableLoader<'a> {
    /// A loader that keeps the rows that are there: they are read and written again.
    pub(crate) fn new(db: &'a Database, table: &str) -> SqlResult<TableLoader<'a>> {
        let writer = db.writer()?;
        let entry = db.snapshot().table(table)?.clone();
        let trees = inputs(db, &entry);
        let next_row_id = entry.next_row_id;
        let mut loader = TableLoader { db, entry, trees, next_row_id, _writer: writer };
        if loader.entry.def.statistics.row_count > 0 {
            loader.keep_rows(&HashSet::new())?;
        }
        Ok(loader)
    }

    /// The same without the rows whose clustered keys are in `gone`, for a caller that keeps the right
    /// to write.
    pub(crate) fn without(
        db: &'a Database,
        entry: Arc<TableEntry>,
        gone: &HashSet<Vec<u8>>,
    ) -> SqlResult<TableLoader<'a>> {
        let mut loader = TableLoader::empty(db, entry);
        loader.keep_rows(gone)?;
        Ok(loader)
    }

    /// A loader of a table that keeps none of its rows, for a caller that keeps the right to write.
    pub(crate) fn empty(db: &'a Database, entry: Arc<TableEntry>) -> TableLoader<'a> {
        let (trees, next_row_id) = (inputs(db, &entry), entry.next_row_id);
        TableLoader { db, entry, trees, next_row_id, _writer: None }
    }

    fn keep_rows(&mut self, gone: &HashSet<Vec<u8>>) -> SqlResult<()> {
        let entry = self.entry.clone();
        let job = self.db.start_job("reading", entry.def.statistics.row_count);
        let column_count = entry.def.schema.columns.len();
        let ordinals: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
        reader::read_table(self.db, &entry, &ordinals, &mut |batch| {
            job.done.fetch_add(batch.num_rows() as u64, Relaxed);
            let ids = match batch.columns().get(column_count) {
                Some(ids) => ids.clone(),
                None => row_ids(0, batch.num_rows()),
            };
            let columns: Vec<usize> = (0..column_count).collect();
            let rows = batch.project(&columns).map_err(|e| SqlError::internal(e.to_string()))?;
            let (rows, ids) = staying(&entry, rows, ids, gone)?;
            self.push_with_ids(&rows, &ids)
        })
    }

    /// Adds rows: all columns of the table in order.
    pub fn push(&mut self, batch: &RecordBatch) -> SqlResult<()> {
        let ids = row_ids(self.next_row_id, batch.num_rows());
        self.next_row_id += batch.num_rows() as i64;
        self.push_with_ids(batch, &ids)
    }

    /// Adds rows that have their row ids.
    pub(crate) fn push_with_ids(&mut self, batch: &RecordBatch, ids: &ArrayRef) -> SqlResult<()> {
        for tree in &mut self.trees {
            tree.push(batch, ids)?;
        }
        Ok(())
    }

    /// Writes the trees and makes them durable. Progress is in [`Database::job`].
    pub fn finish(self) -> SqlResult<LoadReport> {
        let (db, old, next_row_id) = (self.db, self.entry.clone(), self.next_row_id);
        // The right to write stays until the new trees are in place.
        let mut loader = self;
        let _writer = loader._writer.take();
        let Rebuilt { tree_ids, row_count } = loader.build()?;
        db.change(move |store, snapshot| {
            Box::pin(async move {
                snapshot.put(replaced(store, &old, &tree_ids, row_count, next_row_id)?);
                snapshot.abandon(&old.tree_ids());
                Ok(())
            })
        })?;
        Ok(LoadReport { row_count })
    }

    /// Writes the trees, which the caller puts in the place of the old ones.
    pub(crate) fn build(self) -> SqlResult<Rebuilt> {
        let row_count = self.trees[0].sorter.entry_count();
        let entry_count: u64 = self.trees.iter().map(|t| t.sorter.entry_count()).sum();
        let job = self.db.start_job("writing", entry_count);
        let tree_ids = write_trees(self.db, self.trees, job)?;
        Ok(Rebuilt { tree_ids, row_count })
    }
}

/// The row ids of the next rows: one past the table's columns for [`KeyEncoder`].
pub(crate) fn row_ids(first: i64, count: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(first..first + count as i64))
}

/// The rows whose clustered keys are not in `gone`.
fn staying(
    entry: &TableEntry,
    rows: RecordBatch,
    ids: ArrayRef,
    gone: &HashSet<Vec<u8>>,
) -> SqlResult<(RecordBatch, ArrayRef)> {
    if gone.is_empty() {
        return Ok((rows, ids));
    }
    let internal = |e: arrow_schema::ArrowError| SqlError::internal(e.to_string());
    let key = &entry.layout.key;
    let encoder = KeyEncoder::new(key, &key_arrays(key, &rows, &ids));
    let mut bytes = vec![];
    let stays = |row: usize| {
        bytes.clear();
        encoder.encode(row, &mut bytes)?;
        Ok(Some(!gone.contains(&bytes)))
    };
    let stays = (0..rows.num_rows()).map(stays).collect::<SqlResult<Vec<_>>>()?;
    let stays = BooleanArray::from(stays);
    let kept = arrow_select::filter::filter_record_batch(&rows, &stays).map_err(internal)?;
    Ok((kept, arrow_select::filter::filter(&ids, &stays).map_err(internal)?))
}

/// The columns of a key in `batch`.
pub(crate) fn key_arrays(key: &[KeyColumn], batch: &RecordBatch, ids: &ArrayRef) -> Vec<ArrayRef> {
    let array = |k: &KeyColumn| match k.ordinal < batch.num_columns() {
        true => batch.column(k.ordinal).clone(),
        false => ids.clone(),
    };
    key.iter().map(array).collect()
}

fn inputs(db: &Database, entry: &TableEntry) -> Vec<TreeInput> {
    let def = &entry.def;
    let budget_bytes = SORT_BYTES / (1 + def.indexes.len());
    let sorter = |number: usize| {
        Sorter::new(db.handle(), db.sort_path(&format!("{}-{number}", def.id.0)), budget_bytes)
    };
    let constraint = def.primary_key_name();
    let clustered = TreeInput {
        tree: entry.tree.clone(),
        sorter: sorter(0),
        layout: entry.layout.clone(),
        unique: Some((entry.layout.key.len(), constraint)),
    };
    let indexes = def.indexes.iter().zip(&entry.indexes).enumerate();
    let indexes = indexes.map(|(number, (index, stored))| TreeInput {
        tree: entry.tree.clone(),
        sorter: sorter(number + 1),
        layout: stored.layout.clone(),
        unique: index.unique.then(|| (index.columns.len(), index.name.clone())),
    });
    std::iter::once(clustered).chain(indexes).collect()
}

impl TreeInput {
    fn push(&mut self, batch: &RecordBatch, ids: &ArrayRef) -> SqlResult<()> {
        let keys = key_arrays(&self.layout.key, batch, ids);
        let values = self.layout.value_columns().iter().map(|&i| batch.column(i).clone());
        self.push_entries(&keys, &values.collect::<Vec<_>>(), batch.num_rows())
    }

    /// Adds entries, given the columns of the key and those of the value.
    fn push_entries(
        &mut self,
        keys: &[ArrayRef],
        values: &[ArrayRef],
        row_count: usize,
    ) -> SqlResult<()> {
        let encoder = KeyEncoder::new(&self.layout.key, keys);
        let (mut key, mut value) = (vec![], vec![]);
        for row in 0..row_count {
            key.clear();
            value.clear();
            encoder.encode(row, &mut key)?;
            self.layout.encode_columns(values, row, &mut value)?;
            fault::check_entry(&self.tree, &key, &value)?;
            self.sorter.push(&key, &value)?;
        }
        Ok(())
    }
}

/// Writes each tree on a worker of its own; on an error none of them stays.
fn write_trees(db: &Database, trees: Vec<TreeInput>, job: Arc<Job>) -> SqlResult<Vec<TreeId>> {
    let mut inputs = vec![];
    for tree in trees {
        match tree.sorter.finish() {
            Ok(sorted) => inputs.push((sorted, tree.layout, tree.unique)),
            Err(error) => {
                discard(db, inputs.into_iter().map(|input| input.0).collect());
                return Err(error);
            }
        }
    }
    let (store, cancel) = (db.store().clone(), turn::cancel());
    db.handle().block_on(move || async move {
        let mut running = vec![];
        for (number, (sorted, layout, unique)) in inputs.into_iter().enumerate() {
            let (store, job, cancel) = (store.clone(), job.clone(), cancel.clone());
            let worker = number % runtime::worker_count();
            running.push(runtime::spawn_on(worker, move || async move {
                let filling = Filling { key: &layout.key, unique, job: &job, cancel };
                write_tree(&store, sorted, filling).await
            }));
        }
        let mut results = vec![];
        for task in running {
            let result = task.await;
            let crashed = |_| Err(SqlError::internal("a load task was aborted"));
            results.push(result.unwrap_or_else(crashed));
        }
        if results.iter().all(Result::is_ok) {
            return results.into_iter().collect();
        }
        let written: Vec<_> = results.iter().filter_map(|r| r.as_ref().ok().copied()).collect();
        drop_trees(&store, &written).await?;
        results.into_iter().collect()
    })
}

fn discard(db: &Database, sorted: Vec<Sorted>) {
    db.handle().block_on(move || async move {
        for one in sorted {
            one.discard().await;
        }
    });
}

/// On an error neither the tree nor the sorted runs stay: the disk may be full.
async fn write_tree(store: &Store, mut sorted: Sorted, filling: Filling<'_>) -> SqlResult<TreeId> {
    let written = match store.create_tree().await.map_err(fault::storage) {
        Ok(tree_id) => {
            let filled = fill(store, tree_id, &mut sorted, filling).await;
            if filled.is_err() {
                // The error that led here is the one to report.
                drop_trees(store, &[tree_id]).await.ok();
            }
            filled.map(|()| tree_id)
        }
        Err(error) => Err(error),
    };
    if written.is_err() {
        sorted.discard().await;
    }
    written
}

/// What a tree that is written has to be, who watches, and who ends it.
struct Filling<'a> {
    key: &'a [KeyColumn],
    unique: Option<(usize, String)>,
    job: &'a Job,
    cancel: Cancel,
}

impl Filling<'_> {
    /// Gives others their turn; 57014 when nobody wants the tree any more.
    async fn breathe(&self) -> SqlResult<()> {
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
        match self.cancel.is_cancelled() {
            true => Err(SqlError::cancelled()),
            false => Ok(()),
        }
    }
}

async fn fill(
    store: &Store,
    tree_id: TreeId,
    sorted: &mut Sorted,
    filling: Filling<'_>,
) -> SqlResult<()> {
    let Filling { key, unique, job, .. } = &filling;
    let tree = store.tree(tree_id).map_err(fault::storage)?;
    let mut loader = tree.bulk_loader().await.map_err(fault::storage)?;
    let mut last: Vec<u8> = vec![];
    while let Some((bytes, value)) = sorted.next().await? {
        filling.breathe().await?;
        if let Some((count, constraint)) = unique
            && same_key(&key[..*count], key, &last, bytes)
        {
            return Err(duplicate_key(constraint));
        }
        loader.push(bytes, value).await.map_err(fault::storage)?;
        last.clear();
        last.extend_from_slice(bytes);
        job.done.fetch_add(1, Relaxed);
    }
    loader.finish().await.map_err(fault::storage)
}

/// Whether two keys agree in the unique columns and none of these is null.
fn same_key(unique: &[KeyColumn], key: &[KeyColumn], a: &[u8], b: &[u8]) -> bool {
    if a.is_empty() || (unique.len() == key.len() && a != b) {
        return false;
    }
    let (a, b) = (types::key::split_columns(key, a), types::key::split_columns(key, b));
    let null = |(column, bytes): (&KeyColumn, &&[u8])| column.nullable && bytes.len() == 1;
    a[..unique.len()] == b[..unique.len()] && !unique.iter().zip(&a).any(null)
}

/// 23505 for the constraint.
pub(crate) fn duplicate_key(constraint: &str) -> SqlError {
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    SqlError::new(SqlState::UNIQUE_VIOLATION, message).of_constraint(constraint)
}

pub(crate) async fn drop_trees(store: &Store, trees: &[TreeId]) -> SqlResult<()> {
    for &tree in trees {
        store.drop_tree(tree).await.map_err(fault::storage)?;
    }
    Ok(())
}

/// The table over its new trees, with fresh counts.
pub(crate) fn replaced(
    store: &Store,
    old: &TableEntry,
    trees: &[TreeId],
    row_count: u64,
    next_row_id: i64,
) -> SqlResult<TableEntry> {
    let tree = |&tree: &TreeId| store.tree(tree).map_err(fault::storage);
    let leaf_pages = trees.iter().map(|id| Ok(tree(id)?.stats().leaf_pages));
    let leaf_pages = leaf_pages.collect::<SqlResult<Vec<_>>>()?;
    let statistics = TableStatistics {
        row_count,
        leaf_pages: leaf_pages[0],
        index_leaf_pages: leaf_pages[1..].to_vec(),
        columns: vec![],
    };
    let mut def = (*old.def).clone();
    def.statistics = Arc::new(statistics);
    TableEntry::new(store, def, trees[0], &trees[1..], next_row_id)
}

/// Builds the tree of a new index over the rows of a table.
pub(crate) fn build_index(
    db: &Database,
    entry: &TableEntry,
    index: &IndexDef,
) -> SqlResult<TreeId> {
    let def = &entry.def;
    let (columns, included) = (&index.columns, &index.included);
    let layout = RowLayout::index(&def.schema, &def.primary_key, columns, included);
    let path: PathBuf = db.sort_path(&format!("{}-index", def.id.0));
    let mut tree = TreeInput {
        tree: entry.tree.clone(),
        sorter: Sorter::new(db.handle(), path, SORT_BYTES),
        layout: Arc::new(layout),
        unique: index.unique.then(|| (index.columns.len(), index.name.clone())),
    };
    let job = db.start_job("reading", def.statistics.row_count);
    let key = tree.layout.key.iter().map(|k| k.ordinal);
    let key_count = key.len();
    let columns: Vec<usize> = key.chain(tree.layout.value_columns().iter().copied()).collect();
    reader::read_table(db, entry, &columns, &mut |batch| {
        job.done.fetch_add(batch.num_rows() as u64, Relaxed);
        let (keys, values) = batch.columns().split_at(key_count);
        tree.push_entries(keys, values, batch.num_rows())
    })?;
    let job = db.start_job("writing", tree.sorter.entry_count());
    Ok(write_trees(db, vec![tree], job)?[0])
}
