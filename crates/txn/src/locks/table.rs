//! The lock table.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::sync::{Cancel, WaitQueue};
use runtime::time;
use types::{SqlError, SqlResult, SqlState};

use super::mode::{LockKey, LockMode, LockShown, ShownLock};
use super::state::State;
use super::watch::LockWatch;
use crate::waiting::{breathe, give_way, unless_cancelled};

/// Several wait for each other in a circle.
pub const DEADLOCK: SqlState = SqlState("40P01");

/// Keys that are locked before other tasks have their turn.
pub const KEYS_AT_ONCE: usize = 1 << 10;

/// How long a statement waits for others.
#[derive(Clone, Debug, Default)]
pub struct LockWait {
    /// Ends the wait with 57014.
    pub cancel: Cancel,
    /// `lock_timeout`
    pub timeout: Option<Duration>,
    /// Whose statement that is.
    pub session: Option<u64>,
    /// Who wants to know that it takes long.
    pub watch: Option<Arc<LockWatch>>,
}

impl LockWait {
    /// The same for who fails instead of waiting.
    pub fn without_waiting(self) -> LockWait {
        LockWait { timeout: Some(Duration::ZERO), ..self }
    }

    /// Waits no longer than the statement may.
    ///
    /// # Errors
    /// Those of `work`; 55P03, 57014.
    async fn bound<T>(
        &self,
        right: &WriteRight,
        work: impl Future<Output = SqlResult<T>>,
    ) -> SqlResult<T> {
        let waited = unless_cancelled(&self.cancel, self.watched(&right.0.locks, work));
        match self.timeout {
            None => waited.await?,
            Some(timeout) => time::timeout(timeout, waited).await.map_err(|_| too_long())??,
        }
    }
}

/// The locks of a database.
#[derive(Clone, Default)]
pub struct Locks(Arc<Shared>);

#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Of those that wait for the right to write.
    waiting: WaitQueue,
    /// The one that has altered sequences and has not ended; 0 is none. There is one at most that
    /// may.
    altering: AtomicU64,
}

/// The right to write, with the keys that are locked under it, until its last clone goes.
#[derive(Clone)]
pub struct WriteRight(Arc<Held>);

pub(crate) struct Held {
    locks: Locks,
    id: u64,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Locks {
    /// The right to write beside others.
    ///
    /// # Errors
    /// 55P03 when that takes longer than the statement may wait, 57014 when it is cancelled.
    pub async fn share(&self, wait: &LockWait) -> SqlResult<WriteRight> {
        let right = self.new_right();
        right.share(wait).await?;
        Ok(right)
    }

    /// The right to write beside others, and to change definitions.
    ///
    /// # Errors
    /// As [`Locks::share`].
    pub async fn define(&self, wait: &LockWait) -> SqlResult<WriteRight> {
        let right = self.new_right();
        right.define(wait).await?;
        Ok(right)
    }

    /// The right to write alone.
    ///
    /// # Errors
    /// As [`Locks::share`].
    pub async fn exclude(&self, wait: &LockWait) -> SqlResult<WriteRight> {
        let right = self.new_right();
        right.take_alone(wait).await?;
        Ok(right)
    }

    /// The right to write beside others, for who waits for nobody, or for keys a moment at most: no statement fails
    /// with 40P01 because of such a wait.
    pub fn try_share(&self) -> Option<WriteRight> {
        let right = self.new_right();
        let mut state = right.state();
        state.share(right.0.id, None)?;
        state.set_giving_up(right.0.id);
        drop(state);
        Some(right)
    }

    /// True if a transaction that has altered sequences has not ended.
    pub fn alters_numbers(&self) -> bool {
        self.0.altering.load(Ordering::Acquire) != 0
    }

    /// As [`WriteRight::await_numbers`], for who has no right to write.
    ///
    /// # Errors
    /// As [`Locks::share`].
    pub async fn await_numbers(&self, wait: &LockWait) -> SqlResult<()> {
        self.new_right().await_numbers(wait).await
    }

    fn new_right(&self) -> WriteRight {
        WriteRight(Arc::new(Held { locks: self.clone(), id: self.0.state().new_id() }))
    }

    /// What is held and waited for, to be shown.
    pub fn shown(&self) -> Vec<ShownLock> {
        self.0.state().shown()
    }

    /// What a session waits for, and the sessions in its way.
    pub fn wait_of(&self, session: u64) -> Option<(LockShown, Vec<u64>)> {
        let state = self.0.state();
        Some((state.wanted(session)?, state.blocking(session)))
    }

    /// Whether a session has the right to write.
    pub fn has_right(&self, session: u64) -> bool {
        self.0.state().has_right(session)
    }

    /// The sessions that a session waits for.
    pub fn blocking(&self, session: u64) -> Vec<u64> {
        self.0.state().blocking(session)
    }
}

impl WriteRight {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.locks.0.state()
    }

    /// Whether nobody else writes.
    pub fn is_exclusive(&self) -> bool {
        self.state().is_exclusive(self.0.id)
    }

    /// Whether it may change definitions.
    pub fn may_define(&self) -> bool {
        self.state().may_define(self.0.id)
    }

    /// Has the right, if an attempt to have more of it has lost it.
    ///
    /// # Errors
    /// As [`Locks::share`].
    pub async fn share(&self, wait: &LockWait) -> SqlResult<()> {
        let id = self.0.id;
        if self.state().share(id, wait.session).is_some() {
            return Ok(());
        }
        self.state().sharing.insert(id, wait.session);
        let _sharing = Sharing(self);
        let shared = async {
            self.0.locks.0.waiting.wait(|| self.state().share(id, wait.session)).await;
            Ok(())
        };
        wait.bound(self, shared).await
    }

    /// May change definitions from now on. One that has locked nothing lets others go first.
    ///
    /// # Errors
    /// As [`Locks::share`]; 40P01 when the one who may do so now waits for this one.
    pub async fn define(&self, wait: &LockWait) -> SqlResult<()> {
        let id = self.0.id;
        if self.state().define(id, wait.session).is_some() {
            return Ok(());
        }
        if self.state().leave_unlocked(id) {
            self.0.locks.0.waiting.wake_all();
            self.state().defining.insert(id, wait.session);
        } else if !self.state().begin_define(id) {
            return Err(deadlock());
        }
        let _defining = Defining(self);
        let may_define = async {
            self.0.locks.0.waiting.wait(|| self.state().define(id, wait.session)).await;
            Ok(())
        };
        wait.bound(self, may_define).await
    }

    /// Sequences are altered under the right: who takes numbers from now on waits until it has
    /// gone.
    ///
    /// # Panics
    /// If it may not change definitions.
    pub fn note_numbers_altered(&self) {
        assert!(self.may_define(), "who alters sequences may change definitions");
        let before = self.0.locks.0.altering.swap(self.0.id, Ordering::AcqRel);
        assert!([0, self.0.id].contains(&before), "one at a time may change definitions");
    }

    /// Waits until nobody else has altered sequences without having ended.
    ///
    /// # Errors
    /// As [`Locks::share`]; 40P01 when the one who has waits for this one.
    pub async fn await_numbers(&self, wait: &LockWait) -> SqlResult<()> {
        let (id, shared) = (self.0.id, &self.0.locks.0);
        let is_settled = || [0, id].contains(&shared.altering.load(Ordering::Acquire));
        if is_settled() {
            return Ok(());
        }
        if !self.state().begin_await(id, wait.session) {
            return Err(deadlock());
        }
        let _waiting = Defining(self);
        let settled = async {
            shared.waiting.wait(|| is_settled().then_some(())).await;
            Ok(())
        };
        wait.bound(self, settled).await
    }

    /// Has it alone from now on. One that has locked nothing lets others go first, unless it may change
    /// definitions already.
    ///
    /// # Errors
    /// As [`Locks::share`]; 40P01 when another one waits for the same, or for this one.
    pub async fn exclude(&self, wait: &LockWait) -> SqlResult<()> {
        let id = self.0.id;
        if self.is_exclusive() {
            return Ok(());
        }
        if self.state().leave_unlocked(id) {
            self.0.locks.0.waiting.wake_all();
            return self.take_alone(wait).await;
        }
        if !self.state().begin_upgrade(id) {
            return Err(deadlock());
        }
        let _upgrade = Upgrade(self);
        let alone = async {
            self.0.locks.0.waiting.wait(|| self.state().upgrade(id)).await;
            Ok(())
        };
        wait.bound(self, alone).await
    }

    async fn take_alone(&self, wait: &LockWait) -> SqlResult<()> {
        let id = self.0.id;
        self.state().excluding.insert(id, wait.session);
        let _excluding = Excluding(self);
        let alone = async {
            self.0.locks.0.waiting.wait(|| self.state().exclude(id, wait.session)).await;
            Ok(())
        };
        wait.bound(self, alone).await
    }

    /// Locks keys; in their order, lest two wait for each other, whole tables before keys of any.
    ///
    /// # Errors
    /// 40P01, 55P03, 57014. What was locked stays so.
    pub async fn lock(
        &self,
        mut wanted: Vec<(LockKey, LockMode)>,
        wait: &LockWait,
    ) -> SqlResult<()> {
        if self.is_exclusive() {
            return Ok(());
        }
        // The keys of each tree come in their order, which this sort makes use of.
        wanted.sort_by(|a, b| (!a.0.key.is_empty(), a).cmp(&(!b.0.key.is_empty(), b)));
        for (nth, (key, mode)) in wanted.into_iter().enumerate() {
            if nth % KEYS_AT_ONCE == KEYS_AT_ONCE - 1 {
                give_way(&wait.cancel).await?;
            }
            if !self.try_lock(&key, mode) {
                wait.bound(self, self.wait_for(key, mode)).await?;
            }
        }
        Ok(())
    }

    /// May change definitions from now on, if no other one may.
    pub fn try_define(&self) -> bool {
        self.state().define(self.0.id, None).is_some()
    }

    /// Whether another one waits until nobody else writes.
    pub fn is_in_the_way(&self) -> bool {
        self.state().is_wanted_alone()
    }

    /// Locks a key if nobody else has.
    pub fn try_lock(&self, key: &LockKey, mode: LockMode) -> bool {
        let mut state = self.state();
        state.is_exclusive(self.0.id) || state.take(self.0.id, key, mode)
    }

    /// How many keys are locked.
    pub fn count_locked(&self) -> usize {
        self.state().count_locked(self.0.id)
    }

    /// Lets all keys go, and keeps the right.
    pub fn let_go(&self) {
        let queues = self.state().let_go(self.0.id);
        queues.iter().for_each(|queue| queue.wake_all());
    }

    /// Lets it go. The last one who has it lets the keys go before, some at a time: what was done
    /// under it has ended, and others may have each of them.
    pub async fn end(self) {
        while Arc::strong_count(&self.0) == 1 && self.count_locked() > KEYS_AT_ONCE {
            let queues = self.state().let_go_last(self.0.id, KEYS_AT_ONCE);
            queues.iter().for_each(|queue| queue.wake_all());
            breathe().await;
        }
    }

    /// Lets all keys go, and the right with them unless it may change definitions: others of a circle may wait
    /// for it alone. Who goes on shares it again first ([`WriteRight::share`]).
    pub fn leave(&self) {
        self.let_go();
        if self.state().leave_unlocked(self.0.id) {
            self.0.locks.0.waiting.wake_all();
        }
    }

    async fn wait_for(&self, key: LockKey, mode: LockMode) -> SqlResult<()> {
        let id = self.0.id;
        let queue = self.state().begin_wait(id, &key, mode).ok_or_else(deadlock)?;
        let _waiting = Waiting(self);
        queue.wait(|| self.state().take(id, &key, mode).then_some(())).await;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let shared = &self.locks.0;
        // It is none if this one has altered nothing. Before it lets the next one define, who may
        // alter, too.
        let _ = shared.altering.compare_exchange(self.id, 0, Ordering::AcqRel, Ordering::Relaxed);
        let queues = shared.state().leave(self.id);
        queues.iter().for_each(|queue| queue.wake_all());
        shared.waiting.wake_all();
    }
}

/// Waits to have the right beside others.
pub struct Sharing<'a>(&'a WriteRight);

impl Drop for Sharing<'_> {
    fn drop(&mut self) {
        self.0.state().sharing.remove(&self.0.0.id);
    }
}

/// Waits until it may change definitions, or for the one who may.
pub struct Defining<'a>(&'a WriteRight);

impl Drop for Defining<'_> {
    fn drop(&mut self) {
        self.0.state().end_define(self.0.0.id);
    }
}

/// Waits to have the right alone: those that want to share it come later.
pub struct Excluding<'a>(&'a WriteRight);

impl Drop for Excluding<'_> {
    fn drop(&mut self) {
        self.0.state().excluding.remove(&self.0.0.id);
        self.0.0.locks.0.waiting.wake_all();
    }
}

/// Has the right and waits to have it alone.
pub struct Upgrade<'a>(&'a WriteRight);

impl Drop for Upgrade<'_> {
    fn drop(&mut self) {
        self.0.state().upgrading = None;
        self.0.0.locks.0.waiting.wake_all();
    }
}

/// Waits for a key.
pub struct Waiting<'a>(&'a WriteRight);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let queue = self.0.state().end_wait(self.0.0.id);
        queue.iter().for_each(|queue| queue.wake_all());
    }
}

/// 55P03
pub fn too_long() -> SqlError {
    SqlError::new(SqlState("55P03"), "canceling statement due to lock timeout")
}

/// 40P01
pub fn deadlock() -> SqlError {
    SqlError::new(DEADLOCK, "deadlock detected")
        .with_detail(
            "Another transaction waits for what this one has locked, and holds what it wants.",
        )
        .with_hint("The transaction might succeed if retried.")
}

#[cfg(test)]
mod tests;
