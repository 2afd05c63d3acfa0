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

/// The tasks of one stage: what they belong to, and how many live.
pub(crate) struct Crew {
    pub(crate) run: Arc<Run>,
    pub(crate) scope: Arc<Scope>,
    latch: Latch,
}

impl Crew {
    pub(crate) fn new(run: &Arc<Run>, scope: Arc<Scope>) -> Arc<Crew> {
        run.alive.enter();
        Arc::new(Crew { run: Arc::clone(run), scope, latch: Latch::default() })
    }

    /// Waits until no task of the crew is left.
    pub(crate) async fn gone(&self) {
        self.latch.empty().await;
    }

    /// Starts `make()` as a task on `worker`.
    pub(crate) fn launch<M>(self: &Arc<Crew>, worker: usize, make: M)
    where
        M: FnOnce() -> LocalFuture<'static, SqlResult<()>> + Send + 'static,
    {
        let seat = Seat::new(self, worker);
        if worker == runtime::worker() {
            drop(runtime::spawn(seat.task(make())));
        } else {
            drop(runtime::spawn_on(worker, move || seat.task(make())));
        }
    }

    /// Starts `make()` as a task here, or on a worker that runs dry before this one has started it.
    pub(crate) fn launch_anywhere<M>(self: &Arc<Crew>, make: M)
    where
        M: FnOnce() -> LocalFuture<'static, SqlResult<()>> + Send + 'static,
    {
        let mut seat = Seat::new(self, runtime::worker());
        runtime::spawn_anywhere_detached(move || {
            seat.worker = runtime::worker();
            seat.task(make())
        });
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.run.alive.leave();
    }
}

/// A task's place in its crew: entered into the latch and counted as created from the moment it is
/// made, so that a task that travels to another worker is waited for. Gives everything back when
/// dropped, wherever the task was in its life.
struct Seat {
    crew: Arc<Crew>,
    worker: usize,
    /// Where its waker is registered, and the waker; none before the first poll.
    bed: Option<(usize, Waker)>,
    is_running: bool,
}

/// A task of a query. Ends when its work ends, when its scope is stopped (at the next suspension of
/// the work), or when it panics; an error stops the whole query, or the scope that keeps it.
struct Task {
    /// Dropped before the seat: its pins, permits and buffers are gone before the task counts as
    /// done.
    work: Option<LocalFuture<'static, SqlResult<()>>>,
    seat: Seat,
}

impl Seat {
    fn new(crew: &Arc<Crew>, worker: usize) -> Seat {
        crew.latch.enter();
        crew.run.query.progress.created(worker);
        Seat { crew: Arc::clone(crew), worker, bed: None, is_running: false }
    }

    fn task(self, work: LocalFuture<'static, SqlResult<()>>) -> Task {
        Task { work: Some(work), seat: self }
    }

    /// Counts the beginning of a turn.
    fn wake_up(&mut self) {
        let progress = &self.crew.run.query.progress;
        match self.bed {
            None => progress.started(self.worker),
            Some(_) => progress.resumed(self.worker),
        }
        self.is_running = true;
    }

    fn suspend(&mut self) {
        self.crew.run.query.progress.suspended(self.worker);
        self.is_running = false;
    }

    /// Registers the waker, for stops.
    fn lie_down(&mut self, waker: &Waker) {
        let sleepers = &self.crew.run.sleepers;
        match &mut self.bed {
            Some((_, known)) if known.will_wake(waker) => {}
            Some((bed, known)) => {
                known.clone_from(waker);
                sleepers.replace(self.worker, *bed, waker.clone());
            }
            None => {
                let bed = sleepers.enter(self.worker, waker.clone());
                self.bed = Some((bed, waker.clone()));
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.is_running {
            // Dropped by the runtime before its start or while suspended.
            self.wake_up();
        }
        if let Some((bed, _)) = self.bed.take() {
            self.crew.run.sleepers.leave(self.worker, bed);
        }
        self.crew.run.query.progress.done(self.worker);
        self.crew.latch.leave();
    }
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Task { work, seat } = &mut *self;
        seat.wake_up();
        seat.lie_down(cx.waker());
        let result = match work {
            Some(work) if !seat.crew.scope.is_stopped() => match poll_caught(work.as_mut(), cx) {
                Poll::Ready(result) => result,
                Poll::Pending => {
                    seat.suspend();
                    return Poll::Pending;
                }
            },
            _ => Ok(()),
        };
        *work = None;
        if let Err(error) = result {
            seat.crew.run.fail_in(&seat.crew.scope, error);
        }
        Poll::Ready(())
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
