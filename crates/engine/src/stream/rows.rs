//! The rows of a query that runs as they are taken.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use exec::{LocalFuture, batch_bytes};
use runtime::sync::WaitQueue;
use types::SqlResult;

use crate::figures::QueryFigures;
use crate::query::Run;

/// Bytes of rows that wait to be taken. A batch has 2048 rows at most, so some batches of narrow
/// rows, or one of wide ones: one batch always fits.
const QUEUE_BYTES_MAX: usize = 256 << 10;

/// Rows between the tasks that yield them and who takes them.
#[derive(Default)]
struct Queue {
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

/// A query whose rows are taken in the task that began it. Dropping it ends the query.
pub(crate) struct QueryRows {
    pub(crate) schema: SchemaRef,
    execution: Option<Pin<Box<dyn Future<Output = SqlResult<QueryFigures>>>>>,
    /// How it ended, until that is told.
    ended: Option<SqlResult<QueryFigures>>,
    figures: Option<QueryFigures>,
    queue: Arc<Queue>,
}

impl QueryRows {
    /// Begins to run a query; nothing happens before rows are asked for.
    pub(crate) fn start(run: Run) -> QueryRows {
        let (queue, schema) = (Arc::new(Queue::default()), run.schema());
        let execution = run.into_output(Arc::new(Entrance(queue.clone())));
        let execution: Pin<Box<dyn Future<Output = _>>> = Box::pin(execution);
        QueryRows { schema, execution: Some(execution), ended: None, figures: None, queue }
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// The query's, once the rows before it are taken.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`QueryRows::next`], for those who wait for something else too.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<SqlResult<Option<RecordBatch>>> {
        if let Some(batch) = self.queue.take() {
            return Poll::Ready(Ok(Some(batch)));
        }
        if let Some(execution) = &mut self.execution
            && let Poll::Ready(result) = execution.as_mut().poll(cx)
        {
            // Its memory and its tasks are given back now.
            self.execution = None;
            self.ended = Some(result);
        }
        if let Some(batch) = self.queue.poll(cx) {
            return Poll::Ready(Ok(Some(batch)));
        }
        if self.execution.is_some() {
            return Poll::Pending;
        }
        if let Some(ended) = self.ended.take() {
            self.figures = Some(ended?);
        }
        Poll::Ready(Ok(None))
    }

    /// What it took, once the end of the rows was told.
    pub(crate) fn figures(&mut self) -> Option<QueryFigures> {
        self.figures.take()
    }
}
