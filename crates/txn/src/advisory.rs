//! Advisory locks: keys that sessions lock for each other, without a meaning to the engine.
//!
//! A session that has to wait is a future in a queue: it holds up no worker. Those that wait for one
//! key get it in the order of their arrival.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use types::{SqlError, SqlResult, SqlState};

#[cfg(test)]
mod tests;

/// What is locked: one number of 64 bits or two of 32, which never mean the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `pg_advisory_lock(key)`
    One(i64),
    /// `pg_advisory_lock(key, key)`
    Two(i32, i32),
}

/// How a key is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// What is locked.
    pub key: Key,
    /// Others may share it.
    pub shared: bool,
    /// It ends with the transaction.
    pub in_transaction: bool,
}

/// The locks of a database.
#[derive(Default)]
pub struct AdvisoryLocks {
    table: Mutex<Table>,
    /// Locks that end with their transaction.
    in_transaction: AtomicUsize,
}

#[derive(Default)]
struct Table {
    locks: BTreeMap<Key, Lock>,
    last_ticket: u64,
}

#[derive(Default)]
struct Lock {
    holds: Vec<Hold>,
    waiting: VecDeque<Waiting>,
}

/// What one session holds of a key in one way.
struct Hold {
    session: u64,
    shared: bool,
    in_transaction: bool,
    count: usize,
}

struct Waiting {
    ticket: u64,
    session: u64,
    shared: bool,
    waker: Option<Waker>,
}

/// A lock that is held or waited for, to be shown.
pub struct Shown {
    /// What is locked.
    pub key: Key,
    /// The session that has it, or waits for it.
    pub session: u64,
    /// Whether others may share it.
    pub shared: bool,
    /// Whether the session has it.
    pub granted: bool,
}

impl Lock {
    /// Whether the session may have it now. Who has it already does not wait behind others.
    fn is_free(&self, session: u64, shared: bool, ticket: u64) -> bool {
        let mut others = self.holds.iter().filter(|hold| hold.session != session);
        let compatible = others.all(|hold| shared && hold.shared);
        let own = self.holds.iter().any(|hold| hold.session == session);
        let mut ahead = self.waiting.iter().filter(|w| w.ticket < ticket && w.session != session);
        compatible && (own || ahead.all(|w| shared && w.shared))
    }

    fn wake(&mut self) {
        self.waiting.iter_mut().filter_map(|w| w.waker.take()).for_each(Waker::wake);
    }

    fn is_unused(&self) -> bool {
        self.holds.is_empty() && self.waiting.is_empty()
    }
}

impl Table {
    /// The sessions that keep a session from a key it waits for.
    fn blockers(&self, session: u64) -> Vec<u64> {
        let mut found = vec![];
        for lock in self.locks.values() {
            let Some(own) = lock.waiting.iter().find(|w| w.session == session) else { continue };
            let holds = lock.holds.iter().filter(|h| !(own.shared && h.shared));
            found.extend(holds.map(|hold| hold.session));
            let ahead = lock.waiting.iter().filter(|w| w.ticket < own.ticket);
            found.extend(ahead.filter(|w| !(own.shared && w.shared)).map(|w| w.session));
        }
        found.retain(|other| *other != session);
        found
    }

    /// Whether a session waits for itself.
    fn is_deadlocked(&self, session: u64) -> bool {
        let (mut seen, mut next) = (vec![], self.blockers(session));
        while let Some(other) = next.pop() {
            if other == session {
                return true;
            }
            if !seen.contains(&other) {
                seen.push(other);
                next.extend(self.blockers(other));
            }
        }
        false
    }

    fn leave_queue(&mut self, key: Key, ticket: u64) {
        if let Some(lock) = self.locks.get_mut(&key) {
            lock.waiting.retain(|w| w.ticket != ticket);
            lock.wake();
        }
        self.forget_unused(key);
    }

    fn forget_unused(&mut self, key: Key) {
        if self.locks.get(&key).is_some_and(Lock::is_unused) {
            self.locks.remove(&key);
        }
    }
}

impl AdvisoryLocks {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks a key if that is possible at once.
    pub fn try_take(&self, session: u64, wish: Wish) -> bool {
        self.take(&mut self.table(), session, wish, u64::MAX)
    }

    fn take(&self, table: &mut Table, session: u64, wish: Wish, ticket: u64) -> bool {
        let lock = table.locks.entry(wish.key).or_default();
        if !lock.is_free(session, wish.shared, ticket) {
            return false;
        }
        let Wish { shared, in_transaction, .. } = wish;
        self.in_transaction.fetch_add(usize::from(in_transaction), SeqCst);
        let same = lock.holds.iter_mut().find(|hold| {
            hold.session == session
                && hold.shared == shared
                && hold.in_transaction == in_transaction
        });
        match same {
            Some(hold) => hold.count += 1,
            None => lock.holds.push(Hold { session, shared, in_transaction, count: 1 }),
        }
        true
    }

    /// Locks a key, when others have let go of it.
    ///
    /// # Errors
    /// 40P01 when that would never be.
    pub fn obtain(self: &Arc<Self>, session: u64, wish: Wish) -> Obtain {
        Obtain { locks: self.clone(), session, wish, ticket: None }
    }

    /// Lets go of a key that was locked for the session; whether it was.
    pub fn release(&self, session: u64, key: Key, shared: bool) -> bool {
        let mut table = self.table();
        let Some(lock) = table.locks.get_mut(&key) else { return false };
        let own = lock.holds.iter().position(|hold| {
            hold.session == session && hold.shared == shared && !hold.in_transaction
        });
        let Some(at) = own else { return false };
        lock.holds[at].count -= 1;
        if lock.holds[at].count == 0 {
            lock.holds.swap_remove(at);
            lock.wake();
        }
        table.forget_unused(key);
        true
    }

    /// Lets go of what was locked for the session, but not for its transaction.
    pub fn release_session(&self, session: u64) {
        self.release_where(|hold| hold.session == session && !hold.in_transaction);
    }

    /// The session's transaction has ended.
    pub fn end_transaction(&self, session: u64) {
        if self.in_transaction.load(SeqCst) > 0 {
            self.release_where(|hold| hold.session == session && hold.in_transaction);
        }
    }

    /// The session has ended.
    pub fn end_session(&self, session: u64) {
        self.release_where(|hold| hold.session == session);
    }

    fn release_where(&self, goes: impl Fn(&Hold) -> bool) {
        let mut table = self.table();
        table.locks.retain(|_, lock| {
            let before = lock.holds.len();
            lock.holds.retain(|hold| {
                if goes(hold) && hold.in_transaction {
                    self.in_transaction.fetch_sub(hold.count, SeqCst);
                }
                !goes(hold)
            });
            if lock.holds.len() < before {
                lock.wake();
            }
            !lock.is_unused()
        });
    }

    /// All locks, by key.
    pub fn shown(&self) -> Vec<Shown> {
        let mut shown = vec![];
        for (key, lock) in &self.table().locks {
            let (key, granted) = (*key, true);
            let held = |h: &Hold| Shown { key, session: h.session, shared: h.shared, granted };
            shown.extend(lock.holds.iter().map(held));
            let granted = false;
            let waits = |w: &Waiting| Shown { key, session: w.session, shared: w.shared, granted };
            shown.extend(lock.waiting.iter().map(waits));
        }
        shown
    }
}

/// Waits for a key. Who drops it leaves the queue.
pub struct Obtain {
    locks: Arc<AdvisoryLocks>,
    session: u64,
    wish: Wish,
    /// The place in the queue.
    ticket: Option<u64>,
}

impl Obtain {
    /// Stores the waker, with a place in the queue.
    fn queue(&mut self, table: &mut Table, waker: Waker) {
        let Wish { key, shared, .. } = self.wish;
        if self.ticket.is_none() {
            table.last_ticket += 1;
            self.ticket = Some(table.last_ticket);
            let (ticket, session) = (table.last_ticket, self.session);
            let waiting = &mut table.locks.entry(key).or_default().waiting;
            waiting.push_back(Waiting { ticket, session, shared, waker: None });
        }
        let lock = table.locks.entry(key).or_default();
        let own = lock.waiting.iter_mut().find(|w| Some(w.ticket) == self.ticket);
        own.into_iter().for_each(|own| own.waker = Some(waker.clone()));
    }
}

impl Future for Obtain {
    type Output = SqlResult<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<SqlResult<()>> {
        let locks = self.locks.clone();
        let mut table = locks.table();
        let ticket = self.ticket.unwrap_or(u64::MAX);
        if locks.take(&mut table, self.session, self.wish, ticket) {
            if let Some(ticket) = self.ticket.take() {
                table.leave_queue(self.wish.key, ticket);
            }
            return Poll::Ready(Ok(()));
        }
        self.queue(&mut table, cx.waker().clone());
        if table.is_deadlocked(self.session) {
            if let Some(ticket) = self.ticket.take() {
                table.leave_queue(self.wish.key, ticket);
            }
            return Poll::Ready(Err(SqlError::new(SqlState("40P01"), "deadlock detected")));
        }
        Poll::Pending
    }
}

impl Drop for Obtain {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.locks.table().leave_queue(self.wish.key, ticket);
        }
    }
}
