//! The result of a statement that changes rows.

use sql::dml::RowExprs;
use types::SqlResult;

use super::rows::Rows;
use crate::result::{ResultSet, StatementResult};

/// The result of a statement that changed `count` rows: its tag, or the rows it returns.
pub(crate) fn outcome(
    verb: &str,
    count: usize,
    returning: Option<&RowExprs>,
    rows: &Rows,
) -> SqlResult<StatementResult> {
    let tag = format!("{verb} {count}");
    let Some(returning) = returning else { return Ok(StatementResult::Command { tag }) };
    let returned = match rows.cells() {
        Some(cells) => returning.of_cells(cells)?,
        None => returning.evaluate(rows.batch())?,
    };
    let batches = vec![returned];
    let schema = returning.schema.clone();
    Ok(StatementResult::Rows(ResultSet { schema, batches, tag, figures: None }))
}
