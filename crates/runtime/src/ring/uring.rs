//! The io_uring driver of one worker.
//!
//! Submission is adaptive ("io_uring for High-Performance DBMSs", section 3.3): entries collect
//! until their number, set against the requests in flight, says that the device is about to idle,
//! or until the ready work runs out.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::register::Restriction;
use io_uring::{IoUring, opcode, types};
use stdx::Key;

use super::{Wait, sqe};
use crate::inbox::{Bell, Inbox};
use crate::op::{Op, Outcome};
use crate::stats::{Counters, bump};

/// Submission entries: a batch is flushed before it gets this long.
const SQ_ENTRIES: u32 = 256;
/// A batch this long is submitted whatever is in flight: the saving per call is used up by then
/// (section 2.1 of the paper: 5-6 times fewer cycles per operation at 16).
const BATCH_COUNT_MAX: u32 = 64;
/// Submit when pending entries exceed this fraction of the requests in flight.
const PENDING_SHARE: u32 = 4;
/// The `user_data` of the read of the event descriptor; no key has generation 2^32 - 1 and slot
/// 2^32 - 1.
const BELL: u64 = u64::MAX;
/// The `user_data` of what ends a wait for a socket; no key either.
const CANCEL: u64 = u64::MAX - 1;

pub(crate) struct Uring {
    ring: IoUring,
    bell: i32,
    bell_word: Box<u64>,
    bell_armed: bool,
    pending: u32,
    /// Of the pending entries, those about sockets.
    socket_pending: u32,
    in_kernel: u32,
}

/// A ring with as many wished-for flags as the kernel grants, and their names.
pub(crate) fn open(depth: u32) -> Result<(IoUring, String), String> {
    let mut refusals = Vec::new();
    for (level, name) in LEVELS {
        let mut builder = IoUring::builder();
        builder.setup_r_disabled();
        builder.setup_clamp().setup_cqsize((depth + 1).next_power_of_two().max(SQ_ENTRIES));
        if level >= 1 {
            builder.setup_coop_taskrun().setup_taskrun_flag();
        }
        if level >= 2 {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        match builder.build(SQ_ENTRIES) {
            Ok(ring) => return check(ring, depth).map(|ring| (ring, name.to_owned())),
            Err(error) => refusals.push(error),
        }
    }
    let last = refusals.pop().expect("at least one level was tried");
    Err(crate::probe::explain_refusal(&last))
}

/// Flag sets from the best to the least.
const LEVELS: [(u32, &str); 3] =
    [(2, "SINGLE_ISSUER | DEFER_TASKRUN"), (1, "COOP_TASKRUN"), (0, "no flags")];

fn check(ring: IoUring, depth: u32) -> Result<IoUring, String> {
    if !ring.params().is_feature_ext_arg() {
        return Err("the kernel is too old: no timeout in io_uring_enter (Linux 5.11)".to_owned());
    }
    if !ring.params().is_feature_nodrop() {
        return Err("the kernel is too old: it may drop completions (Linux 5.5)".to_owned());
    }
    if ring.params().cq_entries() <= depth {
        return Err(format!("the completion queue is too small for depth {depth}"));
    }
    restrict(&ring).map_err(|error| format!("the ring cannot be restricted: {error}"))?;
    Ok(ring)
}

/// Allows what this driver does and nothing else: much of io_uring's attack surface lies in
/// operations that a database never asks for.
fn restrict(ring: &IoUring) -> io::Result<()> {
    let allowed = [
        opcode::Read::CODE,
        opcode::Write::CODE,
        opcode::Readv::CODE,
        opcode::Writev::CODE,
        opcode::Fsync::CODE,
        opcode::PollAdd::CODE,
        opcode::PollRemove::CODE,
        opcode::Send::CODE,
    ];
    let mut restrictions = allowed.map(Restriction::sqe_op);
    ring.submitter().register_restrictions(&mut restrictions)?;
    ring.submitter().register_enable_rings()
}

impl Uring {
    /// The driver over a ring that this very thread has created.
    pub(crate) fn new(ring: IoUring, inbox: &Arc<Inbox>) -> io::Result<Uring> {
        // SAFETY: plain system call; the descriptor is checked and owned right away.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        inbox.set_bell(Bell::Event(unsafe { OwnedFd::from_raw_fd(fd) }));
        let bell = inbox.bell_fd().expect("the bell was just set");
        Ok(Uring {
            ring,
            bell,
            bell_word: Box::new(0),
            bell_armed: false,
            pending: 0,
            socket_pending: 0,
            in_kernel: 0,
        })
    }

    /// Adds an operation to the next batch.
    pub(crate) fn push(&mut self, key: Key, op: &mut Op, counters: &Counters) {
        let entry = sqe::entry(op).user_data(key.as_u64());
        self.push_entry(&entry, counters);
        self.socket_pending += u32::from(op.is_socket());
    }

    /// Ends a wait for a socket early.
    pub(crate) fn cancel(&mut self, key: Key, counters: &Counters) {
        let entry = opcode::PollRemove::new(key.as_u64()).build();
        self.push_entry(&entry.user_data(CANCEL), counters);
        // Until it is ended the operation keeps its socket open.
        self.socket_pending += 1;
    }

    fn push_entry(&mut self, entry: &io_uring::squeue::Entry, counters: &Counters) {
        loop {
            // SAFETY: the entry's memory belongs to an operation in the worker's table (or to
            // `bell_word`), which is kept until its completion has been collected.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                self.pending += 1;
                return;
            }
            self.enter(Wait::No, counters);
        }
    }

    /// True when the device may run dry before the ready work does.
    #[inline]
    pub(crate) fn wants_submit(&self, transfers: u32) -> bool {
        // What is asked of sockets goes when the slice is over: their answers leave together, and
        // the clients that they wake do not each take the core away.
        let pending = self.pending.saturating_sub(self.socket_pending);
        let in_kernel = transfers.saturating_sub(pending);
        pending > 0 && (pending >= BATCH_COUNT_MAX || pending * PENDING_SHARE >= in_kernel)
    }

    /// True when completions wait, in the queue or behind the kernel's door (DEFER_TASKRUN).
    #[inline]
    pub(crate) fn has_completions(&mut self) -> bool {
        let queue = self.ring.submission();
        let asked = queue.taskrun() || queue.cq_overflow();
        drop(queue);
        asked || !self.ring.completion().is_empty()
    }

    pub(crate) fn turn(
        &mut self,
        wait: Wait,
        transfers: u32,
        counters: &Counters,
    ) -> Vec<(Key, Outcome)> {
        if wait != Wait::No {
            self.arm_bell(counters);
            self.enter(wait, counters);
        } else if self.must_enter(transfers) {
            self.enter(wait, counters);
        }
        self.collect()
    }

    /// Entries may wait for more as long as others are in flight, and those end soon. A wait for a
    /// socket cannot stand behind that: others may wait for silent clients for hours, and while a
    /// query computes the ready work does not run out.
    fn must_enter(&mut self, transfers: u32) -> bool {
        let queue = self.ring.submission();
        // Waits for sockets may be more than the completion queue has places: what does not fit the
        // kernel keeps until it is asked.
        let asked = queue.taskrun() || queue.cq_overflow();
        drop(queue);
        asked || self.wants_submit(transfers) || self.socket_pending > 0
    }

    /// Keeps one read of the event descriptor in flight, so that other threads can end a sleep.
    fn arm_bell(&mut self, counters: &Counters) {
        if !self.bell_armed {
            let word: *mut u64 = &mut *self.bell_word;
            let entry = opcode::Read::new(types::Fd(self.bell), word.cast(), 8).build();
            self.push_entry(&entry.user_data(BELL), counters);
            self.bell_armed = true;
        }
    }

    fn enter(&mut self, wait: Wait, counters: &Counters) {
        bump(&counters.enters, 1);
        let before = self.ring.submission().len() as u32;
        let result = match wait {
            Wait::No => self.ring.submit(),
            Wait::Forever => self.ring.submit_and_wait(1),
            Wait::Ns(ns) => {
                let timeout = types::Timespec::from(std::time::Duration::from_nanos(ns));
                let args = types::SubmitArgs::new().timespec(&timeout);
                self.ring.submitter().submit_with_args(1, &args)
            }
        };
        // Even a failed call may have taken entries: the queue's head tells, not the result.
        let after = self.ring.submission().len() as u32;
        assert!(after <= before, "the kernel only takes entries");
        self.in_kernel += before - after;
        self.pending = after;
        // Entries that the kernel did not take may be any.
        self.socket_pending = self.socket_pending.min(after);
        if let Err(error) = result {
            self.judge(&error);
        }
    }

    fn judge(&self, error: &io::Error) {
        match error.raw_os_error() {
            // Time is up; a signal came.
            Some(libc::ETIME | libc::EINTR) => {}
            // The kernel is short of memory, or wants completions collected first: entries stay
            // queued and go with a later call.
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) => std::thread::yield_now(),
            // Among them EBADR, a lost completion: some operation would hang for ever.
            _ => panic!("io_uring_enter failed beyond repair: {error}"),
        }
    }

    fn collect(&mut self) -> Vec<(Key, Outcome)> {
        let mut ended = Vec::new();
        let mut completions = self.ring.completion();
        assert_eq!(completions.overflow(), 0, "the kernel drops no completion");
        for cqe in &mut completions {
            assert!(self.in_kernel > 0, "a completion without a request");
            self.in_kernel -= 1;
            if cqe.user_data() == CANCEL {
                continue;
            }
            if cqe.user_data() == BELL {
                self.bell_armed = false;
                continue;
            }
            let count = match cqe.result() {
                n if n >= 0 => Ok(n as usize),
                error => Err(io::Error::from_raw_os_error(-error)),
            };
            ended.push((Key::from_u64(cqe.user_data()), Outcome::Count(count)));
        }
        ended
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The last request is the bell's: end it, so that nothing is in flight when the ring and
        // then `bell_word` go.
        let one = 1u64.to_ne_bytes();
        // SAFETY: 8 readable bytes; the inbox keeps the descriptor open.
        unsafe { libc::write(self.bell, one.as_ptr().cast(), 8) };
        let counters = Counters::default();
        while self.in_kernel > 0 || self.pending > 0 {
            self.enter(Wait::Ns(1_000_000), &counters);
            let _ = self.collect();
        }
        debug_assert!(self.ring.as_raw_fd() >= 0);
    }
}
