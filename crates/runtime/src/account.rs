//! What one query costs: counted per worker without contention, summed on demand.
//!
//! Busy time is charged when the running account changes and when a slice of polls ends, so tasks
//! that take turns under one account cost no clock reading. The clock that is read then is the monotonic one,
//! which costs a tenth of a thread's processor clock; every [`SETTLE_NS`] the worker's processor time, with
//! what the kernel did for it (submissions, completions), replaces what was charged meanwhile, shared out as
//! that was.

pub(crate) mod enter;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use stdx::CachePadded;

use crate::config::WORKER_COUNT_MAX;
use crate::stats::{add, subtract};
use crate::trace::IoTrace;

/// The counters of one account on one worker. Only that worker writes them.
#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) created: AtomicU64,
    pub(crate) done: AtomicU64,
    pub(crate) runnable: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) write_bytes: AtomicU64,
    pub(crate) cpu_ns: AtomicU64,
    pub(crate) stall_ns: AtomicU64,
    pub(crate) inflight: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
}

/// The account of one query. It belongs to one runtime: each worker has its own counters in it.
pub struct Account {
    shards: Box<[OnceLock<Box<CachePadded<Shard>>>]>,
    trace: Option<Arc<IoTrace>>,
}

/// The sums of an account at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountSnapshot {
    /// Tasks spawned so far.
    pub created: u64,
    /// Tasks ready or being polled.
    pub running: u64,
    /// Tasks suspended.
    pub waiting: u64,
    /// Tasks finished, aborted ones included.
    pub done: u64,
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes that sockets have received into memory of operations.
    pub received_bytes: u64,
    /// Bytes that sockets have sent from memory of operations.
    pub sent_bytes: u64,
    /// Requests in flight now.
    pub inflight: u64,
    /// Processor time of workers for the account's tasks, in user mode and in the kernel, nanoseconds. What has
    /// been added since a worker's last settling counts by the monotonic clock, so that a later snapshot may say
    /// a little less.
    pub cpu_ns: u64,
    /// Time that workers slept while the account had requests in flight there, nanoseconds.
    pub stall_ns: u64,
}

impl Account {
    /// An account with nothing in it.
    pub fn new() -> Arc<Account> {
        Account::with(None)
    }

    /// An account whose every request is noted in `trace`, which costs a clock reading each.
    pub fn traced(trace: Arc<IoTrace>) -> Arc<Account> {
        Account::with(Some(trace))
    }

    fn with(trace: Option<Arc<IoTrace>>) -> Arc<Account> {
        let shards = (0..WORKER_COUNT_MAX).map(|_| OnceLock::new()).collect();
        Arc::new(Account { shards, trace })
    }

    pub(crate) fn trace(&self) -> Option<&IoTrace> {
        self.trace.as_deref()
    }

    fn shard(&self, worker: usize) -> &Shard {
        self.shards[worker].get_or_init(Default::default)
    }

    /// The sums now. Counts of different workers are read one after the other.
    pub fn snapshot(&self) -> AccountSnapshot {
        let mut sum = AccountSnapshot::default();
        for shard in self.shards.iter().filter_map(OnceLock::get) {
            sum.created += shard.created.load(Relaxed);
            sum.done += shard.done.load(Relaxed);
            sum.running += shard.runnable.load(Relaxed);
            sum.reads += shard.reads.load(Relaxed);
            sum.read_bytes += shard.read_bytes.load(Relaxed);
            sum.writes += shard.writes.load(Relaxed);
            sum.write_bytes += shard.write_bytes.load(Relaxed);
            sum.received_bytes += shard.received_bytes.load(Relaxed);
            sum.sent_bytes += shard.sent_bytes.load(Relaxed);
            sum.inflight += shard.inflight.load(Relaxed);
            sum.cpu_ns += shard.cpu_ns.load(Relaxed);
            sum.stall_ns += shard.stall_ns.load(Relaxed);
        }
        sum.waiting = sum.created.saturating_sub(sum.done).saturating_sub(sum.running);
        sum
    }
}

/// Turns on a worker after which an account counts as long. A page that has to be read takes about three,
/// computing one for each slice of 100 us: some 80 pages, or 25 ms.
const SHORT_POLL_MAX: u64 = 256;

/// An account as one worker holds it: counted without atomics, found without a lookup.
pub(crate) struct LocalAccount {
    account: Arc<Account>,
    worker: usize,
    /// Turns that its tasks have had on this worker.
    polls: Cell<u64>,
    /// Charged since the worker last settled.
    unsettled_ns: Cell<u64>,
}

/// Time between two readings of the thread's processor clock, which is a system call of 0.1 to 0.3 us.
pub(crate) const SETTLE_NS: u64 = 50_000;

impl LocalAccount {
    #[inline]
    pub(crate) fn shard(&self) -> &Shard {
        self.account.shard(self.worker)
    }

    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Notes that one of its tasks has its turn.
    #[inline]
    pub(crate) fn note_poll(&self) {
        self.polls.set(self.polls.get() + 1);
    }

    /// Whether it has had more turns than short work needs.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.polls.get() > SHORT_POLL_MAX
    }
}

/// The accounts that a worker knows, and the one to which its time is charged now.
#[derive(Default)]
pub(crate) struct Accounting {
    known: std::cell::RefCell<Vec<Rc<LocalAccount>>>,
    /// From `Rc::as_ptr` of a known account.
    current: Cell<Option<*const LocalAccount>>,
    charged_ns: Cell<u64>,
    /// Charged since the last settling, what belongs to no account included.
    unsettled_ns: Cell<u64>,
    /// The accounts with unsettled time.
    unsettled: std::cell::RefCell<Vec<Rc<LocalAccount>>>,
    /// When time was last settled, by the monotonic clock and by the thread's.
    settled_at_ns: Cell<u64>,
    settled_cpu_ns: Cell<u64>,
}

/// Known accounts beyond this are searched for unused ones when a new one comes.
const KNOWN_COUNT_SWEEP: usize = 64;

impl Accounting {
    /// The worker's own handle of an account.
    pub(crate) fn intern(&self, account: &Arc<Account>, worker: usize) -> Rc<LocalAccount> {
        let mut known = self.known.borrow_mut();
        if let Some(local) = known.iter().find(|local| Arc::ptr_eq(&local.account, account)) {
            return local.clone();
        }
        if known.len() >= KNOWN_COUNT_SWEEP {
            let current = self.current.get();
            known.retain(|l| Rc::strong_count(l) > 1 || current == Some(Rc::as_ptr(l)));
        }
        let (polls, unsettled_ns) = (Cell::new(0), Cell::new(0));
        let account = account.clone();
        let local = Rc::new(LocalAccount { account, worker, polls, unsettled_ns });
        known.push(local.clone());
        local
    }

    /// The account to which time is charged now.
    pub(crate) fn current(&self) -> Option<Rc<LocalAccount>> {
        let current = self.current.get()?;
        // SAFETY: the pointer is that of an `Rc` in `known`, where `intern` keeps the current one.
        unsafe {
            Rc::increment_strong_count(current);
            Some(Rc::from_raw(current))
        }
    }

    /// True when `next` is the current one already: the common case, without a clock reading.
    #[inline]
    pub(crate) fn is_current(&self, next: Option<&Rc<LocalAccount>>) -> bool {
        self.current.get() == next.map(Rc::as_ptr)
    }

    /// What was before the worker began is charged to nobody.
    pub(crate) fn begin(&self, now_ns: u64, cpu_ns: u64) {
        self.charged_ns.set(now_ns);
        self.settled_at_ns.set(now_ns);
        self.settled_cpu_ns.set(cpu_ns);
    }

    /// Charges the time since the last charge to the current account, and makes `next` the current one.
    pub(crate) fn switch(&self, next: Option<&Rc<LocalAccount>>, now_ns: u64) {
        self.charge(now_ns);
        self.current.set(next.map(Rc::as_ptr));
    }

    /// Charges the time since the last charge to the current account.
    pub(crate) fn charge(&self, now_ns: u64) {
        let ns = now_ns.saturating_sub(self.charged_ns.replace(now_ns));
        self.unsettled_ns.set(self.unsettled_ns.get() + ns);
        if let Some(current) = self.current() {
            add(&current.shard().cpu_ns, ns);
            let before_ns = current.unsettled_ns.replace(current.unsettled_ns.get() + ns);
            if before_ns == 0 && ns > 0 {
                self.unsettled.borrow_mut().push(current);
            }
        }
    }

    /// Processor time that the thread had used when time was last settled.
    #[inline]
    pub(crate) fn settled_cpu_ns(&self) -> u64 {
        self.settled_cpu_ns.get()
    }

    /// Whether it is time for [`Accounting::settle`].
    #[inline]
    pub(crate) fn is_unsettled(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.settled_at_ns.get()) >= SETTLE_NS && self.unsettled_ns.get() > 0
    }

    /// Replaces what was charged since the last settling by the processor time since then, `cpu_ns` being what the
    /// thread has used so far: less when it did not have its core, more for what the kernel did while it waited.
    /// `None` in a simulation, whose time is no processor's: what was charged stays.
    pub(crate) fn settle(&self, now_ns: u64, cpu_ns: Option<u64>) {
        self.settled_at_ns.set(now_ns);
        let charged_ns = self.unsettled_ns.replace(0);
        let used_ns = cpu_ns.map_or(charged_ns, |cpu_ns| {
            cpu_ns.saturating_sub(self.settled_cpu_ns.replace(cpu_ns))
        });
        for local in self.unsettled.borrow_mut().drain(..) {
            let ns = local.unsettled_ns.replace(0);
            assert!(ns <= charged_ns, "a part of what was charged is no more than all of it");
            let share_ns = u128::from(used_ns) * u128::from(ns) / u128::from(charged_ns);
            let counter = &local.shard().cpu_ns;
            subtract(counter, ns);
            add(counter, share_ns as u64);
        }
    }

    /// Notes that the worker slept: charges nothing but the accounts that had requests in flight.
    pub(crate) fn slept(&self, ns: u64, now_ns: u64) {
        self.charged_ns.set(now_ns);
        for local in self.known.borrow().iter() {
            if local.shard().inflight.load(Relaxed) > 0 {
                add(&local.shard().stall_ns, ns);
            }
        }
    }
}
