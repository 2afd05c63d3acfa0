//! `INSERT`, `UPDATE`, `DELETE` and `TRUNCATE`: all rows of a statement or none.
//!
//! A statement first finds its rows by a query, then makes the new rows, then checks every
//! constraint against the state that it would leave, and only then touches a tree: what a statement
//! reads is the state before it, and an error leaves nothing to undo but I/O errors do.

mod change;
mod compiled;
mod constraints;
mod deferred;
mod delete;
mod entries;
mod foreign;
mod in_parts;
mod incoming;
mod insert;
mod references;
mod rows;
mod streamed;
mod truncate;
mod update;

use arrow_array::RecordBatch;
use sql::dml::RowExprs;
use types::{SqlError, SqlResult};

use crate::result::{ResultSet, StatementResult};

pub(crate) use change::{Change, commit, in_place_bytes_max};
pub(crate) use constraints::{checked, validate_rows};
pub(crate) use deferred::check_doubts;
pub(crate) use delete::delete;
pub(crate) use incoming::{Incoming, RowSource, take_all};
pub(crate) use insert::{insert, insert_batches};
pub(crate) use references::{
    Reference, RepeatedKeys, check_all, named_values, referring, without_parent,
};
pub(crate) use rows::{batch as batch_of, concatenated};
pub(crate) use truncate::truncate;
pub(crate) use update::update;

/// The result of a statement that changed `count` rows: its tag, or the rows it returns.
fn outcome(
    verb: &str,
    count: usize,
    returning: Option<&RowExprs>,
    rows: &RecordBatch,
) -> SqlResult<StatementResult> {
    let tag = format!("{verb} {count}");
    let Some(returning) = returning else { return Ok(StatementResult::Command { tag }) };
    let batches = vec![returning.evaluate(rows)?];
    let schema = returning.schema.clone();
    Ok(StatementResult::Rows(ResultSet { schema, batches, tag, figures: None }))
}

pub(crate) fn internal(error: arrow_schema::ArrowError) -> SqlError {
    SqlError::internal(error.to_string())
}
