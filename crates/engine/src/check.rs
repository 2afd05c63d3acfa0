//! Checks a database as a whole: its file, and that each index agrees with its table.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use runtime::{IoCounters, RingChoice, Runtime};
use storage::{Depth, Store, StoreOptions, Tree, TreeId};
use types::key::KeyEncoder;
use types::{SqlError, SqlResult};

use crate::catalog::{IndexEntry, TableEntry, row_ids};
use crate::columns;
use crate::database::{Database, Job};
use crate::load::key_arrays;
use crate::locks::LockWait;
use crate::options::Options;
use crate::reader::TableRows;
use crate::{door, fault};

/// The column of `CHECK DATABASE`.
pub const CHECK_COLUMN: &str = "problem";

/// Memory of the first look at a file.
const PROBE_BYTES: usize = 4 << 20;

/// What a check has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Pages of the file.
    pub page_count: u64,
    /// Pages that are free.
    pub free_pages: u64,
    /// Pages of values that are too long for a leaf.
    pub overflow_pages: u64,
    /// Tables.
    pub table_count: u64,
    /// Secondary indexes.
    pub index_count: u64,
    /// Rows of all tables.
    pub row_count: u64,
    /// What is damaged, and where; empty for a file that is as it should be.
    pub problems: Vec<String>,
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckReport { page_count, free_pages, overflow_pages, .. } = self;
        let CheckReport { table_count, index_count, row_count, .. } = self;
        write!(
            f,
            "{page_count} pages ({free_pages} free, {overflow_pages} of long values), \
             {table_count} tables with {row_count} rows, {index_count} indexes"
        )
    }
}

/// The damage for which the file at `path` cannot even be opened, if that is so.
///
/// # Errors
/// What keeps the file from being opened and is no damage: it is not there, is no database, is in
/// use.
pub fn probe_damage(path: &Path, options: &Options) -> SqlResult<Option<String>> {
    let config = runtime::Config { workers: 1, ring: RingChoice::Auto, ..Default::default() };
    let runtime = Runtime::start(config).map_err(|e| SqlError::internal(e.to_string()))?;
    let (path, direct) = (path.to_owned(), options.direct);
    let opened = door::wait(&runtime.handle(), || {
        Box::pin(async {
            let pool_bytes = PROBE_BYTES;
            let options = StoreOptions { pool_bytes, direct, ..StoreOptions::default() };
            Store::open(&path, options).await?.close().await;
            Ok(())
        })
    });
    match opened {
        Ok(()) => Ok(None),
        Err(
            error @ (storage::StorageError::Corrupt { .. }
            | storage::StorageError::Truncated { .. }),
        ) => Ok(Some(error.to_string())),
        Err(error) => Err(fault::storage(error)),
    }
}

impl Database {
    /// Reads the whole file and checks it: pages, trees, free space, and each index against its
    /// table. Statements that write wait meanwhile. Progress is in [`Database::job`]. From an ordinary
    /// thread.
    ///
    /// # Errors
    /// What keeps the check from being made; damage is in the report.
    pub fn check(&self) -> SqlResult<CheckReport> {
        door::wait(&self.handle(), || {
            Box::pin(async {
                let _right = self.writer(&LockWait::default()).await?;
                self.checked().await
            })
        })
    }

    /// The same in a task, for who has the right to write.
    pub(crate) async fn checked(&self) -> SqlResult<CheckReport> {
        let mut report = self.check_file().await?;
        // The rows of a damaged tree cannot be compared.
        if report.problems.is_empty() {
            for entry in self.newest().tables.values() {
                self.check_table(entry, &mut report).await?;
            }
        }
        Ok(report)
    }

    async fn check_file(&self) -> SqlResult<CheckReport> {
        let job = self.start_job("checking pages", self.page_count());
        let survey = self.store().survey(&job.done).await.map_err(fault::storage)?;
        let name = |id: TreeId| self.tree_name(id);
        let problems = survey.problems.iter().map(|problem| match problem.tree {
            Some(id) => format!("{}: {}", name(id), problem.error),
            None => problem.error.to_string(),
        });
        Ok(CheckReport {
            page_count: survey.page_count.into(),
            free_pages: survey.free_pages,
            overflow_pages: survey.trees.iter().map(|(_, tree)| tree.overflow_pages).sum(),
            problems: problems.collect(),
            ..CheckReport::default()
        })
    }

    /// What a tree of the store is to the user.
    fn tree_name(&self, id: TreeId) -> String {
        for entry in self.newest().tables.values() {
            if entry.trees().any(|tree| tree == id) && !entry.index_trees().any(|tree| tree == id) {
                return format!("table \"{}\"", entry.def.name);
            }
            let position = entry.indexes.iter().position(|index| index.tree_id == id);
            if let Some(position) = position {
                return format!("index \"{}\"", entry.def.indexes[position].name);
            }
        }
        "catalog".to_owned()
    }

    async fn check_table(&self, entry: &TableEntry, report: &mut CheckReport) -> SqlResult<()> {
        let row_count = entry.row_count();
        report.table_count += 1;
        report.row_count += row_count;
        let total = row_count * entry.indexes.len() as u64;
        let job = self.start_job(&format!("checking {}", entry.def.name), total);
        if let Some(columns) = &entry.columns {
            let (newest, count) = (self.newest(), entry.def.schema.columns.len());
            let problem = columns::damage(&newest, columns, count).await?;
            let named = problem.map(|what| format!("table \"{}\": {what}", entry.def.name));
            report.problems.extend(named);
        }
        for (index, stored) in entry.def.indexes.iter().zip(&entry.indexes) {
            report.index_count += 1;
            let problem = self.check_index(entry, stored, &job).await?;
            report.problems.extend(problem.map(|what| format!("index \"{}\": {what}", index.name)));
        }
        Ok(())
    }

    /// Looks every row of the table up in the index. With as many entries as rows, each found with the
    /// included values, both say the same: an entry ends with the primary key of its row, so no two
    /// rows share one.
    async fn check_index(
        &self,
        entry: &TableEntry,
        stored: &IndexEntry,
        job: &Arc<Job>,
    ) -> SqlResult<Option<String>> {
        let (rows, entries) = (entry.row_count(), stored.tree.stats().entries);
        if rows != entries {
            return Ok(Some(format!("{entries} entries for {rows} rows")));
        }
        let layout = &stored.layout;
        let ordinals: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
        let column_count = entry.def.schema.columns.len();
        let (mut missing, mut changed) = (0, 0);
        let mut table = TableRows::new(&self.newest(), entry, &ordinals)?;
        while let Some(batch) = table.next().await? {
            let ids = match batch.columns().get(column_count) {
                Some(ids) => ids.clone(),
                None => row_ids(0, batch.num_rows()),
            };
            let encoder = KeyEncoder::new(&layout.key, &key_arrays(&layout.key, &batch, &ids));
            let mut keys = vec![vec![]; batch.num_rows()];
            let mut values = keys.clone();
            for (row, (key, value)) in keys.iter_mut().zip(&mut values).enumerate() {
                encoder.encode(row, key)?;
                layout.encode_value(&batch, row, value)?;
            }
            job.done.fetch_add(keys.len() as u64, Relaxed);
            let (absent, different) = compare(&stored.tree, &keys, &values).await?;
            missing += absent;
            changed += different;
        }
        if missing > 0 {
            return Ok(Some(format!("{missing} of {rows} rows have no entry")));
        }
        let what = "have an entry with other included values";
        Ok((changed > 0).then(|| format!("{changed} of {rows} rows {what}")))
    }
}

/// How many of the keys the tree does not hold, and how many it holds with another value.
async fn compare(tree: &Tree, keys: &[Vec<u8>], values: &[Vec<u8>]) -> SqlResult<(usize, usize)> {
    let (mut found, mut changed, io) = (0, 0, IoCounters::default());
    let mut visit = |position: usize, value: &[u8]| {
        found += 1;
        changed += usize::from(values[position] != value);
    };
    let compared = tree.get_batch(keys, Depth::Many, &io, &mut visit).await;
    compared.map_err(fault::storage)?;
    Ok((keys.len() - found, changed))
}
