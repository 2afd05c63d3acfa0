//! What takes the rows of a pipeline inside the engine.

use std::sync::atomic::AtomicU64;

use arrow_array::RecordBatch;
use types::{SqlError, SqlResult};

use crate::source::LocalFuture;
use crate::timing::{busy, timed};

/// The end of a pipeline inside the engine. Each worker pushes into its own local state; the owner
/// of the sink combines the locals and finishes when all tasks of the pipeline have ended.
pub(crate) trait Sink: Send + Sync {
    /// Adds rows to the state of `worker`, which must be the calling worker. Gives them back when
    /// there is no memory for them before [`Sink::relieve`].
    fn push(&self, worker: usize, batch: RecordBatch) -> SqlResult<Option<RecordBatch>>;

    /// Rows that are best given at once: others can have their turn before the next.
    fn rows_at_once(&self) -> usize {
        usize::MAX
    }

    /// Spills what `worker`, the calling one, has gathered.
    fn relieve<'a>(&'a self, worker: usize) -> LocalFuture<'a, SqlResult<()>>;
}

/// Adds rows to a sink, which spills as often as it must.
pub(crate) async fn push(sink: &dyn Sink, busy_ns: &AtomicU64, rows: RecordBatch) -> SqlResult<()> {
    let worker = runtime::worker();
    let mut refused = timed(busy_ns, || sink.push(worker, rows))?;
    while let Some(rows) = refused {
        busy(busy_ns, sink.relieve(worker)).await?;
        refused = timed(busy_ns, || sink.push(worker, rows))?;
    }
    Ok(())
}

/// The answer of a sink that never gives rows back.
pub(crate) fn cannot_spill<'a>() -> LocalFuture<'a, SqlResult<()>> {
    Box::pin(async { Err(SqlError::internal("an operator without a spill was asked for one")) })
}
