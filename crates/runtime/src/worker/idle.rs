//! What a worker does when nothing is ready: it looks out for a moment, then sleeps in the kernel.

use std::cell::Cell;

use super::Worker;
use crate::ring::Wait;
use crate::stats::bump;

/// So long a worker looks out before it sleeps: as long as it takes to wake the core that a client
/// on the same virtual machine sleeps on, and to hear from it.
const WATCH_NS: u64 = 300_000;

/// Where looking out does not pay, every so many sleeps it is tried again: times change.
const RETRY_COUNT: u32 = 32;

/// Most successes that are remembered.
const CREDIT_MAX: i32 = 8;

/// How well looking out has paid.
#[derive(Default)]
pub(super) struct Watcher {
    /// Successes less twice the failures, within bounds.
    credit: Cell<i32>,
    /// Sleeps since it was tried.
    sleeps: Cell<u32>,
}

impl Watcher {
    /// Whether to look out before the next sleep.
    fn tries(&self) -> bool {
        if self.credit.get() >= 0 {
            return true;
        }
        let sleeps = self.sleeps.get() + 1;
        self.sleeps.set(sleeps % RETRY_COUNT);
        sleeps == RETRY_COUNT
    }

    fn note(&self, came: bool) {
        self.sleeps.set(0);
        let credit = self.credit.get();
        self.credit.set(if came { (credit + 1).min(CREDIT_MAX) } else { (credit - 2).max(-2) });
    }
}

impl Worker {
    /// Waits for a completion, a message or the next timer.
    pub(super) fn idle(&self) {
        if !self.looks_out() {
            self.sleep();
        }
    }

    /// True when something came within moments. Only clients are looked out for: the answer to an
    /// answer comes within microseconds, and a disk leaves the core to others.
    fn looks_out(&self) -> bool {
        let only_clients = self.sockets.get() > 0 && self.transfers() == 0;
        if !only_clients || !self.watcher.tries() {
            return false;
        }
        self.ring.borrow_mut().flush(self.counters());
        let begin_ns = self.now_ns();
        let timer_ns = self.timers.borrow_mut().next_ns().unwrap_or(u64::MAX);
        let (came, now_ns) = self.look_until(timer_ns.min(begin_ns + WATCH_NS));
        self.watcher.note(came);
        self.till.slept(now_ns - begin_ns, now_ns);
        bump(&self.counters().idle_ns, now_ns - begin_ns);
        if came {
            self.turn(Wait::No);
        }
        came
    }

    /// Whether something came before `end_ns`, and the time.
    fn look_until(&self, end_ns: u64) -> (bool, u64) {
        loop {
            let came = self.inbox().filled() || self.ring.borrow_mut().has_completions();
            let now_ns = self.now_ns();
            if came || now_ns >= end_ns {
                return (came, now_ns);
            }
            std::hint::spin_loop();
        }
    }

    fn sleep(&self) {
        if !self.inbox().fall_asleep() {
            return;
        }
        let before_ns = self.now_ns();
        let deadline = self.timers.borrow_mut().next_ns();
        let wait = deadline.map_or(Wait::Forever, |ns| Wait::Ns(ns.saturating_sub(before_ns)));
        self.turn(wait);
        self.inbox().awake();
        let now_ns = self.now_ns();
        self.till.slept(now_ns - before_ns, now_ns);
        bump(&self.counters().sleeps, 1);
        bump(&self.counters().idle_ns, now_ns - before_ns);
    }
}

#[cfg(test)]
mod tests;
