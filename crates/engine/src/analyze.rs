//! `ANALYZE`: statistics of a table from a sample of its extents.

use std::sync::Arc;

use arrow_array::RecordBatch;
use plan::catalog::ColumnStatistics;
use sql::parse::Vacuum;
use sql::statistics::column_statistics;
use txn::waiting::unless_cancelled;
use types::{Schema, SqlResult};

use crate::access::role::RoleId;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::fault::internal;
use crate::notice::Notice;
use crate::relation::whole::sample;
use crate::writing::Writing;

/// Extents in a sample: 64 pages each, some 128 thousand rows of 128 bytes; PostgreSQL samples
/// 30 thousand rows, but ours come in extents and need more to see as many places.
const SAMPLE_EXTENTS: usize = 64;

/// Rows of a sample whose values are sorted by a worker: some two milliseconds for each column.
const SORTED_AT_ONCE: usize = 8192;

/// What `VACUUM` leaves alone because it is not the role's. Space is taken back without it, so nothing is
/// left undone; but who asked for it may not have that right.
pub(crate) fn not_vacuumed(snapshot: &Snapshot, role: RoleId, vacuum: &Vacuum) -> Vec<Notice> {
    let all = || snapshot.tables.keys().cloned().collect();
    let names: Vec<String> = match vacuum.tables.is_empty() {
        true => all(),
        false => vacuum.tables.iter().map(|table| table.name.clone()).collect(),
    };
    let is_others =
        |name: &String| snapshot.acl(name).is_ok_and(|acl| !snapshot.access.owns(role, acl));
    let notice = |name: String| {
        let message = format!("skipping \"{name}\" --- only table or database owner can vacuum it");
        Notice::warning(message)
    };
    names.into_iter().filter(is_others).map(notice).collect()
}

/// Analyzes one table, or all of them, as far as they are the role's; what it may not is told.
pub(crate) async fn analyze(writing: &Writing<'_>, table: Option<&str>) -> SqlResult<Vec<Notice>> {
    let (snapshot, role) = (writing.snapshot(), writing.catalog.role());
    let names: Vec<String> = match table {
        None => snapshot.tables.keys().cloned().collect(),
        Some(name) => vec![name.to_owned()],
    };
    let (names, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| {
        let owned = snapshot.acl(name).map(|acl| snapshot.access.owns(role, acl));
        owned.unwrap_or(true)
    });
    let skipped = |name: String| {
        let message =
            format!("skipping \"{name}\" --- only table or database owner can analyze it");
        Notice::warning(message)
    };
    let job = writing.db.start_job("analyzing", names.len() as u64);
    let mut entries = vec![];
    for name in names {
        let analyzed = analyzed(writing, snapshot.table(&name)?);
        entries.push(unless_cancelled(&writing.cancel, analyzed).await??);
        job.done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            entries.into_iter().for_each(|entry| snapshot.put(entry));
            Ok(())
        })
    });
    change.await?;
    Ok(others.into_iter().map(skipped).collect())
}

async fn analyzed(writing: &Writing<'_>, entry: &TableEntry) -> SqlResult<TableEntry> {
    let ordinals: Vec<usize> = (0..entry.def.schema.columns.len()).collect();
    let sample = sample(writing.snapshot(), entry, &ordinals, SAMPLE_EXTENTS).await?;
    let mut def = (*entry.def).clone();
    let mut statistics = (*def.statistics).clone();
    let mut columns = vec![];
    for ordinal in ordinals {
        let mut column = column(writing, entry, &sample.batches, ordinal).await?;
        column.width = sample.text_width(ordinal).unwrap_or(column.width);
        columns.push(column);
    }
    statistics.columns = columns.into();
    def.statistics = Arc::new(statistics);
    Ok(entry.with_def(def))
}

/// Statistics of one column, which is sorted for them: where the sample has many rows, on a thread
/// beside the workers.
async fn column(
    writing: &Writing<'_>,
    entry: &TableEntry,
    batches: &[RecordBatch],
    ordinal: usize,
) -> SqlResult<ColumnStatistics> {
    let one = |batch: &RecordBatch| batch.project(&[ordinal]).map_err(internal);
    let batches = batches.iter().map(one).collect::<SqlResult<Vec<_>>>()?;
    let schema = Schema { columns: vec![entry.def.schema.columns[ordinal].clone()] };
    let sampled: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let row_count = entry.row_count();
    let work = move || Ok(column_statistics(&schema, &batches, row_count)?.remove(0));
    if sampled <= SORTED_AT_ONCE {
        return work();
    }
    writing.planner.beside(&writing.cancel, work).await?
}
