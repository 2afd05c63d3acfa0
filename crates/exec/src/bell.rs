//! Two ways for a task to sleep until another one, perhaps on another worker, wants it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Locks a mutex whose data stays valid when a panic is caught elsewhere: the query fails anyway.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers one ring until the one listener hears it.
#[derive(Default)]
pub(crate) struct Bell {
    state: Mutex<BellState>,
}

#[derive(Default)]
struct BellState {
    rung: bool,
    listener: Option<Waker>,
}

impl Bell {
    /// Wakes the listener, now or when it next listens.
    pub(crate) fn ring(&self) {
        let listener = {
            let mut state = locked(&self.state);
            state.rung = true;
            state.listener.take()
        };
        if let Some(waker) = listener {
            waker.wake();
        }
    }

    /// Sleeps until rung; one listener only.
    pub(crate) async fn heard(&self) {
        poll_fn(|cx| {
            let mut state = locked(&self.state);
            if std::mem::take(&mut state.rung) {
                return Poll::Ready(());
            }
            state.listener = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Counts what lives (the tasks of a stage, the stages of a query); its one listener waits for the
/// end of all.
#[derive(Default)]
pub(crate) struct Latch {
    count: AtomicUsize,
    bell: Bell,
}

impl Latch {
    pub(crate) fn enter(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn leave(&self) {
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.bell.ring();
        }
    }

    /// Waits until the count is zero. Who enters must be inside already, or be the listener.
    pub(crate) async fn empty(&self) {
        while self.count.load(Ordering::Acquire) != 0 {
            self.bell.heard().await;
        }
    }
}
