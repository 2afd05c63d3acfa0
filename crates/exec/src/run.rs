//! What the tasks of one execution share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use plan::Node;
use types::{SqlError, SqlResult};

use crate::memory::Reservation;
use crate::notify::{WaitGroup, locked};
use crate::policy::{Driving, Policy};
use crate::put_away::PutAway;
use crate::query::Query;
use crate::scope::{Scope, WakerRegistry};
use crate::source::Tables;
use crate::spill::Spill;
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
    pub(crate) fn new(query: Arc<Query>, tables: Arc<dyn Tables>) -> Run {
        let worker_count = runtime::worker_count();
        Run {
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
        }
    }

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

    /// Takes the first error of any task, which ends the query.
    pub(crate) fn take_error(&self) -> Option<SqlError> {
        locked(&self.error).take()
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
