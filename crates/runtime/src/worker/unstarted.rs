//! Tasks that have not started and may start on any worker: each worker keeps its own, and one that
//! is about to sleep may take some.
//!
//! Migration is conservative (DESIGN, section 3). A task that has started never moves. A worker
//! keeps what it can start itself: others take only from what is beyond its interleave window, or
//! when it has started nothing for a whole slice.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::lock::lock;
use crate::worker::slice::SLICE_NS;

/// Most tasks that one visit takes: what a slice polls.
const TAKEN_COUNT_MAX: usize = 64;

/// Starts a task on the worker that runs it, and polls it once.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The unstarted tasks of one worker, oldest first.
#[derive(Default)]
pub(crate) struct Unstarted {
    jobs: Mutex<VecDeque<Job>>,
    /// The length of `jobs`, to be read without the lock.
    len: AtomicUsize,
    /// When the owner last started one, or began a new queue.
    started_ns: AtomicU64,
    /// The owner took longer than a slice between its last two starts: who is called for help comes
    /// just after a start, and must still find something.
    is_late: AtomicBool,
}

impl Unstarted {
    /// Adds the newest; returns how many there are now.
    pub(super) fn push(&self, job: Job, now_ns: impl FnOnce() -> u64) -> usize {
        let mut jobs = lock(&self.jobs);
        if jobs.is_empty() {
            self.started_ns.store(now_ns(), Ordering::SeqCst);
        }
        jobs.push_back(job);
        self.len.store(jobs.len(), Ordering::SeqCst);
        jobs.len()
    }

    /// The oldest, for its owner to start.
    pub(super) fn pop(&self) -> Option<Job> {
        let mut jobs = lock(&self.jobs);
        let job = jobs.pop_front()?;
        self.len.store(jobs.len(), Ordering::SeqCst);
        Some(job)
    }

    /// Notes that the owner starts one; true when that is late.
    pub(super) fn note_start(&self, now_ns: u64) -> bool {
        let late = self.is_overdue(now_ns);
        self.is_late.store(late, Ordering::SeqCst);
        self.started_ns.store(now_ns, Ordering::SeqCst);
        late
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::SeqCst)
    }

    /// How many another worker may take when their owner can start `kept` itself: half of the
    /// rest, or half of all when the owner is busy with something else.
    pub(super) fn surplus(&self, kept: usize, now_ns: impl FnOnce() -> u64) -> usize {
        let len = self.len();
        let extra = if len > kept {
            len - kept
        } else if len > 0 && (self.is_late.load(Ordering::SeqCst) || self.is_overdue(now_ns())) {
            len
        } else {
            0
        };
        extra.div_ceil(2).min(TAKEN_COUNT_MAX)
    }

    /// Whether the owner has started none for longer than a slice.
    fn is_overdue(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.started_ns.load(Ordering::SeqCst)) > SLICE_NS
    }

    /// Takes the oldest ones, for another worker; as many as it may by now.
    pub(super) fn take(&self, kept: usize, now_ns: impl FnOnce() -> u64) -> Vec<Job> {
        let mut jobs = lock(&self.jobs);
        let count = self.surplus(kept, now_ns).min(jobs.len());
        let taken = jobs.drain(..count).collect();
        self.len.store(jobs.len(), Ordering::SeqCst);
        taken
    }

    /// Takes all.
    pub(super) fn clear(&self) -> VecDeque<Job> {
        let mut jobs = lock(&self.jobs);
        self.len.store(0, Ordering::SeqCst);
        std::mem::take(&mut *jobs)
    }
}

/// Who sleeps, as far as migration is concerned.
#[derive(Default)]
pub(crate) struct Sleepers {
    /// Workers asleep or about to be.
    count: AtomicUsize,
    /// One of them has been called to take surplus and is not awake yet: one at a time, so that a
    /// burst of spawns costs one system call.
    called: AtomicBool,
}

impl Sleepers {
    pub(super) fn enter(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Somebody is awake: the next surplus may call again.
    pub(super) fn leave(&self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
        self.called.store(false, Ordering::SeqCst);
    }

    /// Whether one is to be called now; then `call_failed` says so if none could be.
    pub(super) fn may_call(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0 && !self.called.swap(true, Ordering::SeqCst)
    }

    pub(super) fn call_failed(&self) {
        self.called.store(false, Ordering::SeqCst);
    }
}
