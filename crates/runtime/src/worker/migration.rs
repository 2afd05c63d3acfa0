//! Migration of tasks that have not started: kept, started at their turn, given away, taken.
//!
//! A task in waiting has its turn in the ready queue like any other, by a mark; when another worker
//! has taken it, its mark is spent for nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stdx::Key;

use super::Worker;
use super::unstarted::{Job, Unstarted};
use crate::stats::bump;

/// The mark in the ready queue; no task has this key.
pub(super) const MARK: Key = Key::new(u32::MAX, u32::MAX);

impl Worker {
    /// Keeps a task that may start on any worker; a worker that is stopping drops it.
    pub(crate) fn keep(&self, job: Job) {
        if self.is_stopping() {
            return drop(job);
        }
        let len = self.unstarted().push(job, || self.now_ns());
        self.ready.borrow_mut().push_back(MARK);
        if len > self.kept_count() {
            self.call_for_help();
        }
    }

    /// What the worker is sure to start soon itself. Under attack nothing is safe.
    fn kept_count(&self) -> usize {
        if self.shared.attack { 0 } else { self.shared.window }
    }

    fn unstarted(&self) -> &Unstarted {
        &self.shared.unstarted[self.index]
    }

    /// Starts the oldest unstarted task, if it is still here.
    #[cold]
    pub(super) fn start_marked(&self) {
        let Some(job) = self.unstarted().pop() else { return };
        let late = self.unstarted().note_start(self.now_ns());
        // Others waited while a task computed: more than this worker can start.
        if late && self.unstarted().len() > 0 {
            self.call_for_help();
        }
        self.run_message(job);
    }

    /// Wakes one sleeping worker to take from the surplus, unless one is on its way.
    fn call_for_help(&self) {
        if !self.shared.migrate || !self.shared.sleepers.may_call() {
            return;
        }
        let count = self.shared.inboxes.len();
        let others = (1..count).map(|step| (self.index + step) % count);
        if !others.map(|other| &self.shared.inboxes[other]).any(|inbox| inbox.nudge()) {
            self.shared.sleepers.call_failed();
        }
    }

    /// Whether another worker has tasks for this one, which has nothing to do.
    pub(crate) fn finds_surplus(&self) -> bool {
        self.surplus_at().is_some()
    }

    /// The next worker that has more than it can start, if this one could start anything.
    fn surplus_at(&self) -> Option<usize> {
        let shared = &self.shared;
        if !shared.migrate || self.is_stopping() || !self.has_room() {
            return None;
        }
        let count = shared.inboxes.len();
        let others = (1..count).map(|step| (self.index + step) % count);
        let has_surplus = |other: &usize| {
            shared.unstarted[*other].surplus(self.kept_count(), || self.now_ns()) > 0
        };
        others.into_iter().find(has_surplus)
    }

    /// Takes unstarted tasks of another worker: whose, and how many.
    pub(crate) fn take_surplus(&self) -> Option<(usize, usize)> {
        let from = self.surplus_at()?;
        let jobs = self.shared.unstarted[from].take(self.kept_count(), || self.now_ns());
        let count = jobs.len();
        bump(&self.counters().migrated, count as u64);
        jobs.into_iter().for_each(|job| self.keep(job));
        // There is enough for one more.
        if count > 0 && self.surplus_at().is_some() {
            self.call_for_help();
        }
        Some((from, count))
    }

    /// Drops what was never started, and what the destructors keep in its place.
    pub(super) fn drop_unstarted(&self) {
        for job in self.unstarted().clear() {
            // A destructor of what the task was to own is foreign code.
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(job)));
            bump(&self.counters().panicked, u64::from(dropped.is_err()));
        }
    }
}
