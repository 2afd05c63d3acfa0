//! Checks a database as a whole: its file, that each index agrees with its table, and that keys are what their
//! constraints demand: that no two rows have a unique one, and that rows which refer to others find them. Of a
//! table that is clustered by its primary key nothing is to be looked at, for its tree has no key twice.

use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use plan::constraints::ForeignKey;
use runtime::sync::Cancel;
use runtime::{IoCounters, RingChoice, Runtime};
use storage::{Depth, Store, StoreOptions, Tree, TreeId};
use txn::locks::table::LockWait;
use txn::waiting::{give_way, unless_cancelled};
use types::key::KeyEncoder;
use types::{SqlError, SqlResult};

use crate::catalog::entry::{IndexEntry, TableEntry};
use crate::catalog::row_ids::row_ids;
use crate::catalog::snapshot::Snapshot;
use crate::database::{Database, Job};
use crate::dml::references::{Reference, RepeatedKeys, named_values, without_parent};
use crate::load::keys::key_arrays;
use crate::options::Options;
use crate::relation::whole::TableRows;
use crate::{columns, door, fault};

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
    let (path, direct, unchanged) = (path.to_owned(), options.direct, options.unchanged);
    let volume = options.volume.clone();
    let opened = door::wait(&runtime.handle(), || {
        Box::pin(async {
            let pool_bytes = PROBE_BYTES;
            let options =
                StoreOptions { pool_bytes, direct, unchanged, volume, ..StoreOptions::default() };
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
    /// Reads the whole file and checks it: pages, trees, free space, each index against its table, that no two
    /// rows have one unique key, and that rows find those to which they refer. Statements that write wait
    /// meanwhile. Progress is in [`Database::job`]. From an ordinary thread.
    ///
    /// # Errors
    /// What keeps the check from being made; damage is in the report.
    pub fn check(&self) -> SqlResult<CheckReport> {
        door::wait(&self.handle(), || {
            Box::pin(async {
                let _right = self.writer(&LockWait::default()).await?;
                self.checked(&Cancel::default()).await
            })
        })
    }

    /// The same in a task, for who has the right to write.
    ///
    /// # Errors
    /// As [`Database::check`]; 57014.
    pub(crate) async fn checked(&self, cancel: &Cancel) -> SqlResult<CheckReport> {
        let mut report = unless_cancelled(cancel, self.check_file()).await??;
        // The rows of a damaged tree cannot be compared.
        if report.problems.is_empty() {
            for entry in self.newest().all_tables() {
                self.check_table(entry, &mut report, cancel).await?;
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

    async fn check_table(
        &self,
        entry: &TableEntry,
        report: &mut CheckReport,
        cancel: &Cancel,
    ) -> SqlResult<()> {
        let (def, row_count, newest) = (&entry.def, entry.row_count(), self.newest());
        report.table_count += 1;
        report.row_count += row_count;
        let unique_count = def.indexes.iter().filter(|index| index.unique).count();
        let refers = &def.constraints.foreign_keys;
        let walks = def.indexes.len() + unique_count + refers.len();
        let job = self.start_job(&format!("checking {}", def.name), row_count * walks as u64);
        report.index_count += def.indexes.len() as u64;
        if let Some(columns) = &entry.columns {
            let problem = columns::check::damage(&newest, columns, def.schema.columns.len());
            if let Some(what) = unless_cancelled(cancel, problem).await?? {
                // Rows of a damaged chunk cannot be compared either.
                report.problems.push(format!("table \"{}\": {what}", def.name));
                return Ok(());
            }
        }
        for (position, index) in def.indexes.iter().enumerate() {
            let problem = self.check_index(entry, position, (&job, cancel)).await?;
            report.problems.extend(problem.map(|what| format!("index \"{}\": {what}", index.name)));
        }
        for key in refers {
            let problem = astray(&newest, entry, key, &job, cancel).await?;
            let name =
                |what| format!("foreign key \"{}\" of table \"{}\": {what}", key.name, def.name);
            report.problems.extend(problem.map(name));
        }
        Ok(())
    }

    /// What is wrong with an index; whether keys are unique only where it agrees with its table.
    async fn check_index(
        &self,
        entry: &TableEntry,
        position: usize,
        (job, cancel): (&Job, &Cancel),
    ) -> SqlResult<Option<String>> {
        let problem = self.compare_index(entry, &entry.indexes[position], job, cancel).await?;
        match entry.def.indexes[position].unique && problem.is_none() {
            true => repeated(entry, position, job, cancel).await,
            false => Ok(problem),
        }
    }

    /// Looks every row of the table up in the index. With as many entries as rows, each found with the
    /// included values, both say the same: an entry ends with the primary key of its row, so no two
    /// rows share one.
    async fn compare_index(
        &self,
        entry: &TableEntry,
        stored: &IndexEntry,
        job: &Job,
        cancel: &Cancel,
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
            give_way(cancel).await?;
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

/// Rows that break a constraint.
#[derive(Default)]
struct Broken {
    count: u64,
    /// Columns and values of the first one.
    first: Option<String>,
}

impl Broken {
    fn note(&mut self, count: usize, first: impl FnOnce() -> String) {
        self.count += count as u64;
        if count > 0 {
            self.first.get_or_insert_with(first);
        }
    }

    /// Their number, what they do, and the first of them.
    fn told(&self, rows: u64, what: &str) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(format!("{} of {rows} rows {what}, the first with {first}", self.count))
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

/// Counts rows whose unique key another row has, too. The index agrees with its table.
///
/// # Errors
/// 57014; those of storage.
async fn repeated(
    entry: &TableEntry,
    position: usize,
    job: &Job,
    cancel: &Cancel,
) -> SqlResult<Option<String>> {
    let (columns, rows) = (&entry.def.indexes[position].columns, entry.row_count());
    let (mut keys, mut broken) = (RepeatedKeys::new(entry, position, cancel), Broken::default());
    while let Some(found) = keys.next().await? {
        job.done.fetch_add(keys.walked(), Relaxed);
        broken.note(found.num_rows(), || named_values(entry, columns, found.columns(), 0));
    }
    Ok(broken.told(rows, "have the key of another one"))
}

/// Counts rows that refer to a row which is not there.
///
/// # Errors
/// 57014; those of storage.
async fn astray(
    snapshot: &Snapshot,
    entry: &TableEntry,
    key: &ForeignKey,
    job: &Job,
    cancel: &Cancel,
) -> SqlResult<Option<String>> {
    let Some(parent) = snapshot.all_tables().find(|table| table.def.id.0 == key.table) else {
        return Ok(Some("it refers to no table".into()));
    };
    if Reference::new(parent, &key.referenced).is_err() {
        return Ok(Some(format!("table \"{}\" has no unique key for it", parent.def.name)));
    }
    // Of a row only these columns are read, each once.
    let mut ordinals: Vec<usize> = vec![];
    let mut place = |column: &usize| {
        ordinals.iter().position(|known| known == column).unwrap_or_else(|| {
            ordinals.push(*column);
            ordinals.len() - 1
        })
    };
    let columns = key.columns.iter().map(&mut place).collect();
    let read = ForeignKey { columns, ..key.clone() };
    let (mut table, mut broken) = (TableRows::new(snapshot, entry, &ordinals)?, Broken::default());
    while let Some(rows) = table.next().await? {
        give_way(cancel).await?;
        let missing = without_parent(&read, parent, &rows).await?;
        let first = || named_values(entry, &ordinals, rows.columns(), missing[0]);
        broken.note(missing.len(), first);
        job.done.fetch_add(rows.num_rows() as u64, Relaxed);
    }
    let what = format!("refer to no row of table \"{}\"", parent.def.name);
    Ok(broken.told(entry.row_count(), &what))
}
