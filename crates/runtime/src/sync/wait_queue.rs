//! Wakers in the order of their arrival.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use crate::inbox::lock;

#[derive(Debug, Default)]
struct State {
    next_ticket: u64,
    /// By ticket, so in order of arrival; a map, so that leaving from the middle is cheap.
    waiting: BTreeMap<u64, Waker>,
}

/// A parking place: futures wait on it, in order, for a condition that their owner keeps.
#[derive(Debug, Default)]
pub struct WaitQueue {
    state: Mutex<State>,
}

impl WaitQueue {
    /// An empty queue.
    pub const fn new() -> WaitQueue {
        WaitQueue { state: Mutex::new(State { next_ticket: 0, waiting: BTreeMap::new() }) }
    }

    /// Waits until `ready` gives a value. It is asked at each wake, and once more after the
    /// waiter has queued up, so a wake between asking and queueing is not lost.
    pub fn wait<'a, T, R: FnMut() -> Option<T>>(&'a self, ready: R) -> Wait<'a, R> {
        Wait { queue: self, ticket: None, ready }
    }

    /// Wakes the one that waits longest. False: nobody waits.
    pub fn wake_one(&self) -> bool {
        let first = lock(&self.state).waiting.pop_first();
        match first {
            None => false,
            Some((_, waker)) => {
                waker.wake();
                true
            }
        }
    }

    /// Wakes everybody, in order of arrival.
    pub fn wake_all(&self) {
        let all = std::mem::take(&mut lock(&self.state).waiting);
        for waker in all.into_values() {
            waker.wake();
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        lock(&self.state).waiting.len()
    }

    /// True when nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn enqueue(&self, ticket: &mut Option<u64>, waker: &Waker) {
        let mut state = lock(&self.state);
        let number = match *ticket {
            // A waiter that was woken for nothing keeps its place.
            Some(number) => number,
            None => {
                state.next_ticket += 1;
                state.next_ticket
            }
        };
        *ticket = Some(number);
        let old = state.waiting.insert(number, waker.clone());
        drop(state);
        // A foreign waker's destructor may come back here: nothing is locked any more.
        drop(old);
    }
}

/// See [`WaitQueue::wait`].
pub struct Wait<'a, R> {
    queue: &'a WaitQueue,
    ticket: Option<u64>,
    ready: R,
}

// The closure is never pinned.
impl<R> Unpin for Wait<'_, R> {}

impl<T, R: FnMut() -> Option<T>> Future for Wait<'_, R> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        if let Some(value) = (this.ready)() {
            this.leave();
            return Poll::Ready(value);
        }
        this.queue.enqueue(&mut this.ticket, cx.waker());
        match (this.ready)() {
            None => Poll::Pending,
            Some(value) => {
                this.leave();
                Poll::Ready(value)
            }
        }
    }
}

impl<R> Wait<'_, R> {
    /// Gives the ticket back. True when it had been called up.
    fn leave(&mut self) -> bool {
        let Some(ticket) = self.ticket.take() else { return false };
        let waker = lock(&self.queue.state).waiting.remove(&ticket);
        waker.is_none()
    }
}

impl<R> Drop for Wait<'_, R> {
    fn drop(&mut self) {
        // Called up but gone: the call goes to the next, or it would be lost.
        if self.leave() {
            self.queue.wake_one();
        }
    }
}
