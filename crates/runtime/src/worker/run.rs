//! The scheduling loop: slices of polls, then timers, submissions, completions, sleep.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Worker;
use crate::inbox::Message;
use crate::ring::wait::Wait;
use crate::stats::bump;
use crate::worker::slice::{LONG_NS, SLICE_NS};

/// Polls between two looks at the inbox, the ring and the clock.
const SLICE_POLL_COUNT: u32 = 64;

/// Urgent polls in a row while others wait.
const URGENT_POLL_COUNT: u32 = 16;

/// Turns of short tasks in a row while long ones wait. A long one's turn takes 100 us where it computes, so
/// this is most of the time where there are few short ones, and still a tenth of all turns where there are many.
const SHORT_POLL_COUNT: u32 = 8;

/// Polls between two glances at the flags for messages and completions, which cost next to nothing.
const GLANCE_POLL_COUNT: u32 = 8;
/// Polls between two glances at the clock, which costs about as much as a switch.
const CLOCK_POLL_COUNT: u32 = 32;

/// A worker that stops waits so long for peers to take what was sent to them from lent memory; then
/// their connections are reset. Whoever wants answers to arrive waits for that himself.
const LINGER_NS: u64 = 1_000_000_000;

/// The same where connections are waited for and something has completed.
const ANSWER_NS: u64 = 40_000;

impl Worker {
    /// Runs until told to stop, then drains.
    pub(crate) fn run(&self) {
        self.accounting.begin(self.now_ns(), crate::clock::thread_ns());
        loop {
            self.take_messages();
            if self.stopping.get() {
                self.drop_tasks();
                if self.inflight.get() == 0 {
                    return;
                }
                self.call_back_late_memory();
            }
            self.slice(SLICE_POLL_COUNT);
            self.fire_timers();
            // Sleeping submits too: with one request in flight that is one system call for each.
            match self.has_ready() {
                true => self.visit_ring(),
                false => self.sleep(),
            }
        }
    }

    /// Of what is still read after a while, the peers are not waited for.
    fn call_back_late_memory(&self) {
        let now_ns = self.now_ns();
        let begin_ns = self.stopping_ns.get().unwrap_or(now_ns);
        self.stopping_ns.set(Some(begin_ns));
        if now_ns - begin_ns >= LINGER_NS {
            self.call_back_memory();
        }
    }

    /// Carries out what other threads asked for.
    pub(crate) fn take_messages(&self) -> bool {
        if !self.inbox().filled() {
            return false;
        }
        for message in self.inbox().take() {
            match message {
                Message::Wake(task) => self.wake(task),
                Message::Done(op, outcome) => self.arrived(op, outcome),
                Message::Forget(number) => self.ring.borrow_mut().forget(number),
                Message::Stop => self.stopping.set(true),
                Message::Run(run) => self.run_message(run),
            }
        }
        true
    }

    pub(super) fn run_message(&self, run: Box<dyn FnOnce() + Send>) {
        // Spawning catches the panics of the future; only its allocation could fail here.
        let ran = catch_unwind(AssertUnwindSafe(run));
        bump(&self.counters().panicked, u64::from(ran.is_err()));
    }

    pub(crate) fn has_ready(&self) -> bool {
        self.window.len() > 0 || self.has_queued() || !self.urgent.borrow().is_empty()
    }

    /// Whether tasks wait for their turn that are not urgent.
    #[inline]
    fn has_queued(&self) -> bool {
        !self.ready.borrow().is_empty() || !self.long.borrow().is_empty()
    }

    /// Polls up to `limit` tasks.
    pub(crate) fn slice(&self, limit: u32) {
        // No task has done the worker's own work since the last slice.
        self.look_at_processor();
        self.slice_start_ns.set(self.now_ns());
        self.preempt.set(false);
        self.rotate_window();
        let mut polls = 0;
        while polls < limit {
            let Some(task) = self.next_task() else { break };
            self.poll_task(task);
            polls += 1;
            // A task that computes has looked at the clock: the slice is used up.
            if self.preempt.get() || self.slice_is_over(polls) {
                break;
            }
            if self.has_ready() && (self.answers_wait() || self.wants_submit()) {
                self.visit_ring();
            }
        }
        let now_ns = self.now_ns();
        self.accounting.charge(now_ns);
        if self.accounting.is_unsettled(now_ns) {
            let cpu_ns = (!self.is_simulated()).then(crate::clock::thread_ns);
            self.accounting.settle(now_ns, cpu_ns);
        }
        let (counters, busy_ns) = (self.counters(), now_ns - self.slice_start_ns.get());
        self.long_polls.set(busy_ns > LONG_NS * u64::from(polls.max(1)));
        bump(&counters.polls, u64::from(polls));
        bump(&counters.busy_ns, busy_ns);
        self.publish();
    }

    #[inline]
    fn wants_submit(&self) -> bool {
        self.ring.borrow().wants_submit(self.transfers())
    }

    /// All clients that asked are answered as far as it goes now, and what is left to do is the work
    /// of queries, which may take a slice or two: their answers leave before it.
    #[inline]
    fn answers_wait(&self) -> bool {
        self.ring.borrow().has_answers() && self.urgent.borrow().is_empty()
    }

    /// There are messages, completions can be had, or time is up. Where polls take long, time is looked
    /// at after each, and where a client may have called; else now and then.
    #[inline]
    fn slice_is_over(&self, polls: u32) -> bool {
        if polls.is_multiple_of(GLANCE_POLL_COUNT) && self.is_called() {
            return true;
        }
        let is_due = polls.is_multiple_of(CLOCK_POLL_COUNT) || self.long_polls.get();
        (is_due || self.client_called()) && self.time_is_up(self.now_ns())
    }

    /// The slice is used up: sooner when connections are waited for and something has completed.
    pub(super) fn time_is_up(&self, now_ns: u64) -> bool {
        let used_ns = now_ns.saturating_sub(self.slice_start_ns.get());
        used_ns > SLICE_NS || used_ns > ANSWER_NS && self.client_called()
    }

    /// Something has completed, or another thread has sent something.
    #[inline]
    fn is_called(&self) -> bool {
        self.inbox().filled() || self.ring.borrow_mut().has_completions()
    }

    /// The same where connections are waited for.
    #[inline]
    pub(super) fn client_called(&self) -> bool {
        self.clients.get() > 0 && self.is_called()
    }

    /// A task of a client that waits for a short answer goes before those of queries, which take
    /// long anyway; but not for ever.
    #[inline]
    fn next_urgent(&self) -> Option<stdx::Key> {
        let mut urgent = self.urgent.borrow_mut();
        let polls = self.urgent_polls.get();
        if urgent.is_empty() || polls == URGENT_POLL_COUNT {
            self.urgent_polls.set(0);
            let others = self.window.len() > 0 || self.has_queued();
            return if others { None } else { urgent.pop_front() };
        }
        self.urgent_polls.set(polls + 1);
        if self.shared.attack && urgent.len() > 1 {
            let other = self.random.borrow_mut().below(urgent.len() as u64) as usize;
            urgent.swap(0, other);
        }
        urgent.pop_front()
    }

    /// A task that is not urgent: one of a long account when there is no other, or when the others have had
    /// their turns.
    #[inline]
    fn next_queued(&self) -> Option<stdx::Key> {
        let (mut ready, mut long) = (self.ready.borrow_mut(), self.long.borrow_mut());
        let short_polls = if long.is_empty() { 0 } else { self.short_polls.get() + 1 };
        let is_long = !long.is_empty() && (ready.is_empty() || short_polls > SHORT_POLL_COUNT);
        self.short_polls.set(if is_long { 0 } else { short_polls });
        let queue = if is_long { &mut long } else { &mut ready };
        if self.shared.attack && queue.len() > 1 {
            let other = self.random.borrow_mut().below(queue.len() as u64) as usize;
            queue.swap(0, other);
        }
        queue.pop_front()
    }

    /// Fills the window from the queues: a ready task, urgent ones before others, runs first while
    /// there is room beside it, so the window never holds more than its size. One that did not
    /// join the window has filled nothing: the window has its turn then, however many are ready.
    #[inline]
    fn next_task(&self) -> Option<stdx::Key> {
        if self.window.len() < self.shared.window {
            if let Some(task) = self.next_urgent() {
                return Some(task);
            }
            if self.window_is_due.replace(false)
                && let Some(task) = self.window.pop_front()
            {
                return Some(task);
            }
            if let Some(task) = self.next_queued() {
                self.window_is_due.set(true);
                return Some(task);
            }
        }
        self.window.pop_front()
    }

    /// Once per slice the oldest task of a full window changes places with its queue, so
    /// that tasks which interleave for ever do not starve completions.
    fn rotate_window(&self) {
        if self.window.len() >= self.shared.window
            && (self.has_queued() || !self.urgent.borrow().is_empty())
            && let Some(oldest) = self.window.pop_front()
            && let Some(frame) = self.frame(oldest)
        {
            // SAFETY: a frame lives while the table knows it; nothing foreign runs here.
            self.line(unsafe { frame.as_ref() }).borrow_mut().push_back(oldest);
        }
    }

    pub(crate) fn fire_timers(&self) {
        if self.timers.borrow_mut().next_ns().is_none() {
            return;
        }
        let now_ns = self.now_ns();
        loop {
            let due = self.timers.borrow_mut().pop_due(now_ns);
            let Some(waker) = due else { return };
            waker.wake();
        }
    }

    /// Submits and collects without waiting.
    fn visit_ring(&self) {
        self.turn(Wait::No);
    }

    /// Waits in the kernel for a completion, a message or the next timer.
    fn sleep(&self) {
        self.shared.sleepers.enter();
        // In this order: who has surplus looks for sleepers, who falls asleep looks for surplus.
        if self.inbox().fall_asleep() {
            match self.finds_surplus() {
                true => drop(self.take_surplus()),
                false => self.wait_in_kernel(),
            }
            self.inbox().awake();
        }
        self.shared.sleepers.leave();
    }

    fn wait_in_kernel(&self) {
        let before_ns = self.now_ns();
        let timer = self.timers.borrow_mut().next_ns();
        let deadline = match self.stopping_ns.get() {
            Some(begin_ns) if before_ns < begin_ns + LINGER_NS => Some(begin_ns + LINGER_NS),
            _ => timer,
        };
        let wait = deadline.map_or(Wait::Forever, |ns| Wait::Ns(ns.saturating_sub(before_ns)));
        self.turn(wait);
        let now_ns = self.now_ns();
        self.accounting.slept(now_ns - before_ns, now_ns);
        bump(&self.counters().sleeps, 1);
        bump(&self.counters().idle_ns, now_ns - before_ns);
    }

    fn turn(&self, wait: Wait) {
        let ended = self.ring.borrow_mut().turn(wait, self.transfers(), self.counters());
        for (key, told) in ended {
            self.told(key, told);
        }
    }

    /// Makes the worker's gauges visible to other threads.
    pub(crate) fn publish(&self) {
        let (tasks, bytes) = self.live_tasks();
        let pool = self.ring.borrow().pool_threads();
        self.counters().gauges(tasks, bytes, self.inflight.get(), pool);
    }

    /// Frees everything in the order that the kernel needs: tasks, operations in flight (already
    /// drained by `run`), the ring.
    pub(crate) fn close(&self) {
        assert_eq!(self.inflight.get(), 0, "a worker closes with nothing in flight");
        // Unkept promises in late messages tell their handles.
        drop(self.inbox().close());
        self.drop_tasks();
        self.ops.replace(stdx::Slab::default());
        self.publish();
    }

    /// Stops the worker of a simulation: no task survives.
    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        self.take_messages();
        self.drop_tasks();
        self.call_back_memory();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }
}
