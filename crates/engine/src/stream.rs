//! Results that stream: rows leave as the executor yields them. They wait in a queue of bounded size;
//! when it is full, the tasks that yield rows wait. So a result of any size takes little memory, and
//! who takes the rows sets the pace.

mod rows;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use runtime::sync::Cancel;
use runtime::time::{self, Instant};
use sql::Query;
use sql::plan::{Access, Plan};
use types::{SqlError, SqlResult};

use crate::activity::{Activity, StatementActivity};
use crate::prepared::PointExecution;
use crate::query::{Run, Watch};
use crate::result::ResultSet;
use crate::session::Session;
use crate::system::{Given, SettingChange, SystemCatalog};

pub(crate) use rows::QueryRows;

/// The rows of a statement, in order of their arrival. It belongs to the worker that made it.
pub struct RowStream {
    schema: SchemaRef,
    /// The tag without the number of rows.
    verb: String,
    row_count: u64,
    source: Source,
}

enum Source {
    /// They are all here.
    Collected(VecDeque<RecordBatch>, String),
    Running(Box<Running>),
}

/// A query that runs as its rows are taken.
struct Running {
    rows: QueryRows,
    cancel: Cancel,
    catalog: SystemCatalog,
    watched: Watched,
}

/// What others see of it, and how long it has run without the time that it lay still.
struct Watched {
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
    pub(crate) fn start(run: Run, activity: Arc<Activity>, cancel: Cancel) -> RowStream {
        let (schema, catalog) = (run.schema(), run.catalog());
        let statement = activity.statement();
        let since = Some(time::now());
        let watched =
            Watched { activity, statement, ran: Duration::ZERO, rows: 0, since, is_told: false };
        let running = Running { rows: QueryRows::start(run), cancel, catalog, watched };
        let source = Source::Running(Box::new(running));
        RowStream { schema, verb: "SELECT".to_owned(), row_count: 0, source }
    }

    /// Rows that are all there.
    pub fn collected(result: ResultSet) -> RowStream {
        let ResultSet { schema, batches, tag, .. } = result;
        let source = Source::Collected(batches.into(), tag);
        RowStream { schema, verb: String::new(), row_count: 0, source }
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
        let polled = match &mut self.source {
            Source::Collected(batches, _) => Poll::Ready(Ok(batches.pop_front())),
            Source::Running(running) => running.poll(cx),
        };
        match polled {
            Poll::Ready(Ok(Some(batch))) if batch.num_rows() == 0 => self.poll_next(cx),
            Poll::Ready(Ok(Some(batch))) => {
                self.row_count += batch.num_rows() as u64;
                Poll::Ready(Ok(Some(batch)))
            }
            other => other,
        }
    }

    /// The tag of the statement, as if `count` rows had been taken.
    pub fn tag(&self, count: u64) -> String {
        match &self.source {
            Source::Collected(_, tag) => match tag.split_once(' ') {
                Some((verb @ ("SELECT" | "FETCH"), _)) => format!("{verb} {count}"),
                _ => tag.clone(),
            },
            Source::Running(_) => format!("{} {count}", self.verb),
        }
    }

    /// Rows taken so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Whether the rows are those of a query that runs as they are taken.
    pub fn is_query(&self) -> bool {
        matches!(self.source, Source::Running(_))
    }

    /// The settings that the query changed by `set_config`.
    pub(crate) fn changes(&self) -> Vec<SettingChange> {
        match &self.source {
            Source::Collected(..) => vec![],
            Source::Running(running) => running.catalog.changes(),
        }
    }

    /// The sequences that gave numbers out of which a crash would not know.
    fn given(&self) -> Vec<Given> {
        match &self.source {
            Source::Collected(..) => vec![],
            Source::Running(running) => running.catalog.given(),
        }
    }

    /// What cancels it; `None` when it does not run.
    pub(crate) fn cancel(&self) -> Option<&Cancel> {
        match &self.source {
            Source::Collected(..) => None,
            Source::Running(running) => Some(&running.cancel),
        }
    }

    /// It lies still until rows are asked for again: others see a session without work.
    pub(crate) fn pause(&mut self) {
        if let Source::Running(running) = &mut self.source {
            running.watched.pause();
        }
    }

    /// It goes on.
    pub(crate) fn resume(&mut self) {
        if let Source::Running(running) = &mut self.source {
            running.watched.resume();
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
        Poll::Ready(polled)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its rows were wanted no longer, which is no failure.
        self.watched.tell(None);
    }
}

impl Watched {
    fn pause(&mut self) {
        self.ran += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        if let Some(statement) = &mut self.statement {
            statement.elapsed = Some(self.ran);
            self.activity.shows(statement, false);
        }
    }

    fn resume(&mut self) {
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

impl Session {
    /// Begins a query whose rows are taken as they come; call it in a task of the database's runtime.
    ///
    /// # Errors
    /// What planning says.
    pub async fn start(&mut self, query: &Query) -> SqlResult<RowStream> {
        let cancel = self.begin();
        let planned = self.plan(query, &cancel).await;
        let (catalog, plan, planning) = match planned {
            Ok(planned) => planned,
            Err(error) => return self.activity().end(Err(error), 0),
        };
        Ok(self.start_planned(catalog, &plan, planning, cancel, None))
    }

    /// The same for a look-up that is planned already.
    pub fn start_point(&mut self, point: &PointExecution) -> RowStream {
        let (cancel, catalog) = (self.begin(), self.system_catalog());
        let (plan, access) = point.planned();
        self.start_planned(catalog, plan, Duration::ZERO, cancel, Some(access))
    }

    fn start_planned(
        &self,
        catalog: SystemCatalog,
        plan: &Arc<Plan>,
        planning: Duration,
        cancel: Cancel,
        access: Option<Access>,
    ) -> RowStream {
        let activity = self.activity().clone();
        let watch = Watch { cancel: cancel.clone(), activity: &activity };
        let run = Run::new(self.database(), catalog, plan, &self.settings, watch, planning);
        RowStream::start(run.with_access(access), activity.clone(), cancel)
    }

    /// A result lies still until its client asks for more: other statements may run meanwhile.
    pub fn pause(&mut self, rows: &mut RowStream) {
        rows.pause();
        self.listen_to(Cancel::default());
    }

    /// A result goes on, and is what a cancel request ends.
    pub fn resume(&mut self, rows: &mut RowStream) {
        rows.resume();
        if let Some(cancel) = rows.cancel() {
            self.listen_to(cancel.clone());
        }
    }

    /// Does what is left to do when the last row has been taken.
    ///
    /// # Errors
    /// What setting the settings says that the query changed, and what saving sequences says.
    pub async fn finish(&mut self, rows: &RowStream) -> SqlResult<()> {
        self.save_numbers(rows.given()).await?;
        self.apply(rows.changes())
    }
}
