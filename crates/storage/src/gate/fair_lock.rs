//! A fair lock for tasks: shared by many, or exclusively one's own; first come, first served.
//!
//! Writers share it and a checkpoint has it exclusively; so a checkpoint that waits is not overtaken
//! for ever.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stdx::sync::{Mutex, MutexGuard};

/// The lock. Waiting for it suspends the task.
#[derive(Default)]
pub(crate) struct FairLock {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    shares: usize,
    exclusive: bool,
    queue: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    exclusive: bool,
    state: Mutex<WaiterState>,
}

#[derive(Default)]
struct WaiterState {
    admitted: bool,
    waker: Option<Waker>,
}

/// A share of the lock, or all of it, until it is dropped.
pub(crate) struct FairGuard<'t> {
    lock: &'t FairLock,
    exclusive: bool,
}

impl FairLock {
    pub fn new() -> FairLock {
        FairLock::default()
    }

    /// Takes it together with others.
    pub fn shared(&self) -> Enter<'_> {
        self.enter(false)
    }

    /// Takes it together with others, `None` if that takes waiting.
    pub fn try_shared(&self) -> Option<FairGuard<'_>> {
        let mut inner = self.inner.lock().expect("fair lock");
        if !inner.queue.is_empty() || !inner.may_enter(false) {
            return None;
        }
        inner.count_in(false);
        Some(FairGuard { lock: self, exclusive: false })
    }

    /// Takes it when everybody else has given it back.
    pub fn exclusive(&self) -> Enter<'_> {
        self.enter(true)
    }

    fn enter(&self, exclusive: bool) -> Enter<'_> {
        Enter { lock: self, exclusive, waiter: None }
    }

    fn leave(&self, exclusive: bool) {
        let mut inner = self.inner.lock().expect("fair lock");
        if exclusive {
            assert!(inner.exclusive, "nobody has it exclusively");
            inner.exclusive = false;
        } else {
            assert!(inner.shares > 0, "nobody shares it");
            inner.shares -= 1;
        }
        self.admit(inner);
    }

    /// Lets in from the head of the queue whoever may have it with those who do.
    fn admit(&self, mut inner: MutexGuard<'_, Inner>) {
        let mut admitted = Vec::new();
        while let Some(first) = inner.queue.front() {
            if !inner.may_enter(first.exclusive) {
                break;
            }
            let waiter = inner.queue.pop_front().expect("the queue has a first");
            inner.count_in(waiter.exclusive);
            waiter.state.lock().expect("waiter").admitted = true;
            admitted.push(waiter);
        }
        drop(inner);
        for waiter in admitted {
            let waker = waiter.state.lock().expect("waiter").waker.take();
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl Inner {
    fn may_enter(&self, exclusive: bool) -> bool {
        !self.exclusive && (!exclusive || self.shares == 0)
    }

    fn count_in(&mut self, exclusive: bool) {
        assert!(self.may_enter(exclusive), "the lock is taken");
        if exclusive {
            self.exclusive = true;
        } else {
            self.shares += 1;
        }
    }
}

/// Waits for the lock.
pub(crate) struct Enter<'t> {
    lock: &'t FairLock,
    exclusive: bool,
    waiter: Option<Arc<Waiter>>,
}

impl<'t> Future for Enter<'t> {
    type Output = FairGuard<'t>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<FairGuard<'t>> {
        if let Some(waiter) = &self.waiter {
            let mut state = waiter.state.lock().expect("waiter");
            if !state.admitted {
                state.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            drop(state);
            self.waiter = None;
            return Poll::Ready(FairGuard { lock: self.lock, exclusive: self.exclusive });
        }
        let mut inner = self.lock.inner.lock().expect("fair lock");
        if inner.queue.is_empty() && inner.may_enter(self.exclusive) {
            inner.count_in(self.exclusive);
            return Poll::Ready(FairGuard { lock: self.lock, exclusive: self.exclusive });
        }
        let state = WaiterState { admitted: false, waker: Some(cx.waker().clone()) };
        let waiter = Arc::new(Waiter { exclusive: self.exclusive, state: Mutex::new(state) });
        inner.queue.push_back(Arc::clone(&waiter));
        drop(inner);
        self.waiter = Some(waiter);
        Poll::Pending
    }
}

impl Drop for Enter<'_> {
    fn drop(&mut self) {
        let Some(waiter) = self.waiter.take() else { return };
        let mut inner = self.lock.inner.lock().expect("fair lock");
        inner.queue.retain(|other| !Arc::ptr_eq(other, &waiter));
        if waiter.state.lock().expect("waiter").admitted {
            drop(inner);
            self.lock.leave(self.exclusive);
        } else {
            // The one who has gone may have been all that held the others back.
            self.lock.admit(inner);
        }
    }
}

impl Drop for FairGuard<'_> {
    fn drop(&mut self) {
        self.lock.leave(self.exclusive);
    }
}
