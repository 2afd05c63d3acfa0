//! The rows of a query for an ordinary thread, which blocks while there are none.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use arrow_array::RecordBatch;
use runtime::Handle;
use runtime::sync::Cancel;
use types::SqlResult;

use super::{Entrance, Queue};
use crate::database::Database;
use crate::query::Run;

/// A query whose rows an ordinary thread takes. Dropping it ends the query.
pub(crate) struct BlockingRows {
    handle: Handle,
    queue: Arc<Queue>,
    cancel: Cancel,
    ended: Arc<Mutex<Option<SqlResult<()>>>>,
}

impl BlockingRows {
    /// Begins to run a query.
    pub(crate) fn start(db: &Database, run: Run, cancel: Cancel) -> BlockingRows {
        let (queue, handle) = (Arc::new(Queue::default()), db.handle());
        let ended: Arc<Mutex<Option<SqlResult<()>>>> = Arc::default();
        let (entrance, theirs) = (queue.clone(), ended.clone());
        drop(handle.spawn_on(0, move || async move {
            let result = run.into_output(Arc::new(Entrance(entrance.clone()))).await;
            *theirs.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.map(drop));
            entrance.wake_taker();
        }));
        BlockingRows { handle, queue, cancel, ended }
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// The query's.
    pub(crate) fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        let (queue, ended) = (self.queue.clone(), self.ended.clone());
        self.handle.block_on(move || {
            poll_fn(move |cx| {
                // Looked at first: what comes before the end is taken before the end is told.
                let result = ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
                match (queue.poll(cx), result) {
                    (Some(batch), _) => Poll::Ready(Ok(Some(batch))),
                    (None, Some(result)) => Poll::Ready(result.map(|()| None)),
                    (None, None) => Poll::Pending,
                }
            })
        })
    }
}

impl Drop for BlockingRows {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
