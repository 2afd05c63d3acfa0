//! Wakers in the order of their arrival.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use stdx::sync::Mutex;

use crate::lock::lock;

/// Wakers by ticket, so in order of arrival. Who leaves from the middle leaves a gap.
#[derive(Debug, Default)]
struct State {
    next_ticket: u64,
    waiting: VecDeque<(u64, Option<Waker>)>,
    gap_count: usize,
}

/// Gaps that are tolerated before the queue is packed.
const GAP_COUNT_MIN: usize = 32;

impl State {
    /// Stores a waker under its ticket; returns the one that it replaces.
    fn put(&mut self, ticket: u64, waker: Waker) -> Option<Waker> {
        match self.waiting.binary_search_by_key(&ticket, |(number, _)| *number) {
            Err(place) => {
                self.waiting.insert(place, (ticket, Some(waker)));
                None
            }
            Ok(place) => {
                let old = self.waiting[place].1.replace(waker);
                self.gap_count -= usize::from(old.is_none());
                old
            }
        }
    }

    fn remove(&mut self, ticket: u64) -> Option<Waker> {
        let place = self.waiting.binary_search_by_key(&ticket, |(number, _)| *number).ok()?;
        let waker = self.waiting[place].1.take()?;
        self.gap_count += 1;
        if self.gap_count > GAP_COUNT_MIN && self.gap_count > self.waiting.len() / 2 {
            self.waiting.retain(|(_, waker)| waker.is_some());
            self.gap_count = 0;
        }
        Some(waker)
    }

    fn pop_first(&mut self) -> Option<Waker> {
        while let Some((_, waker)) = self.waiting.pop_front() {
            match waker {
                Some(waker) => return Some(waker),
                None => self.gap_count -= 1,
            }
        }
        None
    }
}

/// A parking place: futures wait on it, in order, for a condition that their owner keeps.
#[derive(Debug, Default)]
pub struct WaitQueue {
    state: Mutex<State>,
}

impl WaitQueue {
    /// An empty queue.
    pub fn new() -> WaitQueue {
        WaitQueue {
            state: Mutex::new(State { next_ticket: 0, waiting: VecDeque::new(), gap_count: 0 }),
        }
    }

    /// Waits until `ready` gives a value. It is asked at each wake, and once more after the
    /// waiter has queued up, so a wake between asking and queueing is not lost.
    pub fn wait<'a, T, R: FnMut() -> Option<T>>(&'a self, ready: R) -> Wait<'a, R> {
        Wait { queue: self, ticket: None, ready }
    }

    /// Wakes the one that waits longest. False: nobody waits.
    pub fn wake_one(&self) -> bool {
        let first = lock(&self.state).pop_first();
        match first {
            None => false,
            Some(waker) => {
                waker.wake();
                true
            }
        }
    }

    /// Wakes everybody, in order of arrival.
    pub fn wake_all(&self) {
        let all = {
            let mut state = lock(&self.state);
            state.gap_count = 0;
            std::mem::take(&mut state.waiting)
        };
        all.into_iter().filter_map(|(_, waker)| waker).for_each(Waker::wake);
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        let state = lock(&self.state);
        state.waiting.len() - state.gap_count
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
        let old = state.put(number, waker.clone());
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
        let waker = lock(&self.queue.state).remove(ticket);
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
