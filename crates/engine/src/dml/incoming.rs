//! Rows that are added to a table as they come. Few are inserted in place; for many the table's
//! trees are written anew by a bulk load, which sorts on disk: no number of rows needs more memory.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::RecordBatch;
use sql::Query;
use sql::catalog::TableId;
use sql::dml::Defaults;
use sql::parse::Insert;
use types::{SqlError, SqlResult};

use super::{Writing, check_all, checked, in_place_bytes_max, insert_batches};
use crate::catalog::TableEntry;
use crate::load::TableLoader;

/// All rows that came.
pub(crate) enum Incoming<'a> {
    /// These.
    Few(Vec<RecordBatch>),
    /// So many, which the loader has.
    Many(TableLoader<'a>, u64),
}

/// Takes what `next` gives until it gives none: rows with all columns of the table, of which
/// generated ones need not be filled in. `phase` is what the progress of a load is called.
///
/// # Errors
/// Those of `next`, and of rows that break a constraint.
pub(crate) fn take_all<'a>(
    writing: &Writing<'a>,
    entry: &Arc<TableEntry>,
    phase: &str,
    next: &mut dyn FnMut() -> SqlResult<Option<RecordBatch>>,
) -> SqlResult<Incoming<'a>> {
    let (mut kept, mut kept_bytes) = (vec![], 0);
    while let Some(batch) = next()? {
        kept_bytes += batch.get_array_memory_size();
        kept.push(batch);
        if kept_bytes > in_place_bytes_max(writing.db) && !refers_to_itself(entry) {
            return load(writing, entry, phase, kept, next);
        }
    }
    Ok(Incoming::Few(kept))
}

/// Whether rows may refer to others of the same statement.
fn refers_to_itself(entry: &TableEntry) -> bool {
    entry.def.constraints.foreign_keys.iter().any(|k| k.table == entry.def.id.0)
}

fn load<'a>(
    writing: &Writing<'a>,
    entry: &Arc<TableEntry>,
    phase: &str,
    kept: Vec<RecordBatch>,
    next: &mut dyn FnMut() -> SqlResult<Option<RecordBatch>>,
) -> SqlResult<Incoming<'a>> {
    let mut loader = TableLoader::without(writing.db, entry.clone(), &HashSet::new())?;
    let job = writing.db.start_job(phase, 0);
    let mut count = 0;
    let mut push = |batch: RecordBatch| {
        count += batch.num_rows() as u64;
        job.done.store(count, Relaxed);
        let batch = checked(&entry.def, &writing.catalog, batch)?;
        check_referring(writing, entry, &batch)?;
        loader.push(&batch)
    };
    kept.into_iter().try_for_each(&mut push)?;
    while let Some(batch) = next()? {
        push(batch)?;
    }
    Ok(Incoming::Many(loader, count))
}

/// Refuses rows that refer to rows which are not there.
fn check_referring(writing: &Writing<'_>, entry: &TableEntry, rows: &RecordBatch) -> SqlResult<()> {
    for key in &entry.def.constraints.foreign_keys {
        let parent = writing.catalog.snapshot().table_by_id(TableId(key.table));
        let parent =
            parent.ok_or_else(|| SqlError::internal("a foreign key refers to no table"))?;
        check_all(writing.db, entry, key, parent, rows)?;
    }
    Ok(())
}

/// The rows of a query for the columns of a table.
pub(super) struct Source<'a> {
    pub(super) query: &'a Query,
    /// Ordinals of the columns.
    pub(super) targets: &'a [usize],
    /// The statement.
    pub(super) insert: &'a Insert,
}

/// Whether [`insert_query`] can insert the rows of a query into the table.
pub(super) fn may_stream(entry: &TableEntry) -> bool {
    !refers_to_itself(entry)
}

/// Inserts the rows of a query; their number.
pub(super) fn insert_query(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    source: &Source<'_>,
    defaults: &mut Defaults,
) -> SqlResult<u64> {
    let typed = |rows: &RecordBatch, defaults: &mut Defaults| {
        sql::rows_of_query(&entry.def, source.targets, rows, source.insert, defaults)
    };
    let mut rows = writing.stream(source.query)?;
    // The number of columns is wrong even where there are no rows.
    typed(&RecordBatch::new_empty(rows.schema.clone()), defaults)?;
    let mut next = || rows.next()?.map(|batch| typed(&batch, defaults)).transpose();
    match take_all(writing, entry, "inserting", &mut next)? {
        Incoming::Few(batches) => {
            insert_batches(writing, entry, &batches)?;
            Ok(batches.iter().map(|batch| batch.num_rows() as u64).sum())
        }
        Incoming::Many(loader, count) => {
            loader.finish()?;
            Ok(count)
        }
    }
}
