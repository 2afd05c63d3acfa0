//! The wrapper around every task: counts it, stops it, catches its panic, reports its end.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use types::{SqlError, SqlResult};

use crate::bell::Latch;
use crate::run::Run;
use crate::scope::Scope;
use crate::source::LocalFuture;

/// A task of a query. Ends when its work ends, when its scope is stopped (at the next suspension of
/// the work), or when it panics; an error stops the whole query.
pub(crate) struct Task {
    run: Arc<Run>,
    scope: Arc<Scope>,
    latch: Arc<Latch>,
    work: Option<LocalFuture<'static, SqlResult<()>>>,
    worker: usize,
    bed: Option<(usize, Waker)>,
}

/// The right to start one task: entered into the latch and counted as created, so that a task that
/// travels to another worker is waited for from the moment it is sent.
pub(crate) struct Birth {
    run: Arc<Run>,
    scope: Arc<Scope>,
    latch: Arc<Latch>,
    worker: usize,
    used: bool,
}

impl Birth {
    pub(crate) fn new(
        run: &Arc<Run>,
        scope: &Arc<Scope>,
        latch: &Arc<Latch>,
        worker: usize,
    ) -> Birth {
        latch.enter();
        run.alive.enter();
        run.query.progress.created(worker);
        Birth {
            run: Arc::clone(run),
            scope: Arc::clone(scope),
            latch: Arc::clone(latch),
            worker,
            used: false,
        }
    }

    /// The task that does `work`.
    pub(crate) fn task(mut self, work: LocalFuture<'static, SqlResult<()>>) -> Task {
        self.used = true;
        Task {
            run: Arc::clone(&self.run),
            scope: Arc::clone(&self.scope),
            latch: Arc::clone(&self.latch),
            work: Some(work),
            worker: self.worker,
            bed: None,
        }
    }
}

impl Drop for Birth {
    fn drop(&mut self) {
        if !self.used {
            // Never became a task (the runtime is shutting down): count it as run and ended.
            self.run.query.progress.started(self.worker);
            self.run.query.progress.done(self.worker);
            self.latch.leave();
            self.run.alive.leave();
        }
    }
}

/// Starts `make()` as a task of `scope` on `worker`.
pub(crate) fn launch<M>(
    run: &Arc<Run>,
    scope: &Arc<Scope>,
    latch: &Arc<Latch>,
    worker: usize,
    make: M,
) where
    M: FnOnce() -> LocalFuture<'static, SqlResult<()>> + Send + 'static,
{
    let birth = Birth::new(run, scope, latch, worker);
    if worker == runtime::worker() {
        drop(runtime::spawn(birth.task(make())));
    } else {
        drop(runtime::spawn_on(worker, move || birth.task(make())));
    }
}

impl Task {
    fn lie_down(&mut self, waker: &Waker) {
        match &mut self.bed {
            Some((_, known)) if known.will_wake(waker) => {}
            Some((bed, known)) => {
                known.clone_from(waker);
                self.run.sleepers.replace(self.worker, *bed, waker.clone());
            }
            None => {
                let bed = self.run.sleepers.enter(self.worker, waker.clone());
                self.bed = Some((bed, waker.clone()));
            }
        }
    }

    fn end(&mut self, result: SqlResult<()>) -> Poll<()> {
        // Drop the work first: its pins, permits and buffers are gone before the task counts as
        // done.
        self.work = None;
        if let Err(error) = result {
            self.run.fail(error);
        }
        Poll::Ready(())
    }
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let progress = Arc::clone(&self.run.query.progress);
        match self.bed {
            None => progress.started(self.worker),
            Some(_) => progress.resumed(self.worker),
        }
        self.lie_down(cx.waker());
        if self.scope.is_stopped() {
            return self.end(Ok(()));
        }
        let Some(work) = &mut self.work else { return Poll::Ready(()) };
        match poll_caught(work.as_mut(), cx) {
            Poll::Ready(result) => self.end(result),
            Poll::Pending => {
                progress.suspended(self.worker);
                Poll::Pending
            }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let aborted = self.work.take().is_some();
        let progress = &self.run.query.progress;
        match &self.bed {
            // Dropped by the runtime while suspended or before its start: balance the counters.
            None => progress.started(self.worker),
            Some(_) if aborted => progress.resumed(self.worker),
            Some(_) => {}
        }
        if let Some((bed, _)) = self.bed.take() {
            self.run.sleepers.leave(self.worker, bed);
        }
        progress.done(self.worker);
        self.latch.leave();
        self.run.alive.leave();
    }
}

/// Polls `work`; a panic becomes XX000.
pub(crate) fn poll_caught<T>(
    work: Pin<&mut (dyn Future<Output = SqlResult<T>> + '_)>,
    cx: &mut Context<'_>,
) -> Poll<SqlResult<T>> {
    match catch_unwind(AssertUnwindSafe(|| work.poll(cx))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(panicked(panic.as_ref()))),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> SqlError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    SqlError::internal(format!("a task of the query panicked: {text}"))
}
