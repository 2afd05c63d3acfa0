//! Rows that are added to a table as they come. Few are inserted in place; for many the table's
//! trees are written anew by a bulk load, which sorts on disk: no number of rows needs more memory.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::RecordBatch;
use plan::constraints::ForeignKey;
use sql::dml::Defaults;
use sql::parse::Insert;
use types::SqlResult;

use super::change::{InPlace, check_writes_anew};
use super::constraints::checked;
use super::deferred::note_missing;
use super::insert::insert_batches;
use super::references::check_all;
use crate::catalog::entry::TableEntry;
use crate::load::leaving::Left;
use crate::load::loader::Loader;
use crate::stream::rows::QueryRows;
use crate::writing::{Finding, Writing};

/// All rows that came.
pub(crate) enum Incoming {
    /// These.
    Few(Vec<RecordBatch>),
    /// So many, which the loader has.
    Many(Loader, u64),
}

/// Where rows come from: with all columns of the table, of which generated ones need not be filled in.
pub(crate) trait RowSource {
    /// The next rows; `None` at the end.
    async fn next(&mut self) -> SqlResult<Option<RecordBatch>>;
}

/// Takes all rows that `source` gives. `phase` is what the progress of a load is called.
///
/// # Errors
/// Those of `source`, and of rows that break a constraint.
pub(crate) async fn take_all(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    phase: &str,
    source: &mut impl RowSource,
) -> SqlResult<Incoming> {
    let (mut kept, mut counted) = (vec![], InPlace::default());
    while let Some(batch) = source.next().await? {
        counted.add(&batch)?;
        kept.push(batch);
        if counted.is_over(writing.db) && !refers_to_itself(entry) {
            return load(writing, entry, phase, kept, source).await;
        }
    }
    Ok(Incoming::Few(kept))
}

/// Whether rows may refer to others of the same statement.
pub(super) fn refers_to_itself(entry: &TableEntry) -> bool {
    entry.def.constraints.foreign_keys.iter().any(|k| k.table == entry.def.id.0)
}

async fn load(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    phase: &str,
    kept: Vec<RecordBatch>,
    source: &mut impl RowSource,
) -> SqlResult<Incoming> {
    let had_definitions = writing.block()?.defines();
    writing.alone(entry).await?;
    check_writes_anew(writing, entry)?;
    if writing.has_lagged(had_definitions)? {
        return Err(writing.block()?.overtaken());
    }
    let entry = &writing.refreshed(entry)?;
    let (db, cancel) = (writing.db, writing.cancel.clone());
    let mut loader = Loader::without(db, writing.target(entry)?, Left::Nothing, cancel).await?;
    let job = db.start_job(phase, 0);
    let (mut kept, mut count) = (kept.into_iter(), 0);
    loop {
        let batch = match kept.next() {
            Some(batch) => batch,
            None => match source.next().await? {
                Some(batch) => batch,
                None => return Ok(Incoming::Many(loader, count)),
            },
        };
        count += batch.num_rows() as u64;
        job.done.store(count, Relaxed);
        let batch = checked(&entry.def, &writing.catalog, batch)?;
        check_referring(writing, entry, &entry.def.constraints.foreign_keys, &batch).await?;
        loader.push(&batch).await?;
    }
}

/// Refuses rows that refer to rows which are not there, by one of these foreign keys of the table.
pub(super) async fn check_referring(
    writing: &Writing<'_>,
    entry: &TableEntry,
    keys: impl IntoIterator<Item = &ForeignKey>,
    rows: &RecordBatch,
) -> SqlResult<()> {
    for key in keys {
        let parent = &writing.referred(key)?;
        if writing.defers(&key.name, key.deferral) {
            note_missing(writing, entry, key, parent, rows).await?;
        } else {
            check_all(entry, key, parent, rows).await?;
        }
    }
    Ok(())
}

/// The rows of a query for the columns of a table.
pub(super) struct Source<'a> {
    pub(super) finding: &'a Finding,
    /// Ordinals of the columns.
    pub(super) targets: &'a [usize],
    /// The statement.
    pub(super) insert: &'a Insert,
}

/// Whether [`insert_query`] can insert the rows of a query into the table.
pub(super) fn may_stream(entry: &TableEntry) -> bool {
    !refers_to_itself(entry)
}

/// The rows of a query as those of the table.
struct Typed<'a> {
    entry: &'a TableEntry,
    source: &'a Source<'a>,
    defaults: &'a mut Defaults,
    rows: QueryRows,
}

impl Typed<'_> {
    fn typed(&mut self, rows: &RecordBatch) -> SqlResult<RecordBatch> {
        let Source { targets, insert, .. } = self.source;
        sql::rows_of_query(&self.entry.def, targets, rows, insert, self.defaults)
    }
}

impl RowSource for Typed<'_> {
    async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        let rows = self.rows.next().await?;
        rows.map(|rows| self.typed(&rows)).transpose()
    }
}

/// Inserts the rows of a query; their number.
pub(super) async fn insert_query(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    source: &Source<'_>,
    defaults: &mut Defaults,
) -> SqlResult<u64> {
    let rows = writing.stream(source.finding);
    let none = RecordBatch::new_empty(rows.schema.clone());
    let mut typed = Typed { entry, source, defaults, rows };
    // The number of columns is wrong even where there are no rows.
    typed.typed(&none)?;
    match take_all(writing, entry, "inserting", &mut typed).await? {
        Incoming::Few(batches) => {
            insert_batches(writing, entry, &batches).await?;
            Ok(batches.iter().map(|batch| batch.num_rows() as u64).sum())
        }
        Incoming::Many(loader, count) => {
            writing.note_numbers();
            loader.finish(writing.db, None).await?;
            Ok(count)
        }
    }
}
