//! Permits to wait for, first come, first served.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stdx::sync::Mutex;

use crate::lock::lock;

#[derive(Debug)]
enum Waiter {
    Waiting { wanted: usize, waker: Waker },
    Granted { count: usize },
}

#[derive(Debug)]
struct State {
    free: usize,
    next_ticket: u64,
    /// In order of arrival. Granted ones stay until they notice.
    waiters: BTreeMap<u64, Waiter>,
}

impl State {
    /// Grants in order of arrival: a large request at the front holds back small ones behind it,
    /// so it is never starved.
    fn grant(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        for waiter in self.waiters.values_mut() {
            let wanted = match waiter {
                Waiter::Granted { .. } => continue,
                Waiter::Waiting { wanted, .. } => *wanted,
            };
            if wanted > self.free {
                break;
            }
            self.free -= wanted;
            let granted = Waiter::Granted { count: wanted };
            if let Waiter::Waiting { waker, .. } = std::mem::replace(waiter, granted) {
                woken.push(waker);
            }
        }
        woken
    }
}

/// A fair asynchronous semaphore; clones share the permits.
#[derive(Clone, Debug)]
pub struct Semaphore(Arc<Mutex<State>>);

/// Permits of a [`Semaphore`]; given back when dropped.
#[derive(Debug)]
#[must_use = "permits are given back when they are dropped"]
pub struct SemaphorePermit {
    state: Arc<Mutex<State>>,
    count: usize,
}

impl Semaphore {
    /// A semaphore with `count` permits.
    pub fn new(count: usize) -> Semaphore {
        let state = State { free: count, next_ticket: 0, waiters: BTreeMap::new() };
        Semaphore(Arc::new(Mutex::new(state)))
    }

    /// One permit, when it is this caller's turn.
    pub fn acquire(&self) -> Acquire {
        self.acquire_many(1)
    }

    /// Several permits at once. More than there are in all is waited for in vain.
    pub fn acquire_many(&self, count: usize) -> Acquire {
        Acquire { state: self.0.clone(), count, ticket: None }
    }

    /// A permit, if one is free and nobody waits.
    pub fn try_acquire(&self) -> Option<SemaphorePermit> {
        let mut state = lock(&self.0);
        let waited = state.waiters.values().any(|w| matches!(w, Waiter::Waiting { .. }));
        if state.free == 0 || waited {
            return None;
        }
        state.free -= 1;
        Some(SemaphorePermit { state: self.0.clone(), count: 1 })
    }

    /// Permits free now.
    pub fn available(&self) -> usize {
        lock(&self.0).free
    }

    /// Adds permits to the semaphore.
    pub fn add_permits(&self, count: usize) {
        give_back(&self.0, count);
    }
}

fn give_back(shared: &Mutex<State>, count: usize) {
    let woken = {
        let mut state = lock(shared);
        state.free += count;
        state.grant()
    };
    woken.into_iter().for_each(Waker::wake);
}

impl Drop for SemaphorePermit {
    fn drop(&mut self) {
        give_back(&self.state, self.count);
    }
}

/// See [`Semaphore::acquire`].
pub struct Acquire {
    state: Arc<Mutex<State>>,
    count: usize,
    ticket: Option<u64>,
}

impl Acquire {
    fn permit(&self) -> SemaphorePermit {
        SemaphorePermit { state: self.state.clone(), count: self.count }
    }

    fn first_poll(&mut self, waker: &Waker) -> Poll<SemaphorePermit> {
        let mut state = lock(&self.state);
        let waited = state.waiters.values().any(|w| matches!(w, Waiter::Waiting { .. }));
        if !waited && state.free >= self.count {
            state.free -= self.count;
            drop(state);
            return Poll::Ready(self.permit());
        }
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        let waiter = Waiter::Waiting { wanted: self.count, waker: waker.clone() };
        state.waiters.insert(ticket, waiter);
        self.ticket = Some(ticket);
        Poll::Pending
    }
}

impl Future for Acquire {
    type Output = SemaphorePermit;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<SemaphorePermit> {
        let Some(ticket) = self.ticket else { return self.first_poll(cx.waker()) };
        let mut state = lock(&self.state);
        match state.waiters.get_mut(&ticket) {
            Some(Waiter::Waiting { waker, .. }) => {
                let old = std::mem::replace(waker, cx.waker().clone());
                drop(state);
                drop(old);
                return Poll::Pending;
            }
            granted => assert!(granted.is_some(), "a waiter leaves only by itself"),
        }
        state.waiters.remove(&ticket);
        drop(state);
        self.ticket = None;
        Poll::Ready(self.permit())
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let left = lock(&self.state).waiters.remove(&ticket);
        // `left` lives on to the end: a foreign waker is dropped with nothing locked.
        // Permits already granted go back; a waiter that leaves may unblock those behind it.
        match &left {
            Some(Waiter::Granted { count }) => give_back(&self.state, *count),
            _ => give_back(&self.state, 0),
        }
    }
}
