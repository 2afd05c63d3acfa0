//! `UPDATE`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use sql::dml::{TargetCatalog, assign, or_null, refuse_nulls, returning, update_query};
use sql::parse::{Statement, Update};
use sql::{Bound, RowChange};
use txn::waiting::give_way;
use types::{SqlError, SqlResult};

use super::change::{Change, commit};
use super::constraints::checked;
use super::delete::firsts;
use super::outcome::outcome;
use super::rows::{Rows, batch};
use super::streamed::{self, Found};
use super::{compiled, few, foreign};
use crate::catalog::entry::TableEntry;
use crate::result::StatementResult;
use crate::writing::{Finding, Writing};

/// Changes rows, and what refers to their keys where a constraint says so.
pub(crate) async fn update(writing: &Writing<'_>, update: &Update) -> SqlResult<StatementResult> {
    let Some(execution) = update.execution() else {
        return Box::pin(planned(writing, update)).await;
    };
    if let Some(result) = compiled::update(writing, execution).await? {
        return Ok(result);
    }
    match writing.planned(execution)? {
        Statement::Update(update) => Box::pin(planned(writing, &update)).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// The same by a query that finds the rows.
async fn planned(writing: &Writing<'_>, update: &Update) -> SqlResult<StatementResult> {
    if let Some(bound) = update.bound.as_ref().filter(|bound| bound.generic().is_some()) {
        return Box::pin(again(writing, update, bound)).await;
    }
    let target = TargetCatalog::new(&writing.catalog, &update.table)?;
    let returning = returning(update, &writing.catalog)?;
    let (query, ordinals) = update_query(update, &target)?;
    // What can be read need not be a table: no row of such is looked for.
    writing.entry(&update.table)?;
    let finding = writing.finding(update.bound.as_ref(), &query, Some(&update.table)).await?;
    let how = RowChange { ordinals, conflict: None, returning };
    change(writing, update, &finding, &how).await
}

/// The same by a plan that was made before.
async fn again(
    writing: &Writing<'_>,
    update: &Update,
    bound: &Bound,
) -> SqlResult<StatementResult> {
    if let Some((finding, how)) = writing.finding_again(bound) {
        return change(writing, update, &finding, how).await;
    }
    match bound.again()? {
        Statement::Update(update) => Box::pin(planned(writing, &update)).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// Changes the rows that a query finds.
async fn change(
    writing: &Writing<'_>,
    update: &Update,
    finding: &Finding,
    how: &RowChange,
) -> SqlResult<StatementResult> {
    let RowChange { ordinals, returning, .. } = how;
    let entry = writing.entry(&update.table)?;
    let may_stream = update.finds_rows_once()
        && returning.is_none()
        && streamed::may_change(writing, &entry, ordinals);
    let mut seen = HashSet::new();
    let (old, mut new) = match streamed::found(writing, finding, may_stream).await? {
        Found::Few(found) => few::updated(writing, &entry, (finding, ordinals), found)?,
        Found::All(found) => {
            let (mut old, mut new) = (vec![], vec![]);
            for found in &found {
                let (before, after) = updated(writing, &entry, ordinals, found, &mut seen)?;
                old.push(before);
                new.push(after);
                give_way(&writing.cancel).await?;
            }
            (Rows::all(&entry, &old)?, Rows::all(&entry, &new)?)
        }
        Found::TooMany => {
            let change = |found: &RecordBatch| {
                seen.clear();
                updated(writing, &entry, ordinals, found, &mut seen)
            };
            let keys = streamed::changed_keys(&entry, ordinals);
            let changing = streamed::change(writing, &entry, (finding, &keys), change);
            let count = Box::pin(changing).await?;
            return Ok(StatementResult::Command { tag: format!("UPDATE {count}") });
        }
    };
    if entry.columns.is_some() {
        // The ids of a part are those of its rows alone.
        let ids = Box::pin(entry.take_row_ids(new.len())).await?;
        new = Rows::new(new.batch().clone(), ids);
    }
    let (count, written) = (old.len(), new.clone());
    let changes = foreign::enforce(writing, Change::new(&entry, old, new)).await?;
    let result = outcome("UPDATE", count, returning.as_ref(), &written)?;
    commit(writing, changes).await?;
    Ok(result)
}

/// Rows as they were and as they become. One that was found before is left as it becomes then.
fn updated(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    ordinals: &[usize],
    found: &RecordBatch,
    seen: &mut HashSet<Vec<u8>>,
) -> SqlResult<(Rows, Rows)> {
    let old = Rows::found(entry, found)?;
    let firsts = firsts(old.keys(entry)?, seen);
    let (old, found) = match firsts.len() == old.len() {
        true => (old, found.clone()),
        false => {
            let taken = take_record_batch(found, &UInt32Array::from(firsts.clone()));
            (old.take(&firsts)?, taken.map_err(crate::fault::internal)?)
        }
    };
    let schema = &entry.def.schema;
    let mut columns = old.batch().columns().to_vec();
    let first_new = found.num_columns() - ordinals.len();
    for (number, &ordinal) in ordinals.iter().enumerate() {
        let column = or_null(&schema.columns[ordinal]);
        columns[ordinal] = assign(found.column(first_new + number), &column)?;
    }
    refuse_nulls(&entry.def, schema, &columns)?;
    let rows = batch(&entry.schema(), columns, old.len())?;
    let rows = checked(&entry.def, &writing.catalog, rows)?;
    let new = Rows::new(rows, old.ids().clone());
    Ok((old, new))
}
