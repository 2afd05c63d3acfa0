//! Two ways for a task to be suspended until another one, perhaps on another worker, wants it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Locks a mutex whose data stays valid when a panic is caught elsewhere: the query fails anyway.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers one notification until the one task that waits has it.
#[derive(Default)]
pub(crate) struct Notify {
    state: Mutex<NotifyState>,
}

#[derive(Default)]
struct NotifyState {
    is_notified: bool,
    waiting: Option<Waker>,
}

impl Notify {
    /// Resumes the task that waits, now or when it next does.
    pub(crate) fn notify(&self) {
        let waiting = {
            let mut state = locked(&self.state);
            state.is_notified = true;
            state.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Waits to be notified; one task only.
    pub(crate) async fn notified(&self) {
        poll_fn(|cx| {
            let mut state = locked(&self.state);
            if std::mem::take(&mut state.is_notified) {
                return Poll::Ready(());
            }
            state.waiting = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Counts what lives (the tasks of a stage, the stages of a query); one task waits for the end of all.
#[derive(Default)]
pub(crate) struct WaitGroup {
    count: AtomicUsize,
    notify: Notify,
}

impl WaitGroup {
    pub(crate) fn add(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn done(&self) {
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.notify.notify();
        }
    }

    /// Waits until the count is zero. Who adds to it must be counted already, or be the task that waits.
    pub(crate) async fn wait(&self) {
        while self.count.load(Ordering::Acquire) != 0 {
            self.notify.notified().await;
        }
    }
}
