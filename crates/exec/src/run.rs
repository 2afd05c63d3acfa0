//! One execution of a plan, from start to its last task's end.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use sql::plan::{Node, Plan};
use types::{SqlError, SqlResult};

use crate::cte::{self, PutAway};
use crate::drive::drive;
use crate::memory::Reservation;
use crate::notify::{WaitGroup, locked};
use crate::policy::{Driving, Policy};
use crate::query::{Output, Query};
use crate::scope::{Scope, WakerRegistry};
use crate::sink::Target;
use crate::source::{LocalFuture, Tables};
use crate::spill::Spill;
use crate::stage::Tail;
use crate::task::poll_caught;
use crate::workspace::Workspace;

/// What all tasks of a query share.
pub(crate) struct Run {
    pub(crate) query: Arc<Query>,
    pub(crate) tables: Arc<dyn Tables>,
    pub(crate) policy: Policy,
    pub(crate) worker_count: usize,
    pub(crate) root: Arc<Scope>,
    pub(crate) wakers: WakerRegistry,
    /// All crews of which a task may live.
    pub(crate) alive: WaitGroup,
    /// Where operators spill to.
    pub(crate) spill: Arc<Spill>,
    /// The rows of the last round of each recursion, by the number of its node.
    pub(crate) work_tables: Mutex<HashMap<usize, RecordBatch>>,
    /// The rows of the queries that are computed once, by their numbers.
    pub(crate) queries: Mutex<HashMap<usize, SqlResult<Arc<PutAway>>>>,
    error: Mutex<Option<SqlError>>,
}

impl Run {
    /// The means of the operator `name` at `node`.
    pub(crate) fn workspace(&self, node: &Node, name: &'static str) -> Workspace {
        let lanes = match self.policy.driving(false) {
            Driving::One => 1,
            Driving::Runs(_) | Driving::Shared => self.worker_count,
        };
        Workspace {
            memory: self.reserve(node, name),
            spill: Arc::clone(&self.spill),
            progress: Arc::clone(&self.query.progress),
            node: node.id,
            depth: self.policy.depth(),
            worker_count: self.worker_count,
            lanes,
            batch_rows: self.query.batch_rows.max(1),
        }
    }

    /// A reservation for the operator `name` at `node`.
    pub(crate) fn reserve(&self, node: &Node, name: &'static str) -> Arc<Reservation> {
        let node = (Arc::clone(&self.query.progress), node.id);
        self.query.memory.reserve_for(name, Some(node))
    }

    /// Ends the query with `error`, unless another came first.
    pub(crate) fn fail(&self, error: SqlError) {
        locked(&self.error).get_or_insert(error);
        self.stop(&self.root);
    }

    /// Ends what has failed in `scope`: the query, or as much of it as keeps its errors to itself.
    pub(crate) fn fail_in(&self, scope: &Scope, error: SqlError) {
        match scope.catch(&error) {
            Some(catching) => self.stop(catching),
            None => self.fail(error),
        }
    }

    /// Stops all tasks of `scope`: each ends at its next suspension, the suspended ones now.
    pub(crate) fn stop(&self, scope: &Scope) {
        if scope.set() {
            self.wakers.wake_all();
        }
    }
}

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
    let worker_count = runtime::worker_count();
    let run = Arc::new(Run {
        policy: Policy::new(query.mode),
        worker_count,
        root: Scope::root(),
        wakers: WakerRegistry::new(worker_count),
        alive: WaitGroup::default(),
        spill: Arc::new(Spill::new(query.spill_path.clone())),
        work_tables: Mutex::default(),
        queries: Mutex::default(),
        error: Mutex::new(None),
        query,
        tables,
    });
    let _stop = StopWhenDropped(Arc::clone(&run));
    let result = watched(&run, &plan, output).await;
    // Nothing is left after success; after a panic of this coordinator something may be.
    run.stop(&run.root);
    run.alive.wait().await;
    match locked(&run.error).take() {
        Some(error) => Err(error),
        None => result,
    }
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
    let result = poll_fn(|cx| {
        if listening && cancelled.as_mut().poll(cx).is_ready() {
            listening = false;
            run.fail(SqlError::cancelled());
        }
        poll_caught(work.as_mut(), cx)
    })
    .await;
    match result {
        // The output wanted no more: that is how it ends, not an error.
        Err(_) if run.root.is_stopped() => Ok(()),
        other => other,
    }
}
