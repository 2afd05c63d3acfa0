//! The states of a database that follows another one, one after the other. Each is an open store of
//! its own with its catalog; a session has the one that was the last when its transaction began,
//! and goes on to the next one between two of them.
//!
//! A state that is left lasts as long as somebody uses it, but not longer than
//! `max_standby_streaming_delay` behind the next one: then its statements end with 40001, and so do
//! connections that rest in it. As each is an open store, there are [`STATES_MAX`] at a time: the
//! next one waits until the oldest has ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use runtime::sync::{Cancel, WaitQueue};
use runtime::time::{self, Instant};
use types::{SqlError, SqlState};

use crate::replication::Status;

/// States that may be open at a time, each with as large a part of the pool: that which sessions
/// begin in, and two for those that began before. With one for these a query that lasts longer than
/// from one checkpoint to the next would already hold up what comes.
pub(crate) const STATES_MAX: usize = 3;

/// A state, which knows its place among the others.
pub(crate) trait State: Sized {
    /// None of a database that follows no other one.
    fn standing(&self) -> Option<&Standing<Self>>;
}

/// The states, one after the other.
pub(crate) struct Succession<S> {
    /// None at the end.
    current: RwLock<Option<Arc<S>>>,
    /// Wakes those who wait for another state.
    moved: WaitQueue,
    /// The next state is that of a database of its own: who begins something waits for it.
    turns: AtomicBool,
    former: Mutex<Vec<Former<S>>>,
    pub(crate) status: Status,
}

struct Former<S> {
    state: Weak<S>,
    /// Since when there is another one.
    left_at: Instant,
}

/// The place of a state among the others.
pub(crate) struct Standing<S> {
    pub(crate) succession: Arc<Succession<S>>,
    /// Only read, as it is what another database was.
    pub(crate) is_copy: bool,
    /// Sessions that have it, by their numbers, with what cancels their statements.
    members: Mutex<BTreeMap<u64, Arc<Mutex<Cancel>>>>,
    /// It has lasted too long, or is gone.
    is_over: AtomicBool,
}

impl<S> Standing<S> {
    /// A session has the state, and is cancelled so.
    pub(crate) fn join(&self, session: u64, cancel: &Arc<Mutex<Cancel>>) {
        lock(&self.members).insert(session, cancel.clone());
    }

    /// A session has another state, or ends.
    pub(crate) fn part(&self, session: u64) {
        lock(&self.members).remove(&session);
    }

    /// True if the state has lasted too long.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Waits until the state has lasted too long.
    pub(crate) async fn over(&self) {
        self.succession.moved.wait(|| self.is_over().then_some(())).await;
    }

    fn end(&self) {
        if !self.is_over.swap(true, Ordering::AcqRel) {
            self.succession.moved.wake_all();
        }
        for cancel in lock(&self.members).values() {
            lock(cancel).cancel();
        }
    }
}

impl<S: State> Succession<S> {
    /// None yet.
    pub(crate) fn new() -> Arc<Succession<S>> {
        Arc::new(Succession {
            current: RwLock::new(None),
            moved: WaitQueue::new(),
            turns: AtomicBool::new(false),
            former: Mutex::default(),
            status: Status::default(),
        })
    }

    fn place(self: &Arc<Self>, is_copy: bool) -> Standing<S> {
        let (members, is_over) = (Mutex::default(), AtomicBool::new(false));
        Standing { succession: self.clone(), is_copy, members, is_over }
    }

    /// From now on there is another state, made of the one before: a database of its own where it
    /// is not a copy. At the end nothing happens.
    pub(crate) fn advance(
        self: &Arc<Self>,
        is_copy: bool,
        make: impl FnOnce(Option<&S>, Standing<S>) -> S,
    ) {
        let before = {
            let mut current = self.current_mut();
            let before = current.take();
            *current = Some(Arc::new(make(before.as_deref(), self.place(is_copy))));
            before
        };
        let left = before.as_ref().map(Arc::downgrade);
        let left = left.map(|state| Former { state, left_at: time::now() });
        lock(&self.former).extend(left);
        self.turn(false);
        self.moved.wake_all();
    }

    /// Nobody begins anything until there is another state, or this is taken back.
    pub(crate) fn turn(&self, turns: bool) {
        self.turns.store(turns, Ordering::Release);
        if !turns {
            self.moved.wake_all();
        }
    }

    /// Ends states that were left so long ago; `None`: none for that.
    pub(crate) fn end_former(&self, after: Option<Duration>) {
        lock(&self.former).retain(|former| {
            let Some(state) = former.state.upgrade() else { return false };
            let is_due = after.is_some_and(|after| former.left_at.elapsed() >= after);
            if let (true, Some(standing)) = (is_due, state.standing()) {
                standing.end();
            }
            true
        });
    }

    /// True while as many states are in use as may be open at a time, the last one among them. One
    /// that is over is about to go.
    pub(crate) fn is_full(&self) -> bool {
        // The last handle of one is not dropped while others wait for the list.
        let held: Vec<Arc<S>> =
            lock(&self.former).iter().filter_map(|former| former.state.upgrade()).collect();
        let in_use = |state: &&Arc<S>| state.standing().is_some_and(|standing| !standing.is_over());
        held.iter().filter(in_use).count() + 1 >= STATES_MAX
    }

    /// Ends all states that there are, for good.
    pub(crate) fn end_all(&self) {
        self.end_former(Some(Duration::ZERO));
        let current = self.current();
        if let Some(standing) = current.as_ref().and_then(|state| state.standing()) {
            standing.end();
        }
    }

    /// The last state; none at the end.
    pub(crate) fn current(&self) -> Option<Arc<S>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// There is no state any more: who has one keeps it.
    pub(crate) fn close(&self) -> Option<Arc<S>> {
        let last = self.current_mut().take();
        self.moved.wake_all();
        last
    }

    fn current_mut(&self) -> std::sync::RwLockWriteGuard<'_, Option<Arc<S>>> {
        self.current.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last state, if it is another one and may be had.
    pub(crate) fn newer(&self, than: &Arc<S>) -> Option<Arc<S>> {
        if self.turns.load(Ordering::Acquire) {
            return None;
        }
        self.current().filter(|current| !Arc::ptr_eq(current, than))
    }

    /// True if there is, or will be, another state.
    pub(crate) fn is_left(&self, state: &Arc<S>) -> bool {
        self.turns.load(Ordering::Acquire) || self.newer(state).is_some()
    }

    /// Waits until the last state may be had.
    pub(crate) async fn settled(&self) {
        self.moved.wait(|| (!self.turns.load(Ordering::Acquire)).then_some(())).await;
    }

    /// Waits until there is another state.
    pub(crate) async fn left(&self, state: &Arc<S>) {
        self.moved.wait(|| self.is_left(state).then_some(())).await;
    }
}

/// The error of a connection that rests in a state that is over.
pub(crate) fn broken_off() -> SqlError {
    let message = "terminating connection due to conflict with recovery";
    SqlError::new(SqlState("40001"), message)
        .with_detail("The state that the transaction sees was replaced too long ago.")
        .with_hint(
            "In a moment you should be able to reconnect to the database and repeat your command.",
        )
}

/// The error of a statement whose state is over.
pub(crate) fn conflict() -> SqlError {
    let message = "canceling statement due to conflict with recovery";
    SqlError::new(SqlState("40001"), message)
        .with_detail("The state that the transaction sees was replaced too long ago.")
        .with_hint("Run the transaction again, or raise max_standby_streaming_delay.")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
