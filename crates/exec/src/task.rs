//! The wrapper around every task: counts it, stops it, catches its panic, reports its end.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use plan::codegen;
use types::{SqlError, SqlResult};

use crate::limits::Whole;
use crate::notify::WaitGroup;
use crate::query::Query;
use crate::run::Run;
use crate::scope::Scope;
use crate::source::LocalFuture;

/// The tasks of one stage: what they belong to, and how many live.
pub(crate) struct TaskGroup {
    pub(crate) run: Arc<Run>,
    pub(crate) scope: Arc<Scope>,
    alive: WaitGroup,
    /// Of the expressions that each worker computes in a turn of a task.
    limits: Box<[OnceLock<Arc<Whole>>]>,
}

impl TaskGroup {
    pub(crate) fn new(run: &Arc<Run>, scope: Arc<Scope>) -> Arc<TaskGroup> {
        run.alive.add();
        let limits = (0..run.worker_count).map(|_| OnceLock::new()).collect();
        Arc::new(TaskGroup { run: Arc::clone(run), scope, alive: WaitGroup::default(), limits })
    }

    /// Waits until no task of the group is left.
    pub(crate) async fn gone(&self) {
        self.alive.wait().await;
    }

    /// Starts `make()` as a task on `worker`.
    pub(crate) fn launch<M>(self: &Arc<TaskGroup>, worker: usize, make: M)
    where
        M: FnOnce() -> LocalFuture<'static, SqlResult<()>> + Send + 'static,
    {
        let guard = TaskGuard::new(self, worker);
        if worker == runtime::worker() {
            drop(runtime::spawn(guard.task(make())));
        } else {
            drop(runtime::spawn_on(worker, move || guard.task(make())));
        }
    }

    /// Does `work` as a task of the group within the one that waits for it.
    pub(crate) async fn run_here(self: &Arc<TaskGroup>, work: LocalFuture<'static, SqlResult<()>>) {
        TaskGuard::new(self, runtime::worker()).task(work).await;
    }

    /// Starts `make()` as a task here, or on a worker that runs dry before this one has started it.
    pub(crate) fn launch_anywhere<M>(self: &Arc<TaskGroup>, make: M)
    where
        M: FnOnce() -> LocalFuture<'static, SqlResult<()>> + Send + 'static,
    {
        let mut guard = TaskGuard::new(self, runtime::worker());
        runtime::spawn_anywhere_detached(move || {
            guard.worker = runtime::worker();
            guard.task(make())
        });
    }
}

impl Drop for TaskGroup {
    fn drop(&mut self) {
        self.run.alive.done();
    }
}

/// What a task is in its group: one that lives, counted as created from the moment it is
/// made, so that a task that travels to another worker is waited for. Gives everything back when
/// dropped, wherever the task was in its life.
struct TaskGuard {
    group: Arc<TaskGroup>,
    worker: usize,
    /// Where its waker is registered, and the waker; none before the first poll.
    slot: Option<(usize, Waker)>,
    is_running: bool,
}

/// A task of a query. Ends when its work ends, when its scope is stopped (at the next suspension of
/// the work), or when it panics; an error stops the whole query, or the scope that keeps it.
struct Task {
    /// Dropped before the guard: its pins, permits and buffers are gone before the task counts as
    /// done.
    work: Option<LocalFuture<'static, SqlResult<()>>>,
    guard: TaskGuard,
}

impl TaskGuard {
    fn new(group: &Arc<TaskGroup>, worker: usize) -> TaskGuard {
        group.alive.add();
        group.run.query.progress.created(worker);
        TaskGuard { group: Arc::clone(group), worker, slot: None, is_running: false }
    }

    fn task(self, work: LocalFuture<'static, SqlResult<()>>) -> Task {
        Task { work: Some(work), guard: self }
    }

    /// Counts the beginning of a turn.
    fn resume(&mut self) {
        let progress = &self.group.run.query.progress;
        match self.slot {
            None => progress.started(self.worker),
            Some(_) => progress.resumed(self.worker),
        }
        self.is_running = true;
    }

    /// Polls its work, whose expressions are computed as long as they are wanted and there is
    /// memory for their values.
    fn polled(
        &self,
        work: Pin<&mut (dyn Future<Output = SqlResult<()>> + 'static)>,
        cx: &mut Context<'_>,
    ) -> Poll<SqlResult<()>> {
        let group = &self.group;
        let limits = group.limits[self.worker]
            .get_or_init(|| Arc::new(Whole::new(&group.run, &group.scope)));
        let query = &group.run.query;
        let polled = plan::limits::with_limits(limits.clone(), || poll_caught(query, work, cx));
        limits.values.give_back();
        polled
    }

    fn suspend(&mut self) {
        self.group.run.query.progress.suspended(self.worker);
        self.is_running = false;
    }

    /// Registers the waker, for stops.
    fn register_waker(&mut self, waker: &Waker) {
        let wakers = &self.group.run.wakers;
        match &mut self.slot {
            Some((_, known)) if known.will_wake(waker) => {}
            Some((slot, known)) => {
                known.clone_from(waker);
                wakers.replace(self.worker, *slot, waker.clone());
            }
            None => {
                let slot = wakers.enter(self.worker, waker.clone());
                self.slot = Some((slot, waker.clone()));
            }
        }
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        if !self.is_running {
            // Dropped by the runtime before its start or while suspended.
            self.resume();
        }
        if let Some((slot, _)) = self.slot.take() {
            self.group.run.wakers.leave(self.worker, slot);
        }
        self.group.run.query.progress.done(self.worker);
        self.group.alive.done();
    }
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Task { work, guard } = &mut *self;
        guard.resume();
        guard.register_waker(cx.waker());
        let result = match work {
            Some(work) if !guard.group.scope.is_stopped() => {
                match guard.polled(work.as_mut(), cx) {
                    Poll::Ready(result) => result,
                    Poll::Pending => {
                        guard.suspend();
                        return Poll::Pending;
                    }
                }
            }
            _ => Ok(()),
        };
        *work = None;
        // A stopped job ends with an error that says no more than that.
        if let Err(error) = result
            && !guard.group.scope.is_stopped()
        {
            guard.group.run.fail_in(&guard.group.scope, error);
        }
        Poll::Ready(())
    }
}

/// Polls `work`; a panic becomes XX000.
pub(crate) fn poll_caught<T>(
    query: &Query,
    work: Pin<&mut (dyn Future<Output = SqlResult<T>> + '_)>,
    cx: &mut Context<'_>,
) -> Poll<SqlResult<T>> {
    let poll = || codegen::with(query.codegen.clone(), || work.poll(cx));
    match catch_unwind(AssertUnwindSafe(poll)) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(panicked(panic.as_ref()))),
    }
}

/// XX000 with what was said.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> SqlError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    SqlError::internal(format!("a task of the query panicked: {text}"))
}
