//! The io_uring driver of one worker.
//!
//! Submission is adaptive: entries collect until the ready work runs out, until they are many, or
//! until the first has waited for a while. In a virtual machine each call may cost a trip to the
//! host; the rule of "io_uring for High-Performance DBMSs" (section 3.3), which also submits when
//! the entries are a fraction of the requests in flight, makes several calls where one would do.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use io_uring::{cqueue, opcode, squeue, types};
use stdx::Key;

use super::commands::{self, Commands};
use super::messages::{Messages, RUNG};
use super::owner::Owner;
use super::provided::Provided;
use super::queues::{Entry, Queues};
use super::registered::{Places, Tables};
use super::setup::{Abilities, Opened};
use super::sqe;
use crate::clock::monotonic_ns;
use crate::config::Submission;
use crate::inbox::{self, Inbox, Unparker};
use crate::op::{Op, Outcome, Part, Told};
use crate::ring::wait::Wait;
use crate::stats::{Counters, bump};

/// A batch this long is submitted whatever is in flight: the saving per call is used up by then
/// (section 2.1 of the paper: 5-6 times fewer cycles per operation at 16).
const BATCH_COUNT_MAX: u32 = 64;
/// An entry waits no longer than this for others while tasks are ready: about two reads of an SSD.
/// Measured with 5 to 400 µs (`cargo bench -p runtime --bench submission`): shorter ones cost up to
/// half of the CPU time per read, longer ones gain little.
const PENDING_NS_MAX: u64 = 200_000;
/// The `user_data` of the read of the event descriptor; no key has generation 2^32 - 1 and slot
/// 2^32 - 1.
const BELL: u64 = u64::MAX;
/// The `user_data` of what ends an operation on a socket; no key either.
const CANCEL: u64 = u64::MAX - 1;

/// In the result of a notification: the kernel has copied what was lent to it.
const COPIED: u32 = 1 << 31;

/// In the `user_data` of a sync that is linked to a write, beside the key of that. There are not so many slots.
const SYNC: u64 = 1 << 31;

/// A write that is linked to a sync: two completions end it.
struct Linked {
    /// The `user_data` of the write.
    write: u64,
    /// Bytes that are to be written.
    len: usize,
    written: Option<io::Result<usize>>,
    synced: Option<io::Result<usize>>,
}

pub(crate) struct Uring {
    ring: Queues,
    tables: Tables,
    /// What wakes a sleeper; a polled ring never sleeps.
    event_fd: Option<i32>,
    bell_word: Box<u64>,
    bell_armed: bool,
    /// Entries that the kernel has not been told of.
    pending: u32,
    /// When the first of them was made, where that matters.
    pending_ns: u64,
    submission: Submission,
    /// One of them is not to wait for others.
    is_hurried: bool,
    /// Of the pending entries, those about the sockets of clients.
    client_pending: u32,
    /// Receives wait for bytes before they look for them, where the kernel knows that order.
    poll_first: bool,
    /// Entries made whose completions have not been collected.
    unfinished: u32,
    linked: Vec<Linked>,
    commands: Commands,
    abilities: Abilities,
    /// Buffers that the kernel hands out, by their group: kept until they are withdrawn, or until
    /// the ring, which stands before them, is closed.
    groups: Vec<Option<Rc<Provided>>>,
    /// Messages to other workers, where this ring delivers them.
    messages: Option<Messages>,
}

impl Uring {
    /// The driver over a ring that this very thread has created.
    pub(crate) fn new(
        opened: Opened,
        inbox: &Arc<Inbox>,
        submission: Submission,
        wants_messages: bool,
    ) -> io::Result<Uring> {
        // SAFETY: plain system call; the descriptor is checked and owned right away.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nobody else owns.
        let event = Arc::new(unsafe { OwnedFd::from_raw_fd(fd) });
        let delivers = wants_messages && opened.abilities.messages;
        let ring = if delivers { Some(Arc::new(duplicate(&opened.ring)?)) } else { None };
        inbox.set_unparker(Unparker::Event(event, ring));
        assert!(inbox.event_fd().is_some(), "the unparker was just set");
        let mut uring = Uring::with(opened, inbox.event_fd(), submission);
        uring.messages = delivers.then(Messages::default);
        inbox::deliver_posts(delivers);
        Ok(uring)
    }

    /// The driver over a ring for polled transfers.
    pub(crate) fn polled(opened: Opened, submission: Submission) -> Uring {
        assert!(opened.ring.params().is_setup_iopoll(), "a ring for polled transfers polls");
        Uring::with(opened, None, submission)
    }

    fn with(opened: Opened, event_fd: Option<i32>, submission: Submission) -> Uring {
        // With a kernel thread that submits nothing is gained by waiting.
        let sqpoll = opened.ring.params().is_setup_sqpoll();
        let submission = if sqpoll { Submission::AtOnce } else { submission };
        // The flag came with a kernel (6.0) that knows the order, and there is no other sign of that.
        let poll_first = opened.ring.params().is_setup_single_issuer();
        Uring {
            ring: opened.ring,
            tables: opened.tables,
            event_fd,
            bell_word: Box::new(0),
            bell_armed: false,
            pending: 0,
            pending_ns: 0,
            submission,
            is_hurried: false,
            client_pending: 0,
            poll_first,
            unfinished: 0,
            linked: Vec::new(),
            commands: Commands::default(),
            abilities: opened.abilities,
            groups: Vec::new(),
            messages: None,
        }
    }

    /// Requests whose completions have not been collected, the event descriptor's included.
    #[inline]
    pub(crate) fn unfinished(&self) -> u32 {
        self.unfinished
    }

    /// The ring's own descriptor.
    pub(crate) fn fd(&self) -> i32 {
        self.ring.as_raw_fd()
    }

    /// Adds an operation to the next batch.
    pub(crate) fn push(&mut self, key: Key, op: &mut Op, owner: Owner<'_>) {
        let places = match op {
            Op::Read(transfer) | Op::Write(transfer) => {
                let submitter = self.ring.submitter();
                self.tables.places(transfer, &submitter, owner.id, owner.counters)
            }
            Op::Lend(lending) if lending.is_lent => {
                let submitter = self.ring.submitter();
                self.tables.buffer_place(&lending.buf, &submitter, owner.id, owner.counters)
            }
            _ => Places::default(),
        };
        let (entry, moved) = self.entry(op, places);
        self.commands.note(key.slot(), moved);
        let entry = entry.user_data(key.as_u64());
        match sync_behind(op, places) {
            Some(sync) => {
                let entry = entry.flags(squeue::Flags::IO_LINK);
                let write = key.as_u64();
                let len = moved.unwrap_or_else(|| sqe::len_of(op));
                self.linked.push(Linked { write, len, written: None, synced: None });
                self.push_entries(&[entry, sync.user_data(write ^ SYNC)], owner.counters);
            }
            None => self.push_entries(&[entry], owner.counters),
        }
        self.client_pending += u32::from(op.is_client());
        self.is_hurried |= op.is_hurried();
    }

    /// The entry of an operation; of a command the bytes that it moves, too.
    fn entry(&self, op: &mut Op, places: Places) -> (Entry, Option<usize>) {
        let buffer = places.buffer.filter(|_| self.abilities.fixed_commands);
        match commands::entry(op, Places { buffer, ..places }) {
            Some((entry, bytes)) => (entry, Some(bytes)),
            None => (Entry::Small(sqe::entry(op, places, self.poll_first)), None),
        }
    }

    /// Abilities of the kernel beyond those that all have.
    pub(crate) fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// Lets the kernel hand out these buffers.
    pub(crate) fn provide(&mut self, buffers: &Rc<Provided>) -> io::Result<Option<(u16, bool)>> {
        if !self.abilities.multishot {
            return Ok(None);
        }
        let free = self.groups.iter().position(Option::is_none).unwrap_or(self.groups.len());
        let Ok(group) = u16::try_from(free) else {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        };
        let (address, count) = buffers.queue();
        let submitter = self.ring.submitter();
        // SAFETY: the memory of the queue is zeroed, aligned to pages, and kept in `groups` until
        // it is unregistered or the ring is closed.
        unsafe { submitter.register_buf_ring_with_flags(address, count, group, 0) }?;
        if free == self.groups.len() {
            self.groups.push(None);
        }
        self.groups[free] = Some(buffers.clone());
        Ok(Some((group, self.abilities.bundles)))
    }

    /// Takes a group of buffers back, of which no operation in flight takes any.
    pub(crate) fn withdraw(&mut self, group: u16) {
        let taken = self.ring.submitter().unregister_buf_ring(group);
        assert!(taken.is_ok(), "a group of buffers is taken out: {taken:?}");
        let buffers = self.groups[usize::from(group)].take();
        assert!(buffers.is_some(), "a group is taken back once");
    }

    /// Takes a file or an arena that is no more out of the tables.
    pub(crate) fn forget(&mut self, number: u64) {
        self.tables.forget(number, &self.ring.submitter());
    }

    /// Ends an operation on a socket early.
    pub(crate) fn cancel(&mut self, key: Key, op: &Op, counters: &Counters) {
        let entry = match op {
            Op::Ready(..) => opcode::PollRemove::new(key.as_u64()).build(),
            _ => opcode::AsyncCancel::new(key.as_u64()).build(),
        };
        self.push_entry(entry.user_data(CANCEL), counters);
        // Until it is ended the operation keeps its socket open.
        self.client_pending += u32::from(op.is_client());
    }

    fn push_entry(&mut self, entry: squeue::Entry, counters: &Counters) {
        self.push_entries(&[Entry::Small(entry)], counters);
    }

    /// Adds entries that the kernel gets with one call: a link does not reach beyond that.
    fn push_entries(&mut self, entries: &[Entry], counters: &Counters) {
        loop {
            // SAFETY: the entries' memory belongs to an operation in the worker's table (or to
            // `bell_word`), which is kept until its last completion has been collected.
            if unsafe { self.ring.push(entries) } {
                if self.pending == 0 && self.submission == Submission::Adaptive {
                    self.pending_ns = monotonic_ns();
                }
                self.pending += entries.len() as u32;
                self.unfinished += entries.len() as u32;
                return;
            }
            self.enter(Wait::No, counters);
            if self.is_sqpoll() {
                // The kernel thread takes entries when it likes; a refusal means to look again.
                let _ = self.ring.submitter().squeue_wait();
            }
        }
    }

    /// Whether a thread of the kernel takes the entries. It may take the first of two that are linked with one
    /// look and the other with the next, where they are linked no more.
    pub(super) fn is_sqpoll(&self) -> bool {
        self.ring.params().is_setup_sqpoll()
    }

    /// A visit of a polled ring with requests in flight: completions come only to who asks. Until
    /// one has come, which takes no longer than the device does, if `wait` says to wait.
    pub(crate) fn poll(&mut self, wait: Wait, counters: &Counters) -> Vec<(Key, Told)> {
        assert!(self.event_fd.is_none(), "only a polled ring is polled");
        self.enter(if wait == Wait::No { Wait::No } else { Wait::Forever }, counters);
        self.collect()
    }

    /// Makes entries of the messages that are to be delivered.
    fn deliver(&mut self, counters: &Counters) {
        if self.messages.is_none() || !inbox::has_posts() {
            return;
        }
        for post in inbox::take_posts() {
            let Some(messages) = &mut self.messages else { return };
            let entry = messages.entry(post);
            self.push_entry(entry, counters);
            bump(&counters.ring_messages, 1);
            // The other one has nothing else to wait for.
            self.is_hurried = true;
        }
    }

    /// True when the pending entries should not wait for the end of the ready work.
    #[inline]
    pub(crate) fn wants_submit(&self, transfers: u32) -> bool {
        if self.messages.is_some() && inbox::has_posts() {
            return true;
        }
        // What is asked of clients' sockets goes when all clients have had their turn, or the slice is over:
        // answers leave together, and the clients that they wake do not each take the core away.
        let pending = self.pending.saturating_sub(self.client_pending);
        if pending == 0 || pending >= BATCH_COUNT_MAX {
            return pending > 0;
        }
        match self.submission {
            Submission::Adaptive if self.is_hurried => true,
            Submission::Adaptive => monotonic_ns() - self.pending_ns >= PENDING_NS_MAX,
            Submission::Share(_) if self.messages.is_some() && self.is_hurried => true,
            Submission::Share(share) => pending * share >= transfers.saturating_sub(pending),
            Submission::AtOnce => true,
        }
    }

    /// True when something is asked of clients' sockets that was not submitted yet.
    #[inline]
    pub(crate) fn has_answers(&self) -> bool {
        self.client_pending > 0
    }

    /// True when completions wait, in the queue or behind the kernel's door (DEFER_TASKRUN).
    #[inline]
    pub(crate) fn has_completions(&mut self) -> bool {
        self.ring.state().wants_enter || self.ring.has_completion()
    }

    pub(crate) fn turn(
        &mut self,
        wait: Wait,
        transfers: u32,
        counters: &Counters,
    ) -> Vec<(Key, Told)> {
        self.deliver(counters);
        if wait != Wait::No {
            self.arm_event(counters);
            self.enter(wait, counters);
        } else if self.must_enter(transfers) {
            self.enter(wait, counters);
        }
        self.collect()
    }

    /// Entries may wait for more as long as others are in flight, and those end soon. A wait for a
    /// client cannot stand behind that: others may wait for silent clients for hours, and while a
    /// query computes the ready work does not run out.
    fn must_enter(&mut self, transfers: u32) -> bool {
        // Waits for sockets may be more than the completion queue has places: what does not fit the
        // kernel keeps until it is asked.
        self.ring.state().wants_enter || self.wants_submit(transfers) || self.client_pending > 0
    }

    /// Keeps one read of the event descriptor in flight, so that other threads can end a sleep.
    fn arm_event(&mut self, counters: &Counters) {
        if let Some(event_fd) = self.event_fd
            && !self.bell_armed
        {
            let word: *mut u64 = &mut *self.bell_word;
            let entry = opcode::Read::new(types::Fd(event_fd), word.cast(), 8).build();
            self.push_entry(entry.user_data(BELL), counters);
            self.bell_armed = true;
        }
    }

    fn enter(&mut self, wait: Wait, counters: &Counters) {
        bump(&counters.enters, 1);
        let result = match wait {
            Wait::No => self.ring.submit(),
            Wait::Forever => self.ring.submit_and_wait(1),
            Wait::Ns(ns) => {
                let timeout = types::Timespec::from(std::time::Duration::from_nanos(ns));
                let args = types::SubmitArgs::new().timespec(&timeout);
                self.ring.submit_with(&args)
            }
        };
        self.pending = match self.is_sqpoll() {
            // What its thread has been told of it takes; a failed call may not have woken it.
            true => self.pending * u32::from(result.is_err()),
            // Even a failed call may have taken entries: the queue's head tells, not the result.
            false => self.ring.state().pending,
        };
        self.is_hurried &= self.pending > 0;
        // Entries that the kernel did not take may be any.
        self.client_pending = self.client_pending.min(self.pending);
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

    fn collect(&mut self) -> Vec<(Key, Told)> {
        let mut ended = Vec::new();
        let Uring { ring, unfinished, bell_armed, messages, commands, linked, .. } = self;
        ring.drain(|cqe| {
            if cqe.user_data() == RUNG {
                // Another worker's message has ended the sleep: the inbox has what it is about.
                return;
            }
            // More follow: the request is under way.
            let goes_on = cqueue::more(cqe.flags());
            assert!(*unfinished > 0, "a completion without a request");
            *unfinished -= u32::from(!goes_on);
            if cqe.user_data() == CANCEL {
                return;
            }
            if cqe.user_data() == BELL {
                *bell_armed = false;
                return;
            }
            let is_sent = |sent: &mut Messages| sent.ended(cqe.user_data(), cqe.result());
            if messages.as_mut().is_some_and(is_sent) {
                return;
            }
            let key = Key::from_u64(cqe.user_data());
            if let Some(part) = part_of(&cqe) {
                ended.push((key, Told::Part(part)));
                if goes_on {
                    return;
                }
            }
            let result = if cqueue::notif(cqe.flags()) { Ok(0) } else { result_of(&cqe) };
            let result = commands.result(key.slot() & !(SYNC as u32), result);
            if let Some((number, count)) = last_of(linked, cqe.user_data(), result) {
                ended.push((Key::from_u64(number), Told::End(Outcome::Count(count))));
            }
        });
        ended
    }
}

/// The entry of the sync behind a linked write.
fn sync_behind(op: &Op, places: Places) -> Option<Entry> {
    if !op.is_linked() {
        return None;
    }
    commands::flush_behind(op).or_else(|| sqe::sync_behind(op, places).map(Entry::Small))
}

fn result_of(cqe: &cqueue::Entry) -> io::Result<usize> {
    match cqe.result() {
        n if n >= 0 => Ok(n as usize),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// The part that a completion tells of before the end of its operation.
fn part_of(cqe: &cqueue::Entry) -> Option<Part> {
    if cqueue::notif(cqe.flags()) {
        let is_copied = cqe.result().cast_unsigned() & COPIED != 0;
        return Some(Part::Returned { is_copied });
    }
    if let Some(first) = cqueue::buffer_select(cqe.flags()) {
        return Some(Part::Arrived { first, bytes: result_of(cqe).unwrap_or(0) });
    }
    cqueue::more(cqe.flags()).then(|| Part::Taken(result_of(cqe)))
}

/// How an operation has ended, with this completion; `None` when another one is to come. A linked write has
/// two, and the kernel may tell of them in either order.
fn last_of(
    linked: &mut Vec<Linked>,
    number: u64,
    result: io::Result<usize>,
) -> Option<(u64, io::Result<usize>)> {
    let is_one_of = |of: &Linked| number == of.write || number == of.write ^ SYNC;
    let Some(place) = linked.iter().position(is_one_of) else { return Some((number, result)) };
    let of = &mut linked[place];
    let told = if number == of.write { &mut of.written } else { &mut of.synced };
    assert!(told.replace(result).is_none(), "each half of a linked write ends once");
    if of.written.is_none() || of.synced.is_none() {
        return None;
    }
    let Linked { write, len, written, synced } = linked.swap_remove(place);
    let (written, synced) = (written?, synced?);
    let ended = match (&written, &synced) {
        // A sync behind these is not begun.
        (Ok(count), Err(_)) if *count < len => written,
        (Err(_), _) => written,
        _ => written.and_then(|count| synced.map(|_| count)),
    };
    Some((write, ended))
}

/// Another descriptor of a ring, for those who send messages to it.
fn duplicate(ring: &Queues) -> io::Result<OwnedFd> {
    // SAFETY: the ring keeps its descriptor open meanwhile.
    unsafe { BorrowedFd::borrow_raw(ring.as_raw_fd()) }.try_clone_to_owned()
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.messages.is_some() {
            // Messages that are not under way yet go by the bell.
            inbox::deliver_posts(false);
        }
        // The last request is the event descriptor's: end it, so that nothing is in flight when the ring and
        // then `bell_word` go.
        let one = 1u64.to_ne_bytes();
        if let Some(event_fd) = self.event_fd {
            // SAFETY: 8 readable bytes; the inbox keeps the descriptor open.
            unsafe { libc::write(event_fd, one.as_ptr().cast(), 8) };
        }
        let counters = Counters::default();
        while self.unfinished > 0 {
            self.enter(Wait::Ns(1_000_000), &counters);
            let _ = self.collect();
        }
    }
}
