//! `INSERT`, with what it does about conflicts.

use std::sync::Arc;

use arrow_array::RecordBatch;
use sql::dml::{Conflict, Defaults, RowExprs, returning};
use sql::parse::{Insert, Statement};
use sql::{Bound, InsertRows, RowChange, insert_rows, rows_of_query};
use types::cells::Cells;
use types::{SqlError, SqlResult};

use super::change::commit;
use super::conflict::{OnConflict, Planned, resolve};
use super::constraints::checked;
use super::incoming::{Source, insert_query, may_stream};
use super::outcome::outcome;
use super::rows::{NewRows, concatenated};
use super::{compiled, foreign};
use crate::catalog::entry::TableEntry;
use crate::result::StatementResult;
use crate::writing::{Finding, Writing};

/// Values that are computed at once; more keep a worker too long.
const VALUES_MAX: usize = 2048;

/// Inserts the rows of a statement.
pub(crate) async fn insert(
    writing: &Writing<'_>,
    insert: &Arc<Insert>,
) -> SqlResult<StatementResult> {
    let Some(execution) = insert.execution() else {
        return Box::pin(planned(writing, insert)).await;
    };
    if let Some(result) = compiled::insert(writing, execution).await? {
        return Ok(result);
    }
    match writing.planned(execution)? {
        Statement::Insert(insert) => Box::pin(planned(writing, &Arc::new(insert))).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// The same with its values bound anew.
async fn planned(writing: &Writing<'_>, insert: &Arc<Insert>) -> SqlResult<StatementResult> {
    if let Some(bound) = insert.bound.as_ref().filter(|bound| bound.generic().is_some()) {
        return Box::pin(again(writing, insert, bound)).await;
    }
    let catalog = &writing.catalog;
    // Views and system relations take no rows.
    sql::dml::TargetCatalog::new(catalog, &insert.table)?;
    let entry = writing.entry(&insert.table)?;
    let returning = returning(&**insert, catalog)?;
    let conflict = Conflict::of(insert, catalog)?;
    let mut defaults = Defaults::new(&entry.def, catalog)?;
    let (theirs, own) = (insert.clone(), catalog.clone());
    let computed = writing.prepared(insert.value_count() > VALUES_MAX, move || {
        let rows = insert_rows(&theirs, &own, &mut defaults)?;
        Ok((rows, defaults))
    });
    let (rows, mut defaults) = computed.await?;
    let rows = match rows {
        InsertRows::Values(rows) => rows,
        InsertRows::Queries(queries, ordinals) if queries.len() == 1 => {
            let finding = writing.finding(insert.bound.as_ref(), &queries[0], None).await?;
            let how = RowChange { ordinals, conflict, returning };
            return Box::pin(add(writing, insert, &finding, &how, defaults)).await;
        }
        InsertRows::Queries(queries, targets) => {
            let mut rows = vec![];
            for query in &queries {
                let found = writing.rows(query, None).await?;
                rows.push(rows_of_query(&entry.def, &targets, &found, insert, &mut defaults)?);
            }
            concatenated(&sql::incoming_schema(&entry.def).arrow(), &rows)?
        }
    };
    let rows = NewRows::Vectors(checked(&entry.def, catalog, rows)?);
    let values = &Cells::default();
    let conflict = conflict.as_ref().map(|conflict| OnConflict { conflict, values });
    write(writing, &entry, rows, conflict, returning.as_ref()).await
}

/// The same by a plan that was made before.
async fn again(
    writing: &Writing<'_>,
    insert: &Insert,
    bound: &Bound,
) -> SqlResult<StatementResult> {
    if let Some((finding, how)) = writing.finding_again(bound) {
        let table = &writing.entry(&insert.table)?.def;
        let defaults = Defaults::new(table, &writing.catalog)?;
        return Box::pin(add(writing, insert, &finding, how, defaults)).await;
    }
    match bound.again()? {
        Statement::Insert(insert) => Box::pin(planned(writing, &Arc::new(insert))).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// Inserts the rows that a query finds.
async fn add(
    writing: &Writing<'_>,
    insert: &Insert,
    finding: &Finding,
    how: &RowChange,
    mut defaults: Defaults,
) -> SqlResult<StatementResult> {
    let RowChange { ordinals, conflict, returning } = how;
    let entry = writing.entry(&insert.table)?;
    if returning.is_none() && conflict.is_none() && may_stream(&entry) {
        let source = Source { finding, targets: ordinals, insert };
        let inserted = Box::pin(insert_query(writing, &entry, &source, &mut defaults));
        let count = inserted.await?;
        return Ok(StatementResult::Command { tag: format!("INSERT 0 {count}") });
    }
    let found = writing.found_together(finding).await?;
    let rows = rows_of_query(&entry.def, ordinals, &found, insert, &mut defaults)?;
    let rows = NewRows::Vectors(checked(&entry.def, &writing.catalog, rows)?);
    let values = &Cells::default();
    let conflict = conflict.as_ref().map(|conflict| OnConflict { conflict, values });
    write(writing, &entry, rows, conflict, returning.as_ref()).await
}

/// Inserts whole rows, which fulfil what single rows must.
pub(super) async fn write(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rows: NewRows,
    conflict: Option<OnConflict<'_>>,
    returning: Option<&RowExprs>,
) -> SqlResult<StatementResult> {
    let planned = match conflict {
        None => Planned::all(entry, rows),
        Some(conflict) => resolve(writing, entry, rows, conflict).await?,
    };
    let order = planned.order.clone();
    let change = planned.change(entry).await?;
    let (count, added) = (change.added.len(), change.added.clone());
    let written = match order {
        Some(order) if returning.is_some() => added.take(&order)?,
        _ => added,
    };
    let changes = foreign::enforce(writing, change).await?;
    let result = outcome("INSERT 0", count, returning, &written)?;
    commit(writing, changes).await?;
    Ok(result)
}

/// Inserts rows that have all columns of the table; generated ones need not be filled in.
pub(crate) async fn insert_batches(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rows: &[RecordBatch],
) -> SqlResult<()> {
    let rows = concatenated(&entry.schema(), rows)?;
    let rows = checked(&entry.def, &writing.catalog, rows)?;
    let change = Planned::all(entry, NewRows::Vectors(rows)).change(entry).await?;
    commit(writing, foreign::enforce(writing, change).await?).await
}
