//! Who has the right to write, who has locked what, and who waits for whom.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use foldhash::HashMap;
use runtime::sync::WaitQueue;
use storage::{TreeId, planted};

use super::mode::{LockKey, LockMode, LockShown, RightKind, ShownLock};

#[derive(Default)]
pub(super) struct State {
    last_id: u64,
    writers: BTreeMap<u64, Writer>,
    exclusive: Option<u64>,
    /// Who may change definitions beside others that write.
    definer: Option<u64>,
    /// Who waits to change definitions and has no right yet, each with its session.
    pub(super) defining: BTreeMap<u64, Option<u64>>,
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
    /// It waits until it may change definitions.
    waits_to_define: bool,
    /// Its waits end soon by themselves: nobody waits for it in a circle.
    gives_up: bool,
}

#[derive(Default)]
struct Lock {
    holders: Vec<(u64, LockMode)>,
    /// Transactions that wait for it, in the order in which they came and get it.
    wanted: Vec<(u64, LockMode)>,
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
    fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.wanted.is_empty()
    }

    /// Those that keep `id` from locking it so, when that waits or begins to.
    fn others(&self, id: u64, mode: LockMode) -> impl Iterator<Item = u64> {
        let in_the_way =
            move |(holder, held): &&(u64, LockMode)| *holder != id && held.conflicts(mode);
        // Who has a part of it goes first: the others wait for that one.
        let own = self.holders.iter().position(|(holder, _)| *holder == id);
        let before = self.wanted.iter().take_while(move |(other, _)| own.is_none() && *other != id);
        self.holders.iter().chain(before).filter(in_the_way).map(|(other, _)| *other)
    }

    /// True if one may pass those that wait: as long as they are kept out by others, who lets it in
    /// keeps nobody waiting that could go on. Whoever could go on now has it as good as got.
    fn lets_pass(&self, id: u64, mode: LockMode) -> bool {
        let held = |(holder, held): &(u64, LockMode)| *holder != id && held.conflicts(mode);
        let is_next = |(other, wanted): &(u64, LockMode)| {
            wanted.conflicts(mode) && self.others(*other, *wanted).next().is_none()
        };
        let has_part = self.holders.iter().any(|(holder, _)| *holder == id);
        !self.holders.iter().any(held) && (has_part || !self.wanted.iter().any(is_next))
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
        if !self.may_enter(id) {
            return None;
        }
        self.writers.entry(id).or_default().session = session;
        Some(())
    }

    /// One that shares the right waits for keys a moment at most.
    pub(super) fn set_giving_up(&mut self, id: u64) {
        self.writers.get_mut(&id).expect("who gives up has the right to write").gives_up = true;
    }

    /// Whether one has the right, or may have it beside others.
    fn may_enter(&self, id: u64) -> bool {
        let may_share = self.exclusive.is_none() && !self.is_wanted_alone();
        self.writers.contains_key(&id) || may_share
    }

    /// Whether somebody waits to write alone.
    pub(super) fn is_wanted_alone(&self) -> bool {
        !self.excluding.is_empty() || self.upgrading.is_some()
    }

    /// Whether one may change definitions.
    pub(super) fn may_define(&self, id: u64) -> bool {
        self.is_exclusive(id) || self.definer == Some(id)
    }

    /// Lets one change definitions, which may have the right already.
    pub(super) fn define(&mut self, id: u64, session: Option<u64>) -> Option<()> {
        if self.may_define(id) {
            return Some(());
        }
        if self.definer.is_some() || !self.may_enter(id) {
            return None;
        }
        self.writers.entry(id).or_default().session = session;
        self.definer = Some(id);
        Some(())
    }

    /// One that has the right waits to change definitions; not when that would be in a circle.
    pub(super) fn begin_define(&mut self, id: u64) -> bool {
        self.set_waits_to_define(id, true);
        let waits_in_vain = self.waits_for_itself(id);
        if waits_in_vain {
            self.set_waits_to_define(id, false);
        }
        !waits_in_vain
    }

    /// One waits for the end of the one who may change definitions, with or without a right of its
    /// own; not when that would be in a circle.
    pub(super) fn begin_await(&mut self, id: u64, session: Option<u64>) -> bool {
        if !self.writers.contains_key(&id) {
            self.defining.insert(id, session);
            return true;
        }
        self.begin_define(id)
    }

    /// One waits no more to change definitions.
    pub(super) fn end_define(&mut self, id: u64) {
        self.defining.remove(&id);
        self.set_waits_to_define(id, false);
    }

    fn set_waits_to_define(&mut self, id: u64, waits: bool) {
        if let Some(writer) = self.writers.get_mut(&id) {
            writer.waits_to_define = waits;
        }
    }

    /// Whether a session has the right.
    pub(super) fn has_right(&self, session: u64) -> bool {
        self.writers.values().any(|writer| writer.session == Some(session))
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

    /// Takes the right from one that has locked nothing and does not change definitions.
    pub(super) fn leave_unlocked(&mut self, id: u64) -> bool {
        let has_locked = self.writers.get(&id).is_some_and(|writer| !writer.locked.is_empty());
        let leaves = !has_locked && self.definer != Some(id);
        if leaves {
            self.writers.remove(&id);
        }
        leaves
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

    /// Locks a key, unless others are in the way: whether it has it. One that comes to a row passes
    /// those that wait for it where it may share the row with who has it, as in PostgreSQL; one
    /// that comes to a table does not, or who wants all of it would wait as long as others come
    /// that share it.
    pub(super) fn take(&mut self, id: u64, key: &LockKey, mode: LockMode) -> bool {
        let writer = self.writers.get_mut(&id).expect("who locks has the right to write");
        let lock = self.locks.entry(key.clone()).or_default();
        let own = lock.holders.iter().position(|(holder, _)| *holder == id);
        if own.is_some_and(|at| lock.holders[at].1 >= mode) {
            return true;
        }
        let waits = writer.waits_for.as_ref().is_some_and(|(waited_for, _)| waited_for == key);
        let is_free = match waits || key.is_table() {
            true => lock.others(id, mode).next().is_none(),
            false => lock.lets_pass(id, mode),
        };
        if !is_free {
            return false;
        }
        match own {
            Some(at) => lock.holders[at].1 = mode,
            None => {
                lock.holders.push((id, mode));
                writer.locked.push(key.clone());
            }
        }
        true
    }

    /// One waits for a key: where it does; not when that would be in a circle.
    pub(super) fn begin_wait(
        &mut self,
        id: u64,
        key: &LockKey,
        mode: LockMode,
    ) -> Option<Arc<WaitQueue>> {
        let before = self.set_wait(id, Some((key.clone(), mode)));
        assert!(before.is_none(), "one waits for one key at a time");
        let lock = self.locks.entry(key.clone()).or_default();
        lock.wanted.push((id, mode));
        let queue = lock.waiting.clone();
        let waits_in_vain = self.waits_for_itself(id) && !planted::is("deadlock-unseen");
        if waits_in_vain {
            self.end_wait(id);
        }
        (!waits_in_vain).then_some(queue)
    }

    /// One waits for a key no more; where those wait that have been behind it and may go on now.
    pub(super) fn end_wait(&mut self, id: u64) -> Option<Arc<WaitQueue>> {
        let (key, mode) = self.set_wait(id, None)?;
        let lock = self.locks.get_mut(&key).expect("what is waited for has a lock");
        let place = lock.wanted.iter().position(|(other, _)| *other == id);
        let place = place.expect("who waits has a place");
        lock.wanted.remove(place);
        if lock.is_idle() {
            self.locks.remove(&key);
            return None;
        }
        // A waiter that has it now keeps out the same as before.
        let has_it = lock.holders.iter().any(|(holder, held)| *holder == id && *held >= mode);
        let was_last = place == lock.wanted.len();
        (!has_it && !was_last).then(|| lock.waiting.clone())
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
        self.writers.is_empty()
            && self.locks.is_empty()
            && self.exclusive.is_none()
            && self.definer.is_none()
            && self.defining.is_empty()
    }

    /// Takes the right and all locks from one; who may wait for these.
    pub(super) fn leave(&mut self, id: u64) -> Vec<Arc<WaitQueue>> {
        if self.exclusive == Some(id) {
            self.exclusive = None;
        }
        if self.definer == Some(id) {
            self.definer = None;
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
        self.let_go_last(id, usize::MAX)
    }

    /// The same of the `most` locks that it took last.
    pub(super) fn let_go_last(&mut self, id: u64, most: usize) -> Vec<Arc<WaitQueue>> {
        let Some(writer) = self.writers.get_mut(&id) else { return vec![] };
        let mut queues = vec![];
        let kept = writer.locked.len().saturating_sub(most);
        for key in writer.locked.split_off(kept) {
            let lock = self.locks.get_mut(&key).expect("what is locked has a lock");
            lock.holders.retain(|(holder, _)| *holder != id);
            if !lock.wanted.is_empty() {
                queues.push(lock.waiting.clone());
            }
            if lock.is_idle() {
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
            (Some(upgrading), _) if upgrading == *id => Some(LockShown::Right(RightKind::Exclude)),
            (_, Some((key, mode))) => Some(LockShown::Keys(key.tree, *mode)),
            _ if writer.waits_to_define => Some(LockShown::Right(RightKind::Define)),
            _ => None,
        };
        own.filter_map(of_writer).next().or_else(|| {
            let waiting = self.waiting().into_iter();
            let mut own = waiting.filter(|(_, waiting)| is_own(waiting));
            own.next().map(|(kind, _)| LockShown::Right(kind))
        })
    }

    /// Those that wait for a right and have none, each with its session.
    fn waiting(&self) -> [(RightKind, &BTreeMap<u64, Option<u64>>); 3] {
        [
            (RightKind::Exclude, &self.excluding),
            (RightKind::Define, &self.defining),
            (RightKind::Share, &self.sharing),
        ]
    }

    /// How far the right of one goes that has it.
    fn kind_of(&self, id: u64) -> RightKind {
        match (self.is_exclusive(id), self.may_define(id)) {
            (true, _) => RightKind::Exclude,
            (_, true) => RightKind::Define,
            _ => RightKind::Share,
        }
    }

    /// What is held and waited for.
    pub(super) fn shown(&self) -> Vec<ShownLock> {
        let mut shown = vec![];
        for (id, writer) in &self.writers {
            let mut show = |what, is_granted| {
                shown.push(ShownLock { session: writer.session, what, is_granted });
            };
            show(LockShown::Right(self.kind_of(*id)), true);
            if self.upgrading == Some(*id) {
                show(LockShown::Right(RightKind::Exclude), false);
            }
            if writer.waits_to_define {
                show(LockShown::Right(RightKind::Define), false);
            }
            for (tree, mode) in self.trees_of(*id, writer) {
                show(LockShown::Keys(tree, mode), true);
            }
            if let Some((key, mode)) = &writer.waits_for {
                show(LockShown::Keys(key.tree, *mode), false);
            }
        }
        for (kind, waiting) in self.waiting() {
            let what = LockShown::Right(kind);
            let sessions = waiting.values();
            shown.extend(sessions.map(|&session| ShownLock { session, what, is_granted: false }));
        }
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
        let waits_to = |waiting: &BTreeMap<u64, Option<u64>>| {
            waiting.values().any(|waiting| *waiting == Some(session))
        };
        let (waits_to_define, waits_to_share) = (waits_to(&self.defining), waits_to(&self.sharing));
        if waits_to_define {
            blocking.extend(self.definer);
        }
        let waits_to_enter = waits_to_define || waits_to_share;
        if waits_to_enter {
            blocking.extend(self.exclusive.iter().chain(&self.upgrading));
        }
        blocking.sort_unstable();
        blocking.dedup();
        let holding = blocking.iter().filter_map(|id| self.writers.get(id)?.session);
        let before = self.excluding.values().filter(|_| waits_to_enter).copied().flatten();
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
        if self.writers.get(&id).is_some_and(|writer| writer.gives_up) {
            return vec![];
        }
        if self.upgrading == Some(id) {
            return self.writers.keys().copied().filter(|other| *other != id).collect();
        }
        if self.writers.get(&id).is_some_and(|writer| writer.waits_to_define) {
            return self.definer.into_iter().collect();
        }
        let wanted = self.writers.get(&id).and_then(|writer| writer.waits_for.as_ref());
        let held = wanted.and_then(|(key, mode)| Some((self.locks.get(key)?, *mode)));
        held.map(|(lock, mode)| lock.others(id, mode).collect()).unwrap_or_default()
    }
}
