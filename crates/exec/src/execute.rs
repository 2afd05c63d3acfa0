//! One execution of a plan, from start to its last task's end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use plan::Plan;
use types::{SqlError, SqlResult};

use crate::cte;
use crate::drive::drive;
use crate::limits::Whole;
use crate::query::{Output, Query};
use crate::run::Run;
use crate::source::{LocalFuture, Tables};
use crate::stage::Tail;
use crate::target::Target;
use crate::task::poll_caught;

/// Stops what is left when the caller drops the execution.
struct StopWhenDropped(Arc<Run>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stop(&self.0.root);
    }
}

/// Runs `plan` and pushes its rows to `output`. Call it in a task of any worker: its pipelines use
/// all of them. Returns when no task of the query is left, whatever the outcome; the first error
/// of any task is the result (57014 when the query was cancelled, XX000 when a task panicked).
///
/// Dropping the future stops the query too; its tasks then end on their own.
pub async fn execute(
    plan: Arc<Plan>,
    tables: Arc<dyn Tables>,
    query: Arc<Query>,
    output: Arc<dyn Output>,
) -> SqlResult<()> {
    if query.cancel.is_cancelled() {
        return Err(SqlError::cancelled());
    }
    let run = Arc::new(Run::new(query, tables));
    let _stop = StopWhenDropped(Arc::clone(&run));
    let result = watched(&run, &plan, output).await;
    // Nothing is left after success; after a panic of this coordinator something may be.
    run.stop(&run.root);
    run.alive.wait().await;
    match run.take_error() {
        Some(error) => Err(error),
        None => result,
    }
}

/// Does work of the coordinator within limits, if there are some.
fn within<T>(limits: &Option<Arc<Whole>>, work: impl FnOnce() -> T) -> T {
    let Some(limits) = limits else { return work() };
    let done = plan::limits::with_limits(limits.clone(), work);
    limits.values.give_back();
    done
}

/// Drives the plan while listening for a cancel.
async fn watched(run: &Arc<Run>, plan: &Plan, output: Arc<dyn Output>) -> SqlResult<()> {
    let tail = Tail { ops: vec![], target: Target::output(&plan.root, output) };
    let mut work: LocalFuture<'_, SqlResult<()>> = Box::pin(async {
        cte::put_away(run, plan).await?;
        drive(run, &plan.root, Arc::clone(&run.root), tail).await
    });
    let query = Arc::clone(&run.query);
    let mut cancelled = pin!(query.cancel.cancelled());
    let mut listening = true;
    // Expressions over whole groups are computed here, and may have parameters in them.
    let limits = query.bindings.is_some().then(|| Arc::new(Whole::new(run, &run.root)));
    let result = poll_fn(|cx| {
        if listening && cancelled.as_mut().poll(cx).is_ready() {
            listening = false;
            run.fail(SqlError::cancelled());
        }
        within(&limits, || poll_caught(&run.query, work.as_mut(), cx))
    })
    .await;
    match result {
        // The output wanted no more: that is how it ends, not an error.
        Err(_) if run.root.is_stopped() => Ok(()),
        other => other,
    }
}
