//! Giving way: to the other tasks of the interleave window, or to all ready tasks.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::worker::{self, Queue};

/// Suspends once; the queue says where the task waits for its next turn.
struct Yield {
    queue: Queue,
    done: bool,
}

impl Future for Yield {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.done {
            return Poll::Ready(());
        }
        self.done = true;
        worker::with(|w| w.give_way(self.queue, cx.waker()));
        Poll::Pending
    }
}

/// Goes to the tail of the ready queue: everything that is ready gets its turn first, except that
/// of many woken tasks of no query only the first few do.
pub async fn yield_now() {
    Yield { queue: Queue::Ready, done: false }.await;
}

/// Goes to the head of the ready queue: completions are collected and the tasks of clients get their
/// turn, but no other query's work does, which would find its memory gone from the caches.
pub async fn step_aside() {
    Yield { queue: Queue::First, done: false }.await;
}

/// To be called after a prefetch: goes to the tail of the small interleave window, so that a few
/// other tasks run while the cache line travels (CoroBase, section 3). Returns at once when there is
/// no other task that could use the time.
#[inline]
pub async fn interleave() {
    if worker::with(|w| w.has_ready() || w.is_slice_over()) {
        Yield { queue: Queue::Window, done: false }.await;
    }
}

/// True when the task has used up its time slice, or a client may have asked for something: it should
/// `yield_now` or `step_aside`. Cheap: the clock is read at every 16th call, where calls are
/// microseconds apart, or after some milliseconds. Always true under `Config::attack`.
pub fn need_preempt() -> bool {
    worker::with(|w| w.need_preempt())
}

/// Whether the task whose turn it is has given way in this turn: it goes on as soon as the others have had theirs, and
/// waits for nothing else.
pub fn has_given_way() -> bool {
    worker::with(|w| w.gave_way.get().is_some())
}

/// The index of the current worker.
pub fn worker() -> usize {
    worker::with(|w| w.index)
}

/// How many workers the current runtime has.
pub fn worker_count() -> usize {
    worker::with(|w| w.shared.inboxes.len())
}

/// A number from the worker's generator, which follows from the run's seed.
pub fn random_u64() -> u64 {
    worker::with(|w| w.random.borrow_mut().next_u64())
}
