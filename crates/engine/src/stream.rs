//! Results that stream: rows leave as the executor yields them. They wait in a queue of bounded size;
//! when it is full, the tasks that yield rows wait. So a result of any size takes little memory, and
//! who takes the rows sets the pace.

mod blocking;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use exec::{LocalFuture, batch_bytes};
use runtime::sync::{Cancel, WaitQueue};
use runtime::time::{self, Instant};
use sql::Query;
use sql::plan::{Access, Plan};
use types::{SqlError, SqlResult};

use crate::activity::{Activity, StatementActivity};
use crate::prepared::PointExecution;
use crate::query::{QueryFigures, Run, Watch};
use crate::result::ResultSet;
use crate::session::Session;
use crate::system::{Given, SettingChange, SystemCatalog};

pub(crate) use blocking::BlockingRows;

/// Bytes of rows that wait to be taken. A batch has 2048 rows at most, so some batches of narrow
/// rows, or one of wide ones: one batch always fits.
const QUEUE_BYTES_MAX: usize = 256 << 10;

/// Rows between the tasks that yield them and who takes them.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<Waiting>,
    /// Tasks with rows for which there is no room.
    full: WaitQueue,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<(RecordBatch, usize)>,
    bytes: usize,
    taker: Option<Waker>,
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the batch in, if there is room; whether it did.
    fn put(&self, batch: &mut Option<RecordBatch>, bytes: usize) -> Option<()> {
        let mut waiting = self.waiting();
        if !waiting.batches.is_empty() && waiting.bytes + bytes > QUEUE_BYTES_MAX {
            return None;
        }
        let batch = batch.take()?;
        waiting.batches.push_back((batch, bytes));
        waiting.bytes += bytes;
        let (taker, has_room) = (waiting.taker.take(), waiting.bytes < QUEUE_BYTES_MAX);
        drop(waiting);
        if let Some(taker) = taker {
            taker.wake();
        }
        if has_room {
            // What was taken may have been larger than this batch.
            self.full.wake_one();
        }
        Some(())
    }

    fn take(&self) -> Option<RecordBatch> {
        let mut waiting = self.waiting();
        let (batch, bytes) = waiting.batches.pop_front()?;
        waiting.bytes -= bytes;
        drop(waiting);
        self.full.wake_one();
        Some(batch)
    }

    /// Has the taker look again.
    fn wake_taker(&self) {
        let taker = self.waiting().taker.take();
        taker.into_iter().for_each(Waker::wake);
    }

    /// A batch, or a promise to wake the taker when there is one.
    fn poll(&self, cx: &Context<'_>) -> Option<RecordBatch> {
        let taken = self.take();
        if taken.is_none() {
            self.waiting().taker = Some(cx.waker().clone());
            // One may have come in between.
            return self.take();
        }
        taken
    }
}

/// The executor's side of the queue.
struct Entrance(Arc<Queue>);

impl exec::Output for Entrance {
    fn push<'a>(&'a self, batch: RecordBatch) -> LocalFuture<'a, SqlResult<bool>> {
        Box::pin(async move {
            if batch.num_rows() > 0 {
                let bytes = batch_bytes(&batch);
                let mut batch = Some(batch);
                self.0.full.wait(|| self.0.put(&mut batch, bytes)).await;
            }
            Ok(true)
        })
    }
}

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
    execution: Option<Pin<Box<dyn Future<Output = SqlResult<QueryFigures>>>>>,
    /// How it ended, until that is told.
    ended: Option<SqlResult<QueryFigures>>,
    queue: Arc<Queue>,
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
        let queue = Arc::new(Queue::default());
        let (schema, catalog) = (run.schema(), run.catalog());
        let execution = run.into_output(Arc::new(Entrance(queue.clone())));
        let statement = activity.statement();
        let since = Some(time::now());
        let watched =
            Watched { activity, statement, ran: Duration::ZERO, rows: 0, since, is_told: false };
        let execution: Pin<Box<dyn Future<Output = _>>> = Box::pin(execution);
        let running =
            Running { execution: Some(execution), ended: None, queue, cancel, catalog, watched };
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
        if let Some(batch) = self.queue.take() {
            return self.watched.give(batch);
        }
        if let Some(execution) = &mut self.execution
            && let Poll::Ready(result) = execution.as_mut().poll(cx)
        {
            // Its memory and its tasks are given back now.
            self.execution = None;
            self.ended = Some(result);
        }
        if let Some(batch) = self.queue.poll(cx) {
            return self.watched.give(batch);
        }
        if self.execution.is_some() {
            return Poll::Pending;
        }
        let result = self.ended.take().map_or(Ok(()), |result| result.map(drop));
        self.watched.tell(result.as_ref().err());
        Poll::Ready(result.map(|()| None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its rows were wanted no longer, which is no failure.
        self.watched.tell(None);
    }
}

impl Watched {
    fn give(&mut self, batch: RecordBatch) -> Poll<SqlResult<Option<RecordBatch>>> {
        self.rows += batch.num_rows() as u64;
        Poll::Ready(Ok(Some(batch)))
    }

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
        let planned = self.plan_in_task(query, &cancel).await;
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
