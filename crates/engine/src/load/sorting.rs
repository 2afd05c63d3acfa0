//! The tasks of a load: on each worker one takes rows as they come, encodes and sorts their entries for
//! all trees. When all rows are there, the runs of each tree are merged into it, on a worker of its own.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use runtime::RemoteHandle;
use runtime::sync::Cancel;
use storage::{Tree, TreeId};
use txn::waiting::give_way;
use types::key::KeyEncoder;
use types::row::RowLayout;
use types::{SqlError, SqlResult};

use super::keys::key_arrays;
use super::target::Target;
use super::tree::{Filling, write_tree};
use crate::catalog::trees::drop_trees;
use crate::database::Database;
use crate::fault;
use crate::pipe::{PipeReceiver, PipeSender, pipe};
use crate::sorter::merge::Sorted;
use crate::sorter::{Runs, Sorter};

/// Rows that wait for each worker: some, so that none idles.
const BATCHES_PER_WORKER: usize = 2;

/// The least memory of a sort for a run of a tree: of shorter ones there would be too many to merge.
const RUN_BYTES_MIN: usize = 4 << 20;

/// Rows that are encoded between looks at the clock.
const ROWS_PER_LOOK: usize = 64;

/// Where the values of a tree's entries stand in a batch.
enum Columns {
    /// At the ordinals of the table's columns.
    Table,
    /// First so many columns of the key, then those of the value.
    Entry(usize),
}

/// What a tree that is to be written is like.
pub(super) struct TreeSpec {
    /// A tree of the store, for its limits; the entries go into a new one.
    tree: Tree,
    layout: Arc<RowLayout>,
    /// How many leading key columns must be unique, and the name of the constraint.
    unique: Option<(usize, String)>,
    columns: Columns,
}

impl TreeSpec {
    /// The trees of a table: the clustered one, then those of its indexes.
    pub(super) fn of_table(target: &Target) -> Vec<TreeSpec> {
        let (entry, def) = (&target.entry, &target.entry.def);
        let clustered = TreeSpec {
            tree: entry.tree.clone(),
            layout: entry.layout.clone(),
            unique: Some((entry.layout.key.len(), def.primary_key_name())),
            columns: Columns::Table,
        };
        let indexes = def.indexes.iter().zip(&entry.indexes).map(|(index, stored)| TreeSpec {
            tree: entry.tree.clone(),
            layout: stored.layout.clone(),
            unique: target.unique(index),
            columns: Columns::Table,
        });
        std::iter::once(clustered).chain(indexes).collect()
    }

    /// One tree whose entries come in batches of their own columns.
    pub(super) fn of_entries(
        tree: &Tree,
        layout: RowLayout,
        unique: Option<(usize, String)>,
    ) -> TreeSpec {
        let columns = Columns::Entry(layout.key.len());
        TreeSpec { tree: tree.clone(), layout: Arc::new(layout), unique, columns }
    }

    fn arrays(&self, batch: &RecordBatch, ids: &ArrayRef) -> (Vec<ArrayRef>, Vec<ArrayRef>) {
        match self.columns {
            Columns::Entry(key_count) => {
                let (key, value) = batch.columns().split_at(key_count);
                (key.to_vec(), value.to_vec())
            }
            Columns::Table => {
                let values = self.layout.value_columns().iter().map(|&i| batch.column(i).clone());
                (key_arrays(&self.layout.key, batch, ids), values.collect())
            }
        }
    }

    async fn sort(&self, piece: &Rows, sorter: &mut Sorter, cancel: &Cancel) -> SqlResult<()> {
        let (keys, values) = self.arrays(&piece.batch, &piece.ids);
        let encoder = KeyEncoder::new(&self.layout.key, &keys);
        let (mut key, mut value) = (vec![], vec![]);
        for row in 0..piece.batch.num_rows() {
            key.clear();
            value.clear();
            encoder.encode(row, &mut key)?;
            self.layout.encode_columns(&values, row, &mut value)?;
            fault::check_entry(&self.tree, &key, &value)?;
            sorter.push(&key, &value);
            if row % ROWS_PER_LOOK == 0 {
                give_way(cancel).await?;
                sorter.spill_if_full(cancel).await?;
            }
        }
        sorter.spill_if_full(cancel).await
    }
}

/// Rows with their row ids.
struct Rows {
    batch: RecordBatch,
    ids: ArrayRef,
}

/// What one of the tasks sorted, for each tree.
type Sortings = SqlResult<Vec<Sorter>>;

/// A sort in progress.
pub(super) struct Sorting {
    rows: PipeSender<Rows>,
    tasks: Vec<RemoteHandle<Sortings>>,
    trees: Arc<Vec<TreeSpec>>,
    cancel: Cancel,
}

impl Sorting {
    /// Begins a sort for these trees; call it in a task.
    pub(super) fn begin(db: &Database, trees: Vec<TreeSpec>, cancel: Cancel) -> Sorting {
        let workers = runtime::worker_count();
        let (rows, taken) = pipe(workers * BATCHES_PER_WORKER);
        let (trees, taken) = (Arc::new(trees), Arc::new(taken));
        let budget_bytes = (db.shares().sort() / workers / trees.len()).max(RUN_BYTES_MIN);
        let task = |worker: usize| {
            let (trees, taken, cancel) = (trees.clone(), taken.clone(), cancel.clone());
            let paths: Vec<_> = trees.iter().map(|_| db.sort_path()).collect();
            runtime::spawn_on(worker, move || async move {
                let mut sorters: Vec<Sorter> =
                    paths.into_iter().map(|path| Sorter::new(path, budget_bytes)).collect();
                let sorted = sort_all(&taken, &trees, &mut sorters, &cancel).await;
                if let Err(error) = sorted {
                    taken.close("a row was refused");
                    discard(sorters).await;
                    return Err(error);
                }
                Ok(sorters)
            })
        };
        let tasks = (0..workers).map(task).collect();
        Sorting { rows, tasks, trees, cancel }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// What is wrong with these or earlier ones.
    pub(super) async fn push(&mut self, batch: RecordBatch, ids: ArrayRef) -> SqlResult<()> {
        if batch.num_rows() == 0 || self.rows.send(Rows { batch, ids }).await.is_ok() {
            return Ok(());
        }
        let tasks = std::mem::take(&mut self.tasks);
        let ended = joined(tasks).await.map(drop);
        ended.and(Err(SqlError::internal("a load ended before its rows did")))
    }

    /// Writes the trees; on an error none of them stays.
    pub(super) async fn write(self, db: &Database) -> SqlResult<Vec<TreeId>> {
        let Sorting { rows, tasks, trees, cancel } = self;
        rows.finish();
        let sorters = joined(tasks).await?;
        let count = sorters.iter().flatten().map(Sorter::entry_count).sum();
        let job = db.start_job("writing", count);
        let mut runs: Vec<Vec<Runs>> = trees.iter().map(|_| vec![]).collect();
        for (tree, sorter) in sorters.into_iter().flat_map(|one| one.into_iter().enumerate()) {
            runs[tree].push(sorter.finish());
        }
        let (store, mut running) = (db.store().clone(), vec![]);
        for (number, runs) in runs.into_iter().enumerate() {
            let (store, job, cancel, trees) =
                (store.clone(), job.clone(), cancel.clone(), trees.clone());
            let worker = number % runtime::worker_count();
            running.push(runtime::spawn_on(worker, move || async move {
                let TreeSpec { layout, unique, .. } = &trees[number];
                let filling = Filling { key: &layout.key, unique, job: &job, cancel };
                write_tree(&store, Sorted::of(runs), filling).await
            }));
        }
        let written = ended(running).await;
        if written.iter().any(Result::is_err) {
            let trees: Vec<_> = written.iter().filter_map(|r| r.as_ref().ok().copied()).collect();
            drop_trees(&store, &trees).await?;
        }
        written.into_iter().collect()
    }
}

async fn sort_all(
    rows: &PipeReceiver<Rows>,
    trees: &[TreeSpec],
    sorters: &mut [Sorter],
    cancel: &Cancel,
) -> SqlResult<()> {
    // Rows end without a word when the load is wanted no longer.
    while let Some(piece) = rows.next().await.map_err(|_| SqlError::cancelled())? {
        for (tree, sorter) in trees.iter().zip(&mut *sorters) {
            tree.sort(&piece, sorter, cancel).await?;
        }
    }
    Ok(())
}

async fn discard(sorters: Vec<Sorter>) {
    for sorter in sorters {
        sorter.finish().discard().await;
    }
}

/// What the tasks gave, when all have ended.
async fn ended<T>(tasks: Vec<RemoteHandle<SqlResult<T>>>) -> Vec<SqlResult<T>> {
    let mut results = vec![];
    for task in tasks {
        let crashed = |_| Err(SqlError::internal("a load task was aborted"));
        results.push(task.await.unwrap_or_else(crashed));
    }
    results
}

/// What the tasks sorted; where one failed, nothing stays, and its error is told rather than that of
/// those which it ended.
async fn joined(tasks: Vec<RemoteHandle<Sortings>>) -> SqlResult<Vec<Vec<Sorter>>> {
    let (mut sorted, mut errors) = (vec![], vec![]);
    for result in ended(tasks).await {
        match result {
            Ok(sorters) => sorted.push(sorters),
            Err(error) => errors.push(error),
        }
    }
    let is_cancel = |error: &SqlError| error.state == types::SqlState::QUERY_CANCELED;
    errors.sort_by_key(is_cancel);
    let Some(error) = errors.into_iter().next() else { return Ok(sorted) };
    for sorters in sorted {
        discard(sorters).await;
    }
    Err(error)
}
