//! Takes the rows of a load and hands them to the tasks that sort them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{ArrayRef, RecordBatch};
use plan::catalog::{TableDef, TableStorage};
use runtime::sync::Cancel;
use storage::{Store, TreeId};
use txn::locks::table::WriteRight;
use txn::waiting::unless_cancelled;
use types::{LogicalType, SqlResult};

use super::index::index_tree;
use super::leaving::Left;
use super::sorting::{Sorting, TreeSpec};
use super::table_loader::LoadReport;
use super::target::Target;
use crate::catalog::entry::TableEntry;
use crate::catalog::row_ids::{FIRST_ROW_ID, row_ids};
use crate::catalog::trees::drop_trees;
use crate::columns::stored::{StoredColumns, StoredPart};
use crate::database::Database;
use crate::parts::load::{ColumnLoad, Loading};
use crate::parts::publish::{publish, refuse_in_block};
use crate::relation::whole::TableRows;
use crate::{fault, isolation};

/// Rows that a task of the sort takes at once.
const BATCH_ROWS: usize = 4096;

/// Adds many rows to one table. Its caller has the right to write; dropped before its end it leaves
/// the table as it was.
pub(crate) struct Loader {
    target: Target,
    cancel: Cancel,
    filling: Filling,
    next_row_id: i64,
    /// Rows that it was given.
    row_count: u64,
}

/// What the rows become.
enum Filling {
    /// Trees in the place of those of the table.
    Rows(Sorting),
    /// The only part of a column table.
    OnlyPart(ColumnLoad),
    /// One more part of a column table.
    LastPart(ColumnLoad),
}

/// The trees of a table written anew, not part of it yet.
pub(crate) struct Rebuilt {
    /// The clustered tree, then those of the indexes.
    pub(crate) tree_ids: Vec<TreeId>,
    /// Of a column table.
    pub(crate) columns: Option<StoredColumns>,
    /// The trees that were made for it: they go if it does not become part of the table.
    pub(crate) made: Vec<TreeId>,
    /// Rows of the table.
    pub(crate) row_count: u64,
}

impl Loader {
    /// A loader of a table that keeps none of its rows; call it in a task.
    ///
    /// # Errors
    /// Those of opening the location of a table; 25001 for such a table in a block.
    pub(crate) fn empty(db: &Database, target: Target, cancel: Cancel) -> SqlResult<Loader> {
        let stop = cancel.clone();
        let filling = match target.entry.def.storage {
            TableStorage::Row => {
                Filling::Rows(Sorting::begin(db, TreeSpec::of_table(&target), cancel))
            }
            TableStorage::Column => {
                Filling::OnlyPart(column_load(db, &target.entry, FIRST_ROW_ID, cancel)?)
            }
        };
        Ok(Loader { target, cancel: stop, filling, next_row_id: FIRST_ROW_ID, row_count: 0 })
    }

    /// A loader that keeps the rows which do not go. If that is all of them, those of a column table are
    /// left where they are.
    pub(crate) async fn without(
        db: &Database,
        target: Target,
        left: Left,
        cancel: Cancel,
    ) -> SqlResult<Loader> {
        let entry = &target.entry;
        if entry.columns.is_none() || !left.is_nothing() {
            return Loader::anew(db, target, left, cancel).await;
        }
        if !entry.indexes.is_empty() {
            // They are made anew, of the rows as they are.
            isolation::check_table(&db.newest().read_view, entry)?;
        }
        let next_row_id = entry.next_row_id().await?;
        let load = column_load(db, entry, next_row_id, cancel.clone())?;
        let filling = Filling::LastPart(load);
        Ok(Loader { target, cancel, filling, next_row_id, row_count: 0 })
    }

    /// The same, with all rows written again.
    pub(crate) async fn anew(
        db: &Database,
        target: Target,
        left: Left,
        cancel: Cancel,
    ) -> SqlResult<Loader> {
        let mut loader = Loader::empty(db, target, cancel)?;
        loader.keep_rows(db, left).await?;
        Ok(loader)
    }

    /// Adds the rows of the table that do not go.
    ///
    /// # Errors
    /// 40001 when others have changed the table since the snapshot that a transaction keeps; those of
    /// storage; 57014.
    pub(crate) async fn keep_rows(&mut self, db: &Database, mut left: Left) -> SqlResult<()> {
        let kept = self.keep_others(db, &mut left).await;
        left.discard().await;
        kept
    }

    async fn keep_others(&mut self, db: &Database, left: &mut Left) -> SqlResult<()> {
        let entry = self.target.entry.clone();
        // What others have added since a snapshot would be seen in the new trees.
        let view = &db.newest().read_view;
        isolation::check_table(view, &entry)?;
        self.next_row_id = entry.next_row_id().await?;
        let job = db.start_job("reading", entry.row_count());
        let column_count = entry.def.schema.columns.len();
        let ordinals: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
        let mut rows = TableRows::new(&db.newest(), &entry, &ordinals)?;
        let cancel = self.cancel.clone();
        while let Some(batch) = unless_cancelled(&cancel, rows.next()).await?? {
            job.done.fetch_add(batch.num_rows() as u64, Relaxed);
            let ids = match batch.columns().get(column_count) {
                Some(ids) => ids.clone(),
                None => row_ids(0, batch.num_rows()),
            };
            let columns: Vec<usize> = (0..column_count).collect();
            let rows = batch.project(&columns).map_err(crate::fault::internal)?;
            let (rows, ids) = left.staying(&entry, rows, ids).await?;
            self.push_with_ids(&rows, &ids).await?;
        }
        Ok(())
    }

    /// Adds rows: all columns of the table in order.
    pub(crate) async fn push(&mut self, batch: &RecordBatch) -> SqlResult<()> {
        let ids = row_ids(self.next_row_id, batch.num_rows());
        self.next_row_id += batch.num_rows() as i64;
        self.push_with_ids(batch, &ids).await
    }

    /// Adds any number of rows that have their row ids: each worker takes some of them.
    pub(crate) async fn push_all(&mut self, batch: &RecordBatch, ids: &ArrayRef) -> SqlResult<()> {
        for start in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            let count = BATCH_ROWS.min(batch.num_rows() - start);
            self.push_with_ids(&batch.slice(start, count), &ids.slice(start, count)).await?;
        }
        Ok(())
    }

    /// Adds rows that have their row ids.
    pub(crate) async fn push_with_ids(
        &mut self,
        batch: &RecordBatch,
        ids: &ArrayRef,
    ) -> SqlResult<()> {
        self.row_count += batch.num_rows() as u64;
        match &mut self.filling {
            Filling::Rows(sorting) => sorting.push(batch.clone(), ids.clone()).await,
            // Their ids are those of the places that they get.
            Filling::OnlyPart(load) | Filling::LastPart(load) => load.push(batch).await,
        }
    }

    /// Writes the trees and puts them in the place of the old ones.
    pub(crate) async fn finish(
        self,
        db: &Database,
        right: Option<&WriteRight>,
    ) -> SqlResult<LoadReport> {
        let old = self.target.entry.clone();
        db.versions().note_numbers_of(&old.def);
        let rebuilt = self.build(db).await?;
        let row_count = rebuilt.row_count;
        db.change(right, None, move |store, snapshot| {
            Box::pin(async move {
                let mut def = (*old.def).clone();
                // What was known of the columns is that of other rows.
                def.statistics = Arc::default();
                snapshot.put_over(&old, rebuilt.entry(store, def)?);
                Ok(())
            })
        })
        .await?;
        Ok(LoadReport { row_count })
    }

    /// Writes the trees, which the caller puts in the place of the old ones.
    pub(crate) async fn build(self, db: &Database) -> SqlResult<Rebuilt> {
        let (entry, cancel) = (self.target.entry.clone(), self.cancel.clone());
        let mut rebuilt = self.write(db).await?;
        if let Some(columns) = &mut rebuilt.columns
            && let Err(error) =
                unless_cancelled(&cancel, publish(db, &entry.def, columns)).await.flatten()
        {
            // The error that led here is the one to report.
            drop_trees(db.store(), &rebuilt.made).await.ok();
            return Err(error);
        }
        Ok(rebuilt)
    }

    async fn write(self, db: &Database) -> SqlResult<Rebuilt> {
        let (store, row_count) = (db.store(), self.row_count);
        match self.filling {
            Filling::Rows(sorting) => {
                let tree_ids = sorting.write(db).await?;
                Ok(Rebuilt { made: tree_ids.clone(), tree_ids, columns: None, row_count })
            }
            Filling::OnlyPart(load) => {
                let part = load.finish().await?;
                let (tree, deleted) = empty_trees(store, &part).await?;
                let mut columns = StoredColumns::empty(deleted);
                columns.parts.extend(part);
                columns.remote =
                    self.target.entry.stored_columns().and_then(|columns| columns.remote);
                let made = columns.trees().chain([tree]).collect();
                let rebuilt =
                    Rebuilt { tree_ids: vec![tree], columns: Some(columns), made, row_count };
                rebuilt.with_indexes(db, &self.target, &self.cancel).await
            }
            Filling::LastPart(load) => {
                let part = load.finish().await?;
                let made = part.iter().map(StoredPart::tree_id).collect();
                let mut columns = self.target.entry.stored_columns();
                columns.iter_mut().for_each(|columns| columns.parts.extend(part.clone()));
                let tree_ids = vec![self.target.entry.tree_id];
                let row_count = row_count + self.target.entry.row_count();
                let rebuilt = Rebuilt { tree_ids, columns, made, row_count };
                rebuilt.with_indexes(db, &self.target, &self.cancel).await
            }
        }
    }
}

impl Rebuilt {
    /// The same with the indexes of a column table, made of all its rows. Without them no tree stays that
    /// was made.
    async fn with_indexes(
        mut self,
        db: &Database,
        target: &Target,
        cancel: &Cancel,
    ) -> SqlResult<Rebuilt> {
        let (store, def) = (db.store(), &target.entry.def);
        let bare = TableDef { indexes: vec![], ..(**def).clone() };
        for index in &def.indexes {
            // Rows are read by the columns alone.
            let entry = TableEntry::new(store, bare.clone(), self.tree_ids[0], &[])
                .and_then(|entry| entry.with_columns(store, self.columns.as_ref()));
            let tree = match entry {
                Ok(entry) => {
                    let index = (&**index, target.unique(index));
                    index_tree(db, &db.newest(), &entry, index, cancel).await
                }
                Err(error) => Err(error),
            };
            match tree {
                Ok(tree) => {
                    self.tree_ids.push(tree);
                    self.made.push(tree);
                }
                Err(error) => {
                    // The error that led here is the one to report.
                    drop_trees(store, &self.made).await.ok();
                    return Err(error);
                }
            }
        }
        Ok(self)
    }

    /// The table with these trees.
    ///
    /// # Errors
    /// XX001 for trees that there are not.
    pub(crate) fn entry(&self, store: &Store, def: TableDef) -> SqlResult<TableEntry> {
        let entry = TableEntry::new(store, def, self.tree_ids[0], &self.tree_ids[1..])?;
        entry.with_columns(store, self.columns.as_ref())
    }
}

/// The other trees of a column table whose only part this is. Without them the part goes, too.
async fn empty_trees(store: &Store, part: &Option<StoredPart>) -> SqlResult<(TreeId, TreeId)> {
    let mut made: Vec<TreeId> = part.iter().map(StoredPart::tree_id).collect();
    for _ in 0..2 {
        match store.create_tree().await {
            Ok(tree) => made.push(tree),
            Err(error) => {
                // The error that led here is the one to report.
                drop_trees(store, &made).await.ok();
                return Err(fault::storage(error));
            }
        }
    }
    let [.., tree, deleted] = made[..] else { unreachable!("two trees were made") };
    Ok((tree, deleted))
}

/// A part of the table whose first row has this id.
fn column_load(
    db: &Database,
    entry: &TableEntry,
    first_row: i64,
    cancel: Cancel,
) -> SqlResult<ColumnLoad> {
    let types: Vec<LogicalType> = entry.def.schema.columns.iter().map(|c| c.ty).collect();
    let columns = entry.columns.as_ref();
    let bucket = columns.map(|columns| columns.bucket(&db.newest())).transpose()?.flatten();
    if bucket.is_some() {
        refuse_in_block(db)?;
    }
    Ok(ColumnLoad::begin(Loading::of(db), types, first_row, bucket, cancel))
}
