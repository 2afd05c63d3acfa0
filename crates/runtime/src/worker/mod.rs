//! A worker: its tasks, its queues, its operations, its ring. One thread owns it all.

pub(crate) mod entry;
mod migration;
mod operations;
pub(crate) mod portions;
mod run;
pub(crate) mod slice;
mod tasks;
mod unstarted;
mod window;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use stdx::{Key, Prng, Slab};

use crate::account::{Account, Accounting, LocalAccount};
use crate::clock::{monotonic_ns, stepped_ns};
use crate::inbox::Inbox;
use crate::net::tuning::Tuning;
use crate::ring::Ring;
use crate::ring::owner::Owner;
use crate::sim::network::Network;
use crate::stats::Counters;
use crate::task::frame::Header;
use crate::task::frame_pool::FramePool;
use crate::timers::Timers;
use crate::worker::entry::OpEntry;
use portions::{Found, Meter};
pub(crate) use unstarted::{Sleepers, Unstarted};
use window::Window;

/// What all workers of a runtime know.
pub(crate) struct Shared {
    pub(crate) inboxes: Vec<Arc<Inbox>>,
    pub(crate) ids: Vec<u32>,
    pub(crate) counters: Vec<stdx::CachePadded<Counters>>,
    pub(crate) window: usize,
    pub(crate) depth: u32,
    pub(crate) seed: u64,
    pub(crate) attack: bool,
    /// Whether tasks that have not started move.
    pub(crate) migrate: bool,
    /// How data in bulk goes over sockets.
    pub(crate) sockets: Tuning,
    /// What each worker has not started yet and others may take.
    pub(crate) unstarted: Vec<stdx::CachePadded<Unstarted>>,
    pub(crate) sleepers: Sleepers,
    /// The descriptor of the first worker's ring, -1 before there is one: workers that start after it
    /// share its SQPOLL thread.
    pub(crate) first_ring: AtomicI32,
    /// Calls of `block_on` under way; a simulation stands still without one.
    pub(crate) job_count: AtomicUsize,
    /// Why a simulation ended by itself.
    pub(crate) failure: Mutex<Option<String>>,
    /// The greatest processor time of a portion, by kind of task.
    pub(crate) portions: Found,
}

/// Where a task that gives way goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// The tail of the ready queue, or of that of long accounts.
    Ready,
    /// The head of the same.
    First,
    /// The tail of the interleave window.
    Window,
}

pub(crate) struct Worker {
    /// Its place in the runtime.
    pub(crate) index: usize,
    /// Its number in the process, as wakers carry it.
    pub(crate) id: u32,
    pub(crate) shared: Arc<Shared>,
    tasks: RefCell<Slab<NonNull<Header>>>,
    meter: Meter,
    frames: FramePool,
    ready: RefCell<VecDeque<Key>>,
    /// Ready tasks of long accounts: they go behind the others, but have a share.
    long: RefCell<VecDeque<Key>>,
    /// Turns of short tasks since a long one had its turn or there was none.
    short_polls: Cell<u32>,
    /// Woken tasks that belong to no query: connections, and what keeps the house. They go first.
    urgent: RefCell<VecDeque<Key>>,
    /// Urgent polls since another task had its turn.
    urgent_polls: Cell<u32>,
    window: Window,
    /// The last task from a queue has not joined the window.
    window_is_due: Cell<bool>,
    current: Cell<Option<Key>>,
    pub(crate) gave_way: Cell<Option<Queue>>,
    pub(crate) ops: RefCell<Slab<OpEntry>>,
    backlog: RefCell<VecDeque<Key>>,
    pub(crate) inflight: Cell<u32>,
    /// Of these, those about sockets.
    sockets: Cell<u32>,
    /// Of these, those of clients who want short answers.
    clients: Cell<u32>,
    pub(crate) ring: RefCell<Ring>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) random: RefCell<Prng>,
    pub(crate) accounting: Accounting,
    stopping: Cell<bool>,
    /// When it began to wait for what was under way.
    stopping_ns: Cell<Option<u64>>,
    slice_start_ns: Cell<u64>,
    /// Polls of the last slice took long on average.
    long_polls: Cell<bool>,
    preempt_calls: Cell<u32>,
    /// When `need_preempt` last looked at the clock.
    preempt_look_ns: Cell<u64>,
    /// The time then by the clock that stands in steps.
    preempt_step_ns: Cell<u64>,
    /// Calls until it does so again.
    preempt_stride: Cell<u32>,
    preempt: Cell<bool>,
    clock: Option<Rc<Cell<u64>>>,
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// Runs `f` with the current worker, if this thread is inside of one.
#[inline]
pub(crate) fn try_with<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    // A thread-local destructor may come here after CURRENT is gone: then there is no worker.
    let worker = CURRENT.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: `Entered` keeps the pointer set only while it borrows the worker.
    unsafe { worker.as_ref() }.map(f)
}

/// Runs `f` with the current worker.
///
/// # Panics
/// Outside of a worker.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&Worker) -> R) -> R {
    match try_with(f) {
        Some(out) => out,
        None => panic!("this can be used only inside of a task of the runtime"),
    }
}

/// The simulated network, inside of a worker of a simulation.
pub(crate) fn network() -> Option<Network> {
    try_with(|worker| worker.ring.borrow().network().cloned()).flatten()
}

/// Makes a worker the thread's current one until dropped.
pub(crate) struct Entered<'a>(#[expect(dead_code, reason = "the borrow matters")] &'a Worker);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        index: usize,
        ring: Ring,
        clock: Option<Rc<Cell<u64>>>,
    ) -> Worker {
        let mut seeds = Prng::new(shared.seed ^ (index as u64) << 32);
        Worker {
            index,
            id: shared.ids[index],
            tasks: RefCell::default(),
            meter: Meter::default(),
            frames: FramePool::new(),
            ready: RefCell::default(),
            long: RefCell::default(),
            short_polls: Cell::new(0),
            urgent: RefCell::default(),
            urgent_polls: Cell::new(0),
            window: Window::new(shared.window),
            window_is_due: Cell::new(false),
            current: Cell::new(None),
            gave_way: Cell::new(None),
            ops: RefCell::default(),
            backlog: RefCell::default(),
            inflight: Cell::new(0),
            sockets: Cell::new(0),
            clients: Cell::new(0),
            ring: RefCell::new(ring),
            timers: RefCell::default(),
            random: RefCell::new(seeds.fork()),
            accounting: Accounting::default(),
            stopping: Cell::new(false),
            stopping_ns: Cell::new(None),
            slice_start_ns: Cell::new(0),
            long_polls: Cell::new(false),
            preempt_calls: Cell::new(0),
            preempt_look_ns: Cell::new(0),
            preempt_step_ns: Cell::new(0),
            preempt_stride: Cell::new(1),
            preempt: Cell::new(false),
            clock,
            shared,
        }
    }

    pub(crate) fn enter(&self) -> Entered<'_> {
        assert!(CURRENT.get().is_null(), "a thread is inside of one worker at a time");
        CURRENT.set(self);
        Entered(self)
    }

    pub(crate) fn inbox(&self) -> &Arc<Inbox> {
        &self.shared.inboxes[self.index]
    }

    /// What its ring knows of it.
    #[inline]
    pub(crate) fn owner(&self) -> Owner<'_> {
        Owner { id: self.id, inbox: self.inbox(), counters: self.counters() }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.shared.counters[self.index]
    }

    /// The simulated clock in a simulation, else the system's.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.as_ref().map_or_else(monotonic_ns, |clock| clock.get())
    }

    /// The time of the simulation, if this is one.
    pub(crate) fn simulated_ns(&self) -> Option<u64> {
        self.clock.as_ref().map(|clock| clock.get())
    }

    /// Whether this is a simulation.
    pub(crate) fn is_simulated(&self) -> bool {
        self.clock.is_some()
    }

    /// True if so many bytes are lent to the ring when they are sent.
    pub(crate) fn lends(&self, bytes: usize) -> bool {
        self.shared.sockets.lends(bytes) && self.ring.borrow().can_lend()
    }

    pub(crate) fn current_account(&self) -> Option<Arc<Account>> {
        self.accounting.current().map(|local| local.account().clone())
    }

    /// Has `next` pay for what follows.
    #[inline]
    pub(crate) fn account_to(&self, next: Option<&Rc<LocalAccount>>) {
        if !self.accounting.is_current(next) {
            self.accounting.switch(next, self.now_ns());
        }
    }

    /// Notes that the running task gives way. A foreign waker (of a combinator inside of the
    /// task) would not learn of the queue, so it is simply woken.
    #[inline]
    pub(crate) fn give_way(&self, queue: Queue, waker: &Waker) {
        let task = self.current.get().expect("a future is polled inside of a task");
        if crate::task::waker::is_task(waker, self.id, task) {
            self.gave_way.set(Some(queue));
        } else {
            waker.wake_by_ref();
        }
    }

    /// As [`Worker::is_slice_over`], for calls that may be far apart though those before were not:
    /// it looks also where the clock that stands in steps has moved, so that no task goes on for
    /// many milliseconds.
    #[inline]
    pub(crate) fn need_preempt(&self) -> bool {
        if !self.shared.attack && !self.preempt.get() && !self.is_simulated() {
            let step_ns = stepped_ns();
            if self.preempt_step_ns.replace(step_ns) != step_ns {
                self.preempt.set(self.look_at_clock(self.preempt_calls.get() + 1));
            }
        }
        self.is_slice_over()
    }

    /// True when the slice is used up, or when a client may have asked for something meanwhile. The
    /// clock is read at every 16th call, at every one where calls are far apart or something has
    /// completed.
    #[inline]
    pub(crate) fn is_slice_over(&self) -> bool {
        if self.shared.attack || self.preempt.get() {
            return true;
        }
        let calls = self.preempt_calls.get() + 1;
        self.preempt_calls.set(calls);
        if calls >= self.preempt_stride.get() || self.client_called() {
            self.preempt.set(self.look_at_clock(calls));
        }
        self.preempt.get()
    }

    fn look_at_clock(&self, calls: u32) -> bool {
        let now_ns = self.now_ns();
        let apart_ns = now_ns.saturating_sub(self.preempt_look_ns.get()) / u64::from(calls);
        self.preempt_stride.set(if apart_ns > slice::LONG_NS { 1 } else { 16 });
        self.preempt_calls.set(0);
        self.preempt_look_ns.set(now_ns);
        self.time_is_up(now_ns)
    }
}
