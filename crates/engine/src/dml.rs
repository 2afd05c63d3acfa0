//! `INSERT`, `UPDATE`, `DELETE` and `TRUNCATE`: all rows of a statement or none.
//!
//! A statement first finds its rows by a query, then makes the new rows, then checks every
//! constraint against the state that it would leave, and only then touches a tree: what a statement
//! reads is the state before it, and an error leaves nothing to undo but I/O errors do.

mod change;
mod constraints;
mod delete;
mod entries;
mod foreign;
mod incoming;
mod insert;
mod references;
mod rows;
mod truncate;
mod update;

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use runtime::sync::Cancel;
use sql::catalog::Catalog;
use sql::dml::RowExprs;
use sql::{PlannerOptions, Query};
use types::{SqlError, SqlResult};

use crate::activity::Activity;
use crate::catalog::TableEntry;
use crate::database::Database;
use crate::query::{self, Run, Watch};
use crate::result::{ResultSet, StatementResult};
use crate::settings::Settings;
use crate::stream::BlockingRows;
use crate::system::SystemCatalog;
use crate::turn::Turn;

pub(crate) use change::{Change, commit, in_place_bytes_max};
pub(crate) use constraints::{checked, validate_rows};
pub(crate) use delete::delete;
pub(crate) use incoming::{Incoming, take_all};
pub(crate) use insert::{insert, insert_batches};
pub(crate) use references::{check_all, referring};
pub(crate) use rows::batch as batch_of;
pub(crate) use truncate::truncate;
pub(crate) use update::update;

/// What a statement that writes works with: it holds the right to write from its first look at the
/// catalog to its end.
pub(crate) struct Writing<'a> {
    pub(crate) db: &'a Database,
    pub(crate) settings: &'a Settings,
    pub(crate) options: PlannerOptions,
    pub(crate) catalog: SystemCatalog,
    pub(crate) cancel: Cancel,
    pub(crate) activity: &'a Activity,
    pub(crate) _writer: Option<Turn>,
}

impl Writing<'_> {
    /// The table named `name`, or 42P01 with the nearest name.
    pub(crate) fn entry(&self, name: &str) -> SqlResult<Arc<TableEntry>> {
        self.catalog.snapshot().table(name).cloned()
    }

    /// Runs a query over the state before the statement; its rows in one batch.
    pub(crate) fn rows(&self, text: &Query, catalog: &dyn Catalog) -> SqlResult<RecordBatch> {
        let plan = Arc::new(sql::plan_query(text, catalog, &self.options)?);
        let own = self.catalog.clone();
        let watch = Watch { cancel: self.cancel.clone(), activity: self.activity };
        let (batches, _) = query::run(self.db, own, &plan, self.settings, watch, Duration::ZERO)?;
        rows::concatenated(&plan.root.schema, &batches)
    }

    /// Begins a query over the state before the statement, whose rows are taken as they come. It is
    /// to be kept until the statement is done.
    pub(crate) fn stream(&self, text: &Query) -> SqlResult<QueryRows> {
        let plan = Arc::new(sql::plan_query(text, &self.catalog, &self.options)?);
        let (db, catalog, cancel) = (self.db, self.catalog.clone(), self.cancel.clone());
        let watch = Watch { cancel: cancel.clone(), activity: self.activity };
        let run = Run::new(db, catalog, &plan, self.settings, watch, Duration::ZERO);
        let (schema, rows) = (run.schema(), BlockingRows::start(db, run, cancel));
        Ok(QueryRows { schema, rows })
    }
}

/// The rows of a query as they come. Dropped before the end it cancels the whole statement, after
/// it nothing that still looks.
pub(crate) struct QueryRows {
    pub(crate) schema: SchemaRef,
    rows: BlockingRows,
}

impl QueryRows {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// The query's.
    pub(crate) fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        self.rows.next()
    }
}

/// The result of a statement that changed `count` rows: its tag, or the rows it returns.
fn outcome(
    verb: &str,
    count: usize,
    returning: Option<RowExprs>,
    rows: &RecordBatch,
) -> SqlResult<StatementResult> {
    let tag = format!("{verb} {count}");
    let Some(returning) = returning else { return Ok(StatementResult::Command { tag }) };
    let batches = vec![returning.evaluate(rows)?];
    Ok(StatementResult::Rows(ResultSet { schema: returning.schema, batches, tag, figures: None }))
}

pub(crate) fn internal(error: arrow_schema::ArrowError) -> SqlError {
    SqlError::internal(error.to_string())
}
