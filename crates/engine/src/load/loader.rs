//! Takes the rows of a load and hands them to the tasks that sort them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use runtime::sync::Cancel;
use storage::TreeId;
use types::SqlResult;
use types::key::KeyEncoder;

use super::sorting::{Sorting, TreeSpec};
use super::{LoadReport, key_arrays};
use crate::catalog::{FIRST_ROW_ID, TableEntry, row_ids};
use crate::database::Database;
use crate::isolation;
use crate::reader;
use crate::write_lock::WriteRight;

/// Rows that a task of the sort takes at once.
const BATCH_ROWS: usize = 4096;

/// Adds many rows to one table. Its caller has the right to write; dropped before its end it leaves
/// the table as it was.
pub(crate) struct Loader {
    entry: Arc<TableEntry>,
    sorting: Sorting,
    next_row_id: i64,
    row_count: u64,
}

/// The trees of a table written anew, not part of it yet.
pub(crate) struct Rebuilt {
    /// The clustered tree, then those of the indexes.
    pub(crate) tree_ids: Vec<TreeId>,
    pub(crate) row_count: u64,
}

impl Loader {
    /// A loader of a table that keeps none of its rows; call it in a task.
    pub(crate) fn empty(db: &Database, entry: Arc<TableEntry>, cancel: Cancel) -> Loader {
        let trees = TreeSpec::of_table(&entry);
        let sorting = Sorting::begin(db, trees, cancel);
        Loader { entry, sorting, next_row_id: FIRST_ROW_ID, row_count: 0 }
    }

    /// A loader that keeps the rows whose clustered keys are not in `gone`.
    pub(crate) async fn without(
        db: &Database,
        entry: Arc<TableEntry>,
        gone: &HashSet<Vec<u8>>,
        cancel: Cancel,
    ) -> SqlResult<Loader> {
        let mut loader = Loader::empty(db, entry, cancel);
        loader.keep_rows(db, gone).await?;
        Ok(loader)
    }

    pub(super) async fn keep_rows(
        &mut self,
        db: &Database,
        gone: &HashSet<Vec<u8>>,
    ) -> SqlResult<()> {
        let entry = self.entry.clone();
        // What others have added since a snapshot would be seen in the new trees.
        isolation::check_tree(&db.newest().read_view, entry.tree_id)?;
        self.next_row_id = entry.next_row_id().await?;
        let job = db.start_job("reading", entry.row_count());
        let column_count = entry.def.schema.columns.len();
        let ordinals: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
        let mut rows = reader::TableRows::new(&entry, &ordinals);
        while let Some(batch) = rows.next().await? {
            job.done.fetch_add(batch.num_rows() as u64, Relaxed);
            let ids = match batch.columns().get(column_count) {
                Some(ids) => ids.clone(),
                None => row_ids(0, batch.num_rows()),
            };
            let columns: Vec<usize> = (0..column_count).collect();
            let rows = batch.project(&columns).map_err(crate::dml::internal)?;
            let (rows, ids) = staying(&entry, rows, ids, gone)?;
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
        self.sorting.push(batch.clone(), ids.clone()).await
    }

    /// Writes the trees and puts them in the place of the old ones.
    pub(crate) async fn finish(
        self,
        db: &Database,
        right: Option<&WriteRight>,
    ) -> SqlResult<LoadReport> {
        let old = self.entry.clone();
        db.versions().note_numbers_of(&old.def);
        let Rebuilt { tree_ids, row_count } = self.build(db).await?;
        db.change(right, move |store, snapshot| {
            Box::pin(async move {
                let mut def = (*old.def).clone();
                // What was known of the columns is that of other rows.
                def.statistics = Arc::default();
                snapshot.put(TableEntry::new(store, def, tree_ids[0], &tree_ids[1..])?);
                snapshot.abandon(&old.tree_ids());
                Ok(())
            })
        })
        .await?;
        Ok(LoadReport { row_count })
    }

    /// Writes the trees, which the caller puts in the place of the old ones.
    pub(crate) async fn build(self, db: &Database) -> SqlResult<Rebuilt> {
        let row_count = self.row_count;
        let tree_ids = self.sorting.write(db).await?;
        Ok(Rebuilt { tree_ids, row_count })
    }
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
    let internal = crate::dml::internal;
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
