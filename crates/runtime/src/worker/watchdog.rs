//! The watchdog: notes the task that kept a worker longest without giving way.
//!
//! In debug builds only, since it reads a clock twice for each poll: that of the thread's processor time,
//! so that what other programs take from the worker does not count.

#[cfg(debug_assertions)]
use std::cell::Cell;
#[cfg(debug_assertions)]
use std::sync::Mutex;

use crate::task::frame::VTable;

/// The longest poll of a runtime so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongestPoll {
    /// Processor time, in nanoseconds.
    pub cpu_ns: u64,
    /// The task, as its future's type.
    pub task: &'static str,
}

/// One for all workers.
#[derive(Default)]
pub(crate) struct Watchdog {
    #[cfg(debug_assertions)]
    longest: Mutex<LongestPoll>,
}

/// What one worker knows, so that it rarely asks the others.
#[derive(Default)]
pub(crate) struct Watched {
    #[cfg(debug_assertions)]
    longest_ns: Cell<u64>,
}

impl Watchdog {
    /// The longest poll so far.
    #[cfg(debug_assertions)]
    pub(crate) fn longest(&self) -> Option<LongestPoll> {
        Some(crate::lock::lock(&self.longest).clone())
    }

    /// Release builds do not look.
    #[cfg(not(debug_assertions))]
    pub(crate) fn longest(&self) -> Option<LongestPoll> {
        None
    }

    #[cfg(debug_assertions)]
    fn note(&self, cpu_ns: u64, task: &'static str) {
        let mut longest = crate::lock::lock(&self.longest);
        if cpu_ns > longest.cpu_ns {
            *longest = LongestPoll { cpu_ns, task };
        }
    }
}

impl Watched {
    /// Does the work of one poll.
    #[inline]
    #[cfg(not(debug_assertions))]
    pub(crate) fn timed(&self, _dog: &Watchdog, _of: &VTable, poll: impl FnOnce() -> bool) -> bool {
        poll()
    }

    /// Does the work of one poll, and notes how long it took if that is longer than ever.
    #[cfg(debug_assertions)]
    pub(crate) fn timed(&self, dog: &Watchdog, of: &VTable, poll: impl FnOnce() -> bool) -> bool {
        let began = crate::clock::thread_ns();
        let done = poll();
        let cpu_ns = crate::clock::thread_ns() - began;
        if cpu_ns > self.longest_ns.get() {
            self.longest_ns.set(cpu_ns);
            dog.note(cpu_ns, (of.name)());
        }
        done
    }
}
