//! `DELETE`.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use sql::Bound;
use sql::dml::{RowExprs, TargetCatalog, delete_query, returning};
use sql::parse::{Delete, Statement};
use txn::waiting::give_way;
use types::{SqlError, SqlResult};

use super::change::{Change, commit};
use super::outcome::outcome;
use super::rows::Rows;
use super::streamed::{self, Found};
use super::{compiled, foreign};
use crate::freeing;
use crate::result::StatementResult;
use crate::writing::{Finding, Writing};

/// Deletes rows, and what refers to them where a constraint says so.
pub(crate) async fn delete(writing: &Writing<'_>, delete: &Delete) -> SqlResult<StatementResult> {
    let _reserve = freeing::spend_reserve(writing).await?;
    let Some(execution) = delete.execution() else {
        return Box::pin(planned(writing, delete)).await;
    };
    if let Some(result) = compiled::delete(writing, execution).await? {
        return Ok(result);
    }
    match writing.planned(execution)? {
        Statement::Delete(delete) => Box::pin(planned(writing, &delete)).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// The same by a query that finds the rows.
async fn planned(writing: &Writing<'_>, delete: &Delete) -> SqlResult<StatementResult> {
    if let Some(bound) = delete.bound.as_ref().filter(|bound| bound.generic().is_some()) {
        return Box::pin(again(writing, delete, bound)).await;
    }
    let target = TargetCatalog::new(&writing.catalog, &delete.table)?;
    let returning = returning(delete, &writing.catalog)?;
    let query = delete_query(delete, &target)?;
    // What can be read need not be a table: no row of such is looked for.
    writing.entry(&delete.table)?;
    let finding = writing.finding(delete.bound.as_ref(), &query, Some(&delete.table)).await?;
    remove(writing, delete, &finding, returning.as_ref()).await
}

/// The same by a plan that was made before.
async fn again(
    writing: &Writing<'_>,
    delete: &Delete,
    bound: &Bound,
) -> SqlResult<StatementResult> {
    if let Some((finding, how)) = writing.finding_again(bound) {
        return remove(writing, delete, &finding, how.returning.as_ref()).await;
    }
    match bound.again()? {
        Statement::Delete(delete) => Box::pin(planned(writing, &delete)).await,
        _ => Err(SqlError::internal("a statement is another one now")),
    }
}

/// Deletes the rows that a query finds.
async fn remove(
    writing: &Writing<'_>,
    delete: &Delete,
    finding: &Finding,
    returning: Option<&RowExprs>,
) -> SqlResult<StatementResult> {
    let entry = writing.entry(&delete.table)?;
    let may_stream =
        delete.finds_rows_once() && returning.is_none() && streamed::may_remove(writing, &entry);
    let mut seen = HashSet::new();
    let mut first = |found: Rows| {
        let firsts = firsts(found.keys(&entry)?, &mut seen);
        if firsts.len() == found.len() { Ok(found) } else { found.take(&firsts) }
    };
    let removed = match streamed::found(writing, finding, may_stream).await? {
        Found::Few(found) => {
            let columns: Vec<usize> = (0..entry.layout.schema.columns.len()).collect();
            first(Rows::of_cells(&entry, found.columns(&columns)))?
        }
        Found::All(found) => {
            let mut removed = vec![];
            for found in &found {
                removed.push(first(Rows::found(&entry, found)?)?);
                give_way(&writing.cancel).await?;
            }
            Rows::all(&entry, &removed)?
        }
        Found::TooMany => {
            let none = Rows::none(&entry);
            let change = |found: &RecordBatch| Ok((Rows::found(&entry, found)?, none.clone()));
            let changing = streamed::change(writing, &entry, (finding, &[]), change);
            let count = Box::pin(changing).await?;
            return Ok(StatementResult::Command { tag: format!("DELETE {count}") });
        }
    };
    let (count, rows) = (removed.len(), removed.clone());
    let none = Rows::none(&entry);
    let changes = foreign::enforce(writing, Change::new(&entry, removed, none)).await?;
    let result = outcome("DELETE", count, returning, &rows)?;
    commit(writing, changes).await?;
    Ok(result)
}

/// The positions of the rows whose keys were not seen before: a join may find a row several times.
pub(super) fn firsts(keys: Vec<Vec<u8>>, seen: &mut HashSet<Vec<u8>>) -> Vec<u32> {
    (0..).zip(keys).filter_map(|(row, key)| seen.insert(key).then_some(row)).collect()
}
