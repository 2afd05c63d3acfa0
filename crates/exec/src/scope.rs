//! What can be stopped: a query, or the part of it below a satisfied limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use types::{SqlError, SqlResult, SqlState};

use crate::notify::locked;

/// A subtree of tasks that is stopped as one. Stopping a scope stops the scopes inside it.
pub(crate) struct Scope {
    stopped: AtomicBool,
    parent: Option<Arc<Scope>>,
    /// Where errors of values stay, if they do not end the query: the first of them.
    caught: Option<Mutex<Option<SqlError>>>,
}

impl Scope {
    pub(crate) fn root() -> Arc<Scope> {
        Arc::new(Scope { stopped: AtomicBool::new(false), parent: None, caught: None })
    }

    pub(crate) fn inside(parent: &Arc<Scope>) -> Arc<Scope> {
        let parent = Some(Arc::clone(parent));
        Arc::new(Scope { stopped: AtomicBool::new(false), parent, caught: None })
    }

    /// One that keeps the errors of values to itself: perhaps nobody asks for the rows.
    pub(crate) fn catching(parent: &Arc<Scope>) -> Arc<Scope> {
        let (stopped, parent) = (AtomicBool::new(false), Some(Arc::clone(parent)));
        Arc::new(Scope { stopped, parent, caught: Some(Mutex::default()) })
    }

    /// Gives an error of a value to the next scope around that keeps such, which is returned.
    pub(crate) fn catch(&self, error: &SqlError) -> Option<&Scope> {
        let mut around = Some(self).filter(|_| is_of_value(error));
        while let Some(scope) = around {
            if let Some(caught) = &scope.caught {
                locked(caught).get_or_insert_with(|| error.clone());
                return Some(scope);
            }
            around = scope.parent.as_deref();
        }
        None
    }

    /// What work in it came to: `Err` within is an error of a value, which it has kept.
    pub(crate) fn judge<T>(&self, result: SqlResult<T>) -> SqlResult<Result<T, SqlError>> {
        let caught = self.caught.as_ref().and_then(|caught| locked(caught).clone());
        let is_wanted = !self.parent.as_ref().is_some_and(|parent| parent.is_stopped());
        match (caught, result) {
            (Some(error), _) if is_wanted => Ok(Err(error)),
            (None, Err(error)) if is_wanted && is_of_value(&error) => Ok(Err(error)),
            (_, result) => result.map(Ok),
        }
    }

    /// Whether this scope or one around it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        let mut scope = self;
        loop {
            if scope.stopped.load(Ordering::Acquire) {
                return true;
            }
            match &scope.parent {
                Some(parent) => scope = parent,
                None => return false,
            }
        }
    }

    /// Sets the flag only; [`WakerRegistry::wake_all`] makes suspended tasks see it. Returns whether
    /// this call was the first.
    pub(crate) fn set(&self) -> bool {
        !self.stopped.swap(true, Ordering::AcqRel)
    }
}

/// The result of work that was stopped from outside; never shown to a user.
pub(crate) fn halted() -> SqlError {
    SqlError::internal("the query was stopped")
}

/// Whether an error is one of a value that a row asked for: that of a subquery with two rows.
fn is_of_value(error: &SqlError) -> bool {
    error.state == SqlState::CARDINALITY_VIOLATION
}

/// The wakers of a query's living tasks, by worker, so that a stop reaches every suspended task.
pub(crate) struct WakerRegistry {
    workers: Vec<Mutex<Wakers>>,
}

#[derive(Default)]
struct Wakers {
    slots: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl WakerRegistry {
    pub(crate) fn new(worker_count: usize) -> WakerRegistry {
        WakerRegistry { workers: (0..worker_count.max(1)).map(|_| Mutex::default()).collect() }
    }

    fn of_worker(&self, worker: usize) -> &Mutex<Wakers> {
        &self.workers[worker % self.workers.len()]
    }

    /// Registers a task's waker. A task that registers *before* it looks at its scope misses no
    /// stop.
    pub(crate) fn enter(&self, worker: usize, waker: Waker) -> usize {
        let mut wakers = locked(self.of_worker(worker));
        match wakers.free.pop() {
            Some(slot) => {
                wakers.slots[slot] = Some(waker);
                slot
            }
            None => {
                wakers.slots.push(Some(waker));
                wakers.slots.len() - 1
            }
        }
    }

    pub(crate) fn replace(&self, worker: usize, slot: usize, waker: Waker) {
        locked(self.of_worker(worker)).slots[slot] = Some(waker);
    }

    pub(crate) fn leave(&self, worker: usize, slot: usize) {
        let mut wakers = locked(self.of_worker(worker));
        wakers.slots[slot] = None;
        wakers.free.push(slot);
    }

    /// Wakes every living task; those whose scope was not stopped are suspended again.
    pub(crate) fn wake_all(&self) {
        for worker in &self.workers {
            let wakers: Vec<Waker> = locked(worker).slots.iter().flatten().cloned().collect();
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}
