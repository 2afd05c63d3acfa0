//! Who has the right to write, who has locked what, and who waits for whom.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use runtime::sync::WaitQueue;

use storage::{TreeId, planted};

use super::{LockKey, LockMode, LockShown, ShownLock};

#[derive(Default)]
pub(super) struct State {
    last_id: u64,
    writers: BTreeMap<u64, Writer>,
    exclusive: Option<u64>,
    /// Who waits to write alone and has no right yet, each with its session.
    pub(super) excluding: BTreeMap<u64, Option<u64>>,
    /// Who waits to write beside others, each with its session.
    pub(super) sharing: BTreeMap<u64, Option<u64>>,
    /// Who waits to write alone and has the right.
    pub(super) upgrading: Option<u64>,
    locks: HashMap<LockKey, Lock>,
}

/// One that has the right to write.
#[derive(Default)]
struct Writer {
    session: Option<u64>,
    locked: Vec<LockKey>,
    waits_for: Option<(LockKey, LockMode)>,
}

#[derive(Default)]
struct Lock {
    holders: Vec<(u64, LockMode)>,
    waiting: Arc<WaitQueue>,
}

impl LockMode {
    fn conflicts(self, other: LockMode) -> bool {
        let rank = |mode| match mode {
            LockMode::KeyShare => 0,
            LockMode::Share => 1,
            LockMode::NoKeyUpdate => 2,
            LockMode::Update => 3,
        };
        rank(self) + rank(other) >= 3 + 2 * u32::from(planted::is("locks-too-weak"))
    }
}

impl Lock {
    /// Those that keep `id` from locking it so.
    fn others(&self, id: u64, mode: LockMode) -> impl Iterator<Item = u64> {
        let in_the_way =
            move |(holder, held): &&(u64, LockMode)| *holder != id && held.conflicts(mode);
        self.holders.iter().filter(in_the_way).map(|(holder, _)| *holder)
    }
}

impl State {
    pub(super) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn is_exclusive(&self, id: u64) -> bool {
        self.exclusive == Some(id)
    }

    /// Gives the right to one that shares it, which may have it already.
    pub(super) fn share(&mut self, id: u64, session: Option<u64>) -> Option<()> {
        let is_wanted = !self.excluding.is_empty() || self.upgrading.is_some();
        let is_free = self.exclusive.is_none() && !is_wanted;
        if !self.writers.contains_key(&id) && !is_free {
            return None;
        }
        self.writers.entry(id).or_default().session = session;
        Some(())
    }

    /// Gives the right to one alone.
    pub(super) fn exclude(&mut self, id: u64, session: Option<u64>) -> Option<()> {
        if !self.writers.is_empty() {
            return None;
        }
        assert!(self.exclusive.is_none(), "one that writes alone is among those that write");
        self.writers.insert(id, Writer { session, ..Writer::default() });
        self.exclusive = Some(id);
        Some(())
    }

    /// Takes the right from one that has locked nothing.
    pub(super) fn leave_unlocked(&mut self, id: u64) -> bool {
        let has_locked = self.writers.get(&id).is_some_and(|writer| !writer.locked.is_empty());
        if !has_locked {
            self.writers.remove(&id);
        }
        !has_locked
    }

    /// One that has the right waits for all others; not when that would be in a circle.
    pub(super) fn begin_upgrade(&mut self, id: u64) -> bool {
        if self.upgrading.is_some() {
            return false;
        }
        self.upgrading = Some(id);
        let waits_in_vain = self.waits_for_itself(id);
        if waits_in_vain {
            self.upgrading = None;
        }
        !waits_in_vain
    }

    pub(super) fn upgrade(&mut self, id: u64) -> Option<()> {
        if self.writers.len() > 1 {
            return None;
        }
        assert!(self.writers.contains_key(&id), "it keeps the right while it waits");
        self.exclusive = Some(id);
        Some(())
    }

    /// Locks a key, unless others are in the way: then it tells where to wait.
    pub(super) fn take(
        &mut self,
        id: u64,
        key: &LockKey,
        mode: LockMode,
    ) -> Option<Arc<WaitQueue>> {
        let writer = self.writers.get_mut(&id).expect("who locks has the right to write");
        let lock = self.locks.entry(key.clone()).or_default();
        let own = lock.holders.iter().position(|(holder, _)| *holder == id);
        if own.is_some_and(|at| lock.holders[at].1 >= mode) {
            return None;
        }
        if lock.others(id, mode).next().is_some() {
            return Some(lock.waiting.clone());
        }
        match own {
            Some(at) => lock.holders[at].1 = mode,
            None => {
                lock.holders.push((id, mode));
                writer.locked.push(key.clone());
            }
        }
        None
    }

    /// One waits for a key; not when that would be in a circle.
    pub(super) fn begin_wait(&mut self, id: u64, key: &LockKey, mode: LockMode) -> bool {
        self.set_wait(id, Some((key.clone(), mode)));
        let waits_in_vain = self.waits_for_itself(id) && !planted::is("deadlock-unseen");
        if waits_in_vain {
            self.set_wait(id, None);
        }
        !waits_in_vain
    }

    pub(super) fn end_wait(&mut self, id: u64) {
        let Some((key, _)) = self.set_wait(id, None) else { return };
        let is_idle = |lock: &Lock| lock.holders.is_empty() && lock.waiting.is_empty();
        if self.locks.get(&key).is_some_and(is_idle) {
            self.locks.remove(&key);
        }
    }

    fn set_wait(
        &mut self,
        id: u64,
        wait: Option<(LockKey, LockMode)>,
    ) -> Option<(LockKey, LockMode)> {
        let writer = self.writers.get_mut(&id).expect("who waits for a key has the right to write");
        std::mem::replace(&mut writer.waits_for, wait)
    }

    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.writers.is_empty() && self.locks.is_empty() && self.exclusive.is_none()
    }

    /// Takes the right and all locks from one; who may wait for these.
    pub(super) fn leave(&mut self, id: u64) -> Vec<Arc<WaitQueue>> {
        if self.exclusive == Some(id) {
            self.exclusive = None;
        }
        let queues = self.let_go(id);
        self.writers.remove(&id);
        queues
    }

    /// How many keys one has locked.
    pub(super) fn count_locked(&self, id: u64) -> usize {
        self.writers.get(&id).map_or(0, |writer| writer.locked.len())
    }

    /// Takes all locks from one, which keeps the right; who may wait for these.
    pub(super) fn let_go(&mut self, id: u64) -> Vec<Arc<WaitQueue>> {
        let Some(writer) = self.writers.get_mut(&id) else { return vec![] };
        let mut queues = vec![];
        for key in std::mem::take(&mut writer.locked) {
            let lock = self.locks.get_mut(&key).expect("what is locked has a lock");
            lock.holders.retain(|(holder, _)| *holder != id);
            if !lock.waiting.is_empty() {
                queues.push(lock.waiting.clone());
            }
            if lock.holders.is_empty() && lock.waiting.is_empty() {
                self.locks.remove(&key);
            }
        }
        queues
    }

    /// What a session waits for, without a look at all that is locked.
    pub(super) fn wanted(&self, session: u64) -> Option<LockShown> {
        let is_own = |waiting: &BTreeMap<u64, Option<u64>>| {
            waiting.values().any(|waiting| *waiting == Some(session))
        };
        let own = self.writers.iter().filter(|(_, writer)| writer.session == Some(session));
        let of_writer = |(id, writer): (&u64, &Writer)| match (self.upgrading, &writer.waits_for) {
            (Some(upgrading), _) if upgrading == *id => Some(LockShown::Right { is_alone: true }),
            (_, Some((key, mode))) => Some(LockShown::Keys(key.tree, *mode)),
            _ => None,
        };
        own.filter_map(of_writer).next().or_else(|| {
            let is_alone = is_own(&self.excluding);
            (is_alone || is_own(&self.sharing)).then_some(LockShown::Right { is_alone })
        })
    }

    /// What is held and waited for.
    pub(super) fn shown(&self) -> Vec<ShownLock> {
        let mut shown = vec![];
        for (id, writer) in &self.writers {
            let mut show = |what, is_granted| {
                shown.push(ShownLock { session: writer.session, what, is_granted });
            };
            show(LockShown::Right { is_alone: self.exclusive == Some(*id) }, true);
            if self.upgrading == Some(*id) {
                show(LockShown::Right { is_alone: true }, false);
            }
            for (tree, mode) in self.trees_of(*id, writer) {
                show(LockShown::Keys(tree, mode), true);
            }
            if let Some((key, mode)) = &writer.waits_for {
                show(LockShown::Keys(key.tree, *mode), false);
            }
        }
        let what = LockShown::Right { is_alone: true };
        let excluding = self.excluding.values();
        shown.extend(excluding.map(|&session| ShownLock { session, what, is_granted: false }));
        let what = LockShown::Right { is_alone: false };
        let sharing = self.sharing.values();
        shown.extend(sharing.map(|&session| ShownLock { session, what, is_granted: false }));
        shown
    }

    /// The trees of which one has locked keys, with the strongest mode.
    fn trees_of(&self, id: u64, writer: &Writer) -> BTreeMap<TreeId, LockMode> {
        let mut trees = BTreeMap::new();
        for key in &writer.locked {
            let holders = self.locks.get(key).into_iter().flat_map(|lock| &lock.holders);
            for (_, mode) in holders.filter(|(holder, _)| *holder == id) {
                let strongest = trees.entry(key.tree).or_insert(*mode);
                *strongest = (*strongest).max(*mode);
            }
        }
        trees
    }

    /// The sessions that a session waits for.
    pub(super) fn blocking(&self, session: u64) -> Vec<u64> {
        let of_session = |(_, writer): &(&u64, &Writer)| writer.session == Some(session);
        let own = self.writers.iter().filter(of_session).map(|(id, _)| *id);
        let mut blocking: Vec<u64> = own.flat_map(|id| self.waited_for(id)).collect();
        if self.excluding.values().any(|waiting| *waiting == Some(session)) {
            blocking.extend(self.writers.keys());
        }
        if self.sharing.values().any(|waiting| *waiting == Some(session)) {
            blocking.extend(self.exclusive.iter().chain(&self.upgrading));
        }
        blocking.sort_unstable();
        blocking.dedup();
        let holding = blocking.iter().filter_map(|id| self.writers.get(id)?.session);
        let waits_to_share = self.sharing.values().any(|waiting| *waiting == Some(session));
        let before = self.excluding.values().filter(|_| waits_to_share).copied().flatten();
        holding.chain(before).collect()
    }

    /// Whether one waits for others that wait, in the end, for it.
    fn waits_for_itself(&self, id: u64) -> bool {
        let (mut open, mut seen) = (self.waited_for(id), HashSet::new());
        while let Some(next) = open.pop() {
            if next == id {
                return true;
            }
            if seen.insert(next) {
                open.extend(self.waited_for(next));
            }
        }
        false
    }

    /// Those for whose end one waits.
    fn waited_for(&self, id: u64) -> Vec<u64> {
        if self.upgrading == Some(id) {
            return self.writers.keys().copied().filter(|other| *other != id).collect();
        }
        let wanted = self.writers.get(&id).and_then(|writer| writer.waits_for.as_ref());
        let held = wanted.and_then(|(key, mode)| Some((self.locks.get(key)?, *mode)));
        held.map(|(lock, mode)| lock.others(id, mode).collect()).unwrap_or_default()
    }
}
