//! Where a pipeline's rows go.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sql::plan::Node;
use types::{SqlError, SqlResult};

use crate::batch;
use crate::notify::locked;
use crate::query::Output;
use crate::run::Run;
use crate::source::LocalFuture;
use crate::stage::{busy, timed};

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

/// One value per worker. Only its worker locks it while a pipeline runs, so locks never wait.
pub(crate) struct Locals<T> {
    workers: Vec<Mutex<T>>,
}

impl<T: Default> Locals<T> {
    pub(crate) fn new(worker_count: usize) -> Locals<T> {
        Locals { workers: (0..worker_count.max(1)).map(|_| Mutex::default()).collect() }
    }

    pub(crate) fn of(&self, worker: usize) -> MutexGuard<'_, T> {
        locked(&self.workers[worker])
    }

    /// Takes all values, in the order of workers.
    pub(crate) fn take(&self) -> Vec<T> {
        self.workers.iter().map(|w| std::mem::take(&mut *locked(w))).collect()
    }
}

/// The end of a pipeline.
#[derive(Clone)]
pub(crate) enum Target {
    /// A sink of the pipeline breaker `node`; `ordered` when it keeps the order of its input.
    Sink { sink: Arc<dyn Sink>, node: usize, ordered: bool },
    /// The caller.
    Output { output: Arc<dyn Output>, schema: SchemaRef },
}

impl Target {
    pub(crate) fn output(root: &Node, output: Arc<dyn Output>) -> Target {
        Target::Output { output, schema: batch::relaxed(&root.schema) }
    }

    pub(crate) fn unordered(node: &Node, sink: Arc<dyn Sink>) -> Target {
        Target::Sink { sink, node: node.id, ordered: false }
    }

    /// Whether an ordered source must stay in order.
    pub(crate) fn order_matters(&self) -> bool {
        match self {
            Target::Sink { ordered, .. } => *ordered,
            Target::Output { .. } => true,
        }
    }

    /// Rows that are best given at once.
    pub(crate) fn rows_at_once(&self) -> usize {
        match self {
            Target::Sink { sink, .. } => sink.rows_at_once(),
            Target::Output { .. } => usize::MAX,
        }
    }

    /// Takes a batch; an output that wants no more stops the query.
    pub(crate) async fn push(&self, run: &Run, batch: RecordBatch) -> SqlResult<()> {
        match self {
            Target::Sink { sink, node, .. } => {
                push(sink.as_ref(), &run.query.progress.node(*node).busy_ns, batch).await
            }
            Target::Output { output, schema } => {
                if !output.push(batch::retitle(&batch, schema)?).await? {
                    run.stop(&run.root);
                }
                Ok(())
            }
        }
    }
}

/// The result of work that was stopped from outside; never shown to a user.
pub(crate) fn halted() -> SqlError {
    SqlError::internal("the query was stopped")
}
