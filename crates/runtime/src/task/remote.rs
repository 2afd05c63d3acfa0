//! Tasks on another worker, and outputs that cross threads.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use super::unwind::panic_text;
use crate::account::Account;
use crate::account::enter::within;
use crate::inbox::{Inbox, Message};
use crate::lock::lock;
use crate::task::aborted::Aborted;
use crate::worker::{self, Shared};

enum State<T> {
    Empty,
    Waiting(Waker),
    /// A thread outside sleeps on `full`, whose call costs a system call even if nobody hears it.
    Sleeping,
    Full(Result<T, Aborted>),
    Taken,
}

struct Cell<T> {
    state: Mutex<State<T>>,
    full: Condvar,
    abort: AtomicBool,
    task: Mutex<Option<Waker>>,
}

/// The side that keeps the promise; dropped unkept, the other side learns of `Cancelled`.
pub(crate) struct Promise<T>(Arc<Cell<T>>);

/// The output of a task on another worker. Dropping it detaches the task.
pub struct RemoteHandle<T>(Arc<Cell<T>>);

/// Both ends of one output.
pub(crate) fn promise<T>() -> (Promise<T>, RemoteHandle<T>) {
    let cell = Arc::new(Cell {
        state: Mutex::new(State::Empty),
        full: Condvar::new(),
        abort: AtomicBool::new(false),
        task: Mutex::new(None),
    });
    (Promise(cell.clone()), RemoteHandle(cell))
}

impl<T> Promise<T> {
    fn keep(&self, output: Result<T, Aborted>) {
        let mut state = lock(&self.0.state);
        if matches!(*state, State::Full(_) | State::Taken) {
            return;
        }
        let before = std::mem::replace(&mut *state, State::Full(output));
        drop(state);
        match before {
            State::Sleeping => self.0.full.notify_all(),
            State::Waiting(waker) => waker.wake(),
            State::Empty | State::Full(_) | State::Taken => {}
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.keep(Err(Aborted::Cancelled));
    }
}

impl<T> RemoteHandle<T> {
    /// Has the task's future dropped instead of polled again.
    pub fn abort(&self) {
        self.0.abort.store(true, Ordering::SeqCst);
        let task = lock(&self.0.task).clone();
        if let Some(waker) = task {
            waker.wake();
        }
    }

    /// True when the output is there.
    pub fn is_finished(&self) -> bool {
        matches!(*lock(&self.0.state), State::Full(_) | State::Taken)
    }

    /// Blocks the calling ordinary thread until the output is there.
    pub(crate) fn wait(self) -> Result<T, Aborted> {
        let mut state = lock(&self.0.state);
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Full(output) => return output,
                _ => *state = State::Sleeping,
            }
            state = self.0.full.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T> Future for RemoteHandle<T> {
    type Output = Result<T, Aborted>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.0.state);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Full(output) => Poll::Ready(output),
            State::Taken => panic!("a RemoteHandle was polled after its output was taken"),
            old @ (State::Empty | State::Waiting(_) | State::Sleeping) => {
                *state = State::Waiting(cx.waker().clone());
                drop(state);
                drop(old);
                Poll::Pending
            }
        }
    }
}

/// Whether a thread outside sleeps until the task is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A `block_on`: a simulation runs as long as there is one.
    Awaited,
    Free,
}

/// Counts a `block_on` while it lives. It begins on the worker, so that a simulation never sees a
/// job whose task has not arrived.
struct Job(Arc<Shared>);

impl Job {
    fn begin(shared: &Arc<Shared>) -> Job {
        shared.job_count.fetch_add(1, Ordering::SeqCst);
        Job(shared.clone())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.0.job_count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs a future to its end, its panic or its abortion, and keeps the promise.
async fn fulfil<T, F: Future<Output = T>>(
    promise: Promise<T>,
    job: Option<Job>,
    make: impl FnOnce() -> F,
) {
    let cell = promise.0.clone();
    let output = {
        if cell.abort.load(Ordering::SeqCst) {
            return;
        }
        let mut future = match catch_unwind(AssertUnwindSafe(make)) {
            Ok(future) => pin!(future),
            Err(panic) => return promise.keep(Err(Aborted::Panicked(panic_text(&*panic)))),
        };
        std::future::poll_fn(|cx| {
            *lock(&cell.task) = Some(cx.waker().clone());
            if cell.abort.load(Ordering::SeqCst) {
                return Poll::Ready(Err(Aborted::Cancelled));
            }
            match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
                Err(panic) => Poll::Ready(Err(Aborted::Panicked(panic_text(&*panic)))),
            }
        })
        .await
    };
    // First: who gets the output must find the simulation standing still.
    drop(job);
    promise.keep(output);
}

/// Sends a task to a worker; false when that worker has ended.
pub(crate) fn send_task<T: Send + 'static, F: Future<Output = T> + 'static>(
    inbox: &Inbox,
    account: Option<Arc<Account>>,
    urgency: Urgency,
    promise: Promise<T>,
    make: impl FnOnce() -> F + Send + 'static,
) -> bool {
    inbox.send(Message::Run(Box::new(move || {
        worker::with(|w| {
            let job = (urgency == Urgency::Awaited).then(|| Job::begin(&w.shared));
            within(w, account, || w.spawn_as::<F, _>(fulfil(promise, job, make), false));
        });
    })))
}

/// Starts a task on the given worker, under the current account. `make` runs there, so that the
/// future itself need not be `Send`.
///
/// # Panics
/// Outside of a task, and when `worker` is not below [`crate::worker_count`].
pub fn spawn_on<F: Future<Output = T> + 'static, T: Send + 'static>(
    worker: usize,
    make: impl FnOnce() -> F + Send + 'static,
) -> RemoteHandle<T> {
    let (promise, handle) = promise();
    worker::with(|w| {
        let inbox = &w.shared.inboxes[worker];
        send_task(inbox, w.current_account(), Urgency::Free, promise, make);
    });
    handle
}

/// Starts a task here or, when this worker has more unstarted tasks than it can start soon, on one
/// that is about to sleep; under the current account, and at the same turn as [`crate::spawn`]
/// would. Once started it stays where it is. `make` runs there, so that the future itself need not
/// be `Send`. A task that is aborted before its start is dropped at its turn, `make` not called.
///
/// # Panics
/// Outside of a task.
pub fn spawn_anywhere<F: Future<Output = T> + 'static, T: Send + 'static>(
    make: impl FnOnce() -> F + Send + 'static,
) -> RemoteHandle<T> {
    let (promise, handle) = promise();
    worker::with(|w| {
        let account = w.current_account();
        w.keep(Box::new(move || start_here(account, promise, make)));
    });
    handle
}

/// As [`spawn_anywhere`], for a task whose end nobody waits for and that cannot be aborted: at less
/// than half the cost. A panic ends it unheard.
///
/// # Panics
/// Outside of a task.
pub fn spawn_anywhere_detached<F: Future<Output = ()> + 'static>(
    make: impl FnOnce() -> F + Send + 'static,
) {
    worker::with(|w| {
        let account = w.current_account();
        w.keep(Box::new(move || {
            worker::with(|w| {
                let task = within(w, account, || w.place::<F, _>(make(), false));
                w.poll_task(task);
            });
        }));
    });
}

fn start_here<T: Send + 'static, F: Future<Output = T> + 'static>(
    account: Option<Arc<Account>>,
    promise: Promise<T>,
    make: impl FnOnce() -> F + Send + 'static,
) {
    worker::with(|w| {
        let task = within(w, account, || w.place::<F, _>(fulfil(promise, None, make), false));
        w.poll_task(task);
    });
}
