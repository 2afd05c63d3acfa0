//! Threads for what blocks: all operations of the `threads` ring, and for io_uring workers the
//! file operations and the files that io_uring would only hand to kernel threads.
//!
//! The pool grows on demand up to the operations that may be in flight, so that it is a fair
//! control for io_uring: each request has a thread of its own if it needs one.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use stdx::Key;

use super::blocking;
use crate::affinity::Affinity;
use crate::fs::durability::Durability;
use crate::inbox::{Inbox, Message};
use crate::lock::lock;
use crate::op::{Meta, Op, Outcome, Transfer};

/// Threads per worker at most, whatever its depth: stacks and scheduler stay bounded.
const THREAD_COUNT_MAX: usize = 512;
/// Stack of a pool thread; it makes system calls and little else.
const STACK_BYTES: usize = 256 << 10;

/// Blocking work, with raw pointers into the operation that waits in its worker's table.
pub(crate) enum Work {
    Transfer { write: bool, fd: i32, memory: Memory, offset: u64, durability: Durability },
    SyncData { fd: i32 },
    Meta(Meta),
}

/// The memory of a transfer.
pub(crate) enum Memory {
    Single(*mut u8, usize),
    Spans(*const libc::iovec, usize),
}

// SAFETY: the pointers lead into buffers owned by an operation that stays in its worker's table,
// untouched, until the `Done` message of this very work has been received.
unsafe impl Send for Work {}

impl Work {
    pub(crate) fn of(op: &mut Op) -> Work {
        match op {
            Op::Read(transfer) => Work::transfer(transfer, false),
            Op::Write(transfer) => Work::transfer(transfer, true),
            Op::SyncData(file) => Work::SyncData { fd: file.raw_fd() },
            Op::Meta(meta) => Work::Meta(meta.clone()),
            Op::Ready(..)
            | Op::Send(_)
            | Op::Recv(_)
            | Op::Lend(_)
            | Op::Stream(_)
            | Op::Connect(_) => {
                unreachable!("sockets block no thread")
            }
        }
    }

    fn transfer(transfer: &mut Transfer, write: bool) -> Work {
        let (fd, offset) = (transfer.file.raw_fd(), transfer.offset);
        let memory = match transfer.single() {
            Some((ptr, len)) => Memory::Single(ptr, len),
            None => {
                let spans = transfer.spans();
                Memory::Spans(spans.as_ptr(), spans.len())
            }
        };
        Work::Transfer { write, fd, memory, offset, durability: transfer.durability }
    }
}

struct Job {
    key: Key,
    work: Work,
    reply: Arc<Inbox>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    stop: bool,
}

#[derive(Default)]
struct Common {
    queue: Mutex<Queue>,
    filled: Condvar,
}

/// The threads of one worker.
pub(crate) struct Pool {
    common: Arc<Common>,
    threads: Vec<JoinHandle<()>>,
    limit: usize,
    /// What a file opened by this pool's worker should use.
    context: blocking::Context,
    cores: Option<Affinity>,
}

impl Pool {
    /// A pool without threads yet; `context` says what its worker offers. Its threads
    /// use `cores`, or those of the thread that needs them.
    pub(crate) fn new(depth: u32, context: blocking::Context, cores: Option<Affinity>) -> Pool {
        let limit = (depth as usize).min(THREAD_COUNT_MAX);
        Pool { common: Arc::default(), threads: Vec::new(), limit, context, cores }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Has a thread do the work and send `Done` to `reply`.
    pub(crate) fn send(&mut self, key: Key, work: Work, reply: &Arc<Inbox>) {
        let job = Job { key, work, reply: reply.clone() };
        let short = {
            let mut queue = lock(&self.common.queue);
            queue.jobs.push_back(job);
            queue.jobs.len() > queue.idle
        };
        if short && self.threads.len() < self.limit {
            self.grow();
        }
        self.common.filled.notify_one();
    }

    fn grow(&mut self) {
        let (common, context, cores) = (self.common.clone(), self.context, self.cores);
        let builder = std::thread::Builder::new().name("dovetail-io".to_owned());
        match builder.stack_size(STACK_BYTES).spawn(move || serve(&common, context, cores)) {
            Ok(thread) => self.threads.push(thread),
            // Fewer threads only make it slower; without any, nothing would ever complete.
            Err(error) => assert!(!self.threads.is_empty(), "no thread for I/O: {error}"),
        }
    }
}

fn serve(common: &Common, context: blocking::Context, cores: Option<Affinity>) {
    if let Some(cores) = cores {
        cores.apply();
    }
    while let Some(Job { key, work, reply }) = next(common) {
        let outcome = match work {
            Work::Meta(meta) => Outcome::Answer(blocking::answer(&meta, context)),
            Work::SyncData { fd } => Outcome::Count(blocking::sync_data(fd)),
            Work::Transfer { write, fd, memory, offset, durability } => {
                let moved = match write {
                    true => blocking::write(fd, &memory, offset, durability),
                    false => blocking::read(fd, &memory, offset),
                };
                Outcome::Count(moved)
            }
        };
        reply.send(Message::Done(key, outcome));
    }
}

fn next(common: &Common) -> Option<Job> {
    let mut queue = lock(&common.queue);
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            return Some(job);
        }
        if queue.stop {
            return None;
        }
        queue.idle += 1;
        queue = common.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.idle -= 1;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.common.queue).stop = true;
        self.common.filled.notify_all();
        for thread in self.threads.drain(..) {
            // A pool thread makes system calls and does not panic.
            let _ = thread.join();
        }
    }
}
