//! Results that stream: rows leave as the executor yields them. They wait in a queue of bounded size;
//! when it is full, the tasks that yield rows wait. So a result of any size takes little memory, and
//! who takes the rows sets the pace.

pub(crate) mod rows;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use plan::Plan;
use runtime::sync::Cancel;
use runtime::time::{self, Instant};
use txn::undo::ReadView;
use types::cells::Cells;
use types::{SqlError, SqlResult};

use crate::activity::{Activity, StatementActivity};
use crate::isolation;
use crate::numbers::Given;
use crate::query::{Run, calls_functions};
use crate::result::ResultSet;
use crate::system::catalog::SystemCatalog;
use crate::system::view::SettingChange;
use crate::timeout::StatementTimeout;
use rows::QueryRows;

/// The rows of a statement, in order of their arrival. It belongs to the worker that made it.
pub struct RowStream {
    schema: SchemaRef,
    /// The tag without the number of rows.
    verb: String,
    row_count: u64,
    pub(crate) source: Source,
}

pub(crate) enum Source {
    /// They are all here.
    Collected(VecDeque<RecordBatch>, String),
    /// The few rows of a program, the columns that they are as vectors, and the catalog whose
    /// functions it has called.
    Few(Option<Cells>, SchemaRef, Option<SystemCatalog>),
    Running(Box<Running>),
}

/// Some rows of a result.
pub enum Portion {
    /// As vectors.
    Vectors(RecordBatch),
    /// As values of the result's columns.
    Values(Cells),
}

impl Portion {
    /// How many rows they are.
    pub fn row_count(&self) -> usize {
        match self {
            Portion::Vectors(batch) => batch.num_rows(),
            Portion::Values(cells) => cells.len(),
        }
    }
}

/// A query that runs as its rows are taken.
pub(crate) struct Running {
    rows: QueryRows,
    pub(crate) cancel: Cancel,
    /// Of the statement that takes the rows; none while it lies still.
    pub(crate) timeout: Option<StatementTimeout>,
    catalog: SystemCatalog,
    pub(crate) watched: Watched,
    /// What a query sees that is a serializable transaction, until it has ended.
    alone: Option<ReadView>,
}

/// What others see of it, and how long it has run without the time that it lay still.
pub(crate) struct Watched {
    activity: Arc<Activity>,
    statement: Option<StatementActivity>,
    ran: Duration,
    rows: u64,
    since: Option<Instant>,
    is_told: bool,
}

impl RowStream {
    /// Begins to run a query; call it in a task of the database's runtime. Nothing happens before rows
    /// are asked for.
    pub(crate) fn start(
        run: Run,
        activity: Arc<Activity>,
        (cancel, timeout): (Cancel, StatementTimeout),
    ) -> RowStream {
        let (schema, catalog) = (run.schema(), run.catalog());
        let statement = activity.statement();
        let since = Some(time::now());
        let watched =
            Watched { activity, statement, ran: Duration::ZERO, rows: 0, since, is_told: false };
        let (rows, timeout) = (QueryRows::start(run), Some(timeout));
        let running = Running { rows, cancel, timeout, catalog, watched, alone: None };
        let source = Source::Running(Box::new(running));
        RowStream { schema, verb: "SELECT".to_owned(), row_count: 0, source }
    }

    /// Rows that are all there.
    pub fn collected(result: ResultSet) -> RowStream {
        let ResultSet { schema, batches, tag, .. } = result;
        let source = Source::Collected(batches.into(), tag);
        RowStream { schema, verb: String::new(), row_count: 0, source }
    }

    /// The few rows that the program of a plan has found.
    pub(crate) fn few(plan: &Plan, rows: Cells, catalog: &SystemCatalog) -> RowStream {
        let (schema, relaxed) = (plan.root.schema.clone(), plan.root.relaxed());
        let called = calls_functions(plan).then(|| catalog.clone());
        let source = Source::Few(Some(rows), relaxed, called);
        RowStream { schema, verb: "SELECT".to_owned(), row_count: 0, source }
    }

    /// Names and types.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next rows, never an empty batch; `None` at the end.
    ///
    /// # Errors
    /// The statement's, once the rows before it are taken.
    pub async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`RowStream::next`], for those who wait for something else too.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<SqlResult<Option<RecordBatch>>> {
        let portion = ready!(self.poll_portion(cx))?;
        Poll::Ready(portion.map(|portion| self.vectors(portion)).transpose())
    }

    /// The next rows as they are, never none of them; `None` at the end.
    ///
    /// # Errors
    /// As [`RowStream::next`].
    pub async fn next_portion(&mut self) -> SqlResult<Option<Portion>> {
        poll_fn(|cx| self.poll_portion(cx)).await
    }

    /// As [`RowStream::next_portion`], for those who wait for something else too.
    pub fn poll_portion(&mut self, cx: &mut Context<'_>) -> Poll<SqlResult<Option<Portion>>> {
        let portion = match &mut self.source {
            Source::Collected(batches, _) => batches.pop_front().map(Portion::Vectors),
            Source::Few(rows, ..) => rows.take().map(Portion::Values),
            Source::Running(running) => ready!(running.poll(cx))?.map(Portion::Vectors),
        };
        match portion {
            Some(portion) if portion.row_count() == 0 => self.poll_portion(cx),
            Some(portion) => {
                self.row_count += portion.row_count() as u64;
                Poll::Ready(Ok(Some(portion)))
            }
            None => Poll::Ready(Ok(None)),
        }
    }

    /// Rows of this result as vectors.
    ///
    /// # Errors
    /// XX000 for rows of another one.
    pub fn vectors(&self, portion: Portion) -> SqlResult<RecordBatch> {
        match (portion, &self.source) {
            (Portion::Vectors(batch), _) => Ok(batch),
            (Portion::Values(rows), Source::Few(_, schema, _)) => {
                exec::batch_of_cells(schema, &rows)
            }
            (Portion::Values(_), _) => Err(SqlError::internal("values of another result")),
        }
    }

    /// The tag of the statement, as if `count` rows had been taken.
    pub fn tag(&self, count: u64) -> String {
        match &self.source {
            Source::Collected(_, tag) => match tag.split_once(' ') {
                Some((verb @ ("SELECT" | "FETCH"), _)) => format!("{verb} {count}"),
                _ => tag.clone(),
            },
            Source::Few(..) | Source::Running(_) => format!("{} {count}", self.verb),
        }
    }

    /// Rows taken so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Says so when `statement_timeout` was the reason for the end.
    pub(crate) fn judge<T>(&self, result: SqlResult<T>) -> SqlResult<T> {
        match &self.source {
            Source::Collected(..) | Source::Few(..) => result,
            Source::Running(running) => running.judge(result),
        }
    }

    /// Whether the rows are those of a query that runs as they are taken.
    pub fn is_query(&self) -> bool {
        matches!(self.source, Source::Running(_))
    }

    /// The settings that the query changed by `set_config`.
    pub(crate) fn changes(&self) -> Vec<SettingChange> {
        match &self.source {
            Source::Few(_, _, Some(catalog)) => catalog.changes(),
            Source::Collected(..) | Source::Few(..) => vec![],
            Source::Running(running) => running.catalog.changes(),
        }
    }

    /// Refuses rows that were to be locked and that others have changed.
    pub(crate) fn check_locked(&self) -> SqlResult<()> {
        match &self.source {
            Source::Collected(..) | Source::Few(..) => Ok(()),
            Source::Running(running) => {
                isolation::check_locked(&running.catalog.snapshot().read_view)
            }
        }
    }

    /// Refuses what a query has seen so far that is a serializable transaction and has no place among others.
    pub(crate) fn check_alone(&self) -> SqlResult<()> {
        match &self.source {
            Source::Running(running) => running.alone.as_ref().map_or(Ok(()), isolation::end_reads),
            Source::Collected(..) | Source::Few(..) => Ok(()),
        }
    }

    /// The same as a transaction, which is serializable and has this view.
    pub(crate) fn alone(mut self, view: Option<ReadView>) -> RowStream {
        if let Source::Running(running) = &mut self.source {
            running.alone = view;
        }
        self
    }

    /// The sequences that gave numbers out of which a crash would not know.
    pub(crate) fn given(&self) -> Vec<Given> {
        match &self.source {
            Source::Few(_, _, Some(catalog)) => catalog.given(),
            Source::Collected(..) | Source::Few(..) => vec![],
            Source::Running(running) => running.catalog.given(),
        }
    }
}

impl Running {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<SqlResult<Option<RecordBatch>>> {
        let polled = ready!(self.rows.poll_next(cx));
        match &polled {
            Ok(Some(batch)) => self.watched.rows += batch.num_rows() as u64,
            ended => self.watched.tell(ended.as_ref().err()),
        }
        Poll::Ready(self.judge(polled))
    }

    fn judge<T>(&self, result: SqlResult<T>) -> SqlResult<T> {
        match &self.timeout {
            Some(timeout) => timeout.judge(result),
            None => result,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its rows were wanted no longer, which is no failure.
        self.watched.tell(None);
    }
}

impl Watched {
    pub(crate) fn pause(&mut self) {
        self.ran += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        if let Some(statement) = &mut self.statement {
            statement.elapsed = Some(self.ran);
            self.activity.shows(statement, false);
        }
    }

    pub(crate) fn resume(&mut self) {
        self.since = Some(time::now());
        if let Some(statement) = &mut self.statement {
            statement.elapsed = None;
            self.activity.shows(statement, true);
        }
    }

    /// The statement has ended.
    fn tell(&mut self, error: Option<&SqlError>) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        self.pause();
        if let Some(statement) = &self.statement {
            self.activity.ended(statement, self.ran, self.rows, error);
        }
    }
}
