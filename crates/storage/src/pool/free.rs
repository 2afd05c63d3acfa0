//! Free frames: the pool's flow control. Who finds none waits its turn, first come, first served.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin as Pinned;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stdx::sync::{AtomicUsize, Mutex, Ordering, fence};

use super::Pool;
use super::state::Snapshot;
use crate::error::{Result, StorageError};

/// The list of free frames and the queue of those who wait for one.
pub(super) struct FreeFrames {
    inner: Mutex<Inner>,
    /// Length of the queue. Written before the waiter sweeps, read after an unpin; both are
    /// sequentially consistent, so either the sweep sees the unpinned frame or the unpinning task
    /// sees the waiter.
    waiting: AtomicUsize,
    /// Frames whose pages are being written so that they become free.
    coming: AtomicUsize,
}

/// While somebody is in the queue there are no frames in the list.
struct Inner {
    frames: Vec<u32>,
    queue: VecDeque<Arc<Turn>>,
}

impl Inner {
    fn pop_unless_queued(&mut self) -> Option<u32> {
        if self.queue.is_empty() { self.frames.pop() } else { None }
    }
}

/// One place in the queue.
struct Turn {
    state: Mutex<TurnState>,
}

enum TurnState {
    Waiting(Option<Waker>),
    Granted(u32),
    Failed(StorageError),
    Over,
}

impl FreeFrames {
    pub fn new(frame_count: u32) -> FreeFrames {
        let inner = Inner { frames: (0..frame_count).rev().collect(), queue: VecDeque::new() };
        let (waiting, coming) = (AtomicUsize::new(0), AtomicUsize::new(0));
        FreeFrames { inner: Mutex::new(inner), waiting, coming }
    }

    /// Number of free frames.
    pub fn len(&self) -> usize {
        self.inner.lock().expect("free frames").frames.len()
    }

    /// Number of tasks that wait for a frame.
    #[inline]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Frames that become free soon.
    pub fn coming(&self) -> usize {
        self.coming.load(Ordering::SeqCst)
    }

    /// So many frames are to become free.
    pub fn expect(&self, frames: usize) {
        self.coming.fetch_add(frames, Ordering::SeqCst);
    }

    /// So many have become free, or do not.
    pub fn expect_no_more(&self, frames: usize) {
        self.coming.fetch_sub(frames, Ordering::SeqCst);
    }

    /// Frames that the first in the queue, which is the caller, has to look for; none when enough are coming: the
    /// end of their writes wakes those for whom it has not freed enough.
    pub fn wanted(&self) -> Option<usize> {
        let coming = self.coming();
        let wanted = self.waiting().max(1).checked_sub(coming).filter(|wanted| *wanted > 0);
        // Orders the waiter's entry in the queue before the looks at the pins: see `waiting`.
        fence(Ordering::SeqCst);
        wanted
    }

    /// A pin was given back: the first in the queue looks for a victim again if it was the last of its page.
    #[inline]
    pub fn after_unpin(&self, after: Snapshot) {
        if after.pins() == 0 && self.waiting() > 0 {
            self.nudge();
        }
    }

    /// Takes a frame if that leaves more than `reserve` free and nobody is waiting. Returns it with
    /// the number left.
    pub fn try_take(&self, reserve: usize) -> Option<(u32, usize)> {
        let mut inner = self.inner.lock().expect("free frames");
        if inner.frames.len() <= reserve {
            return None;
        }
        let frame = inner.pop_unless_queued()?;
        Some((frame, inner.frames.len()))
    }

    /// Gives a frame to the first in the queue, or to the list.
    pub fn put(&self, frame: u32) {
        let mut inner = self.inner.lock().expect("free frames");
        let Some(turn) = inner.queue.pop_front() else {
            inner.frames.push(frame);
            return;
        };
        self.waiting.store(inner.queue.len(), Ordering::SeqCst);
        // With the list locked: who leaves the queue finds his turn there, or the frame in it.
        let waker = turn.settle(TurnState::Granted(frame));
        drop(inner);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Wakes the first in the queue, which then looks for a victim itself.
    pub fn nudge(&self) {
        let first = self.inner.lock().expect("free frames").queue.front().cloned();
        if let Some(turn) = first {
            turn.wake();
        }
    }

    /// Ends the waiting of all: there will be no more frames.
    pub fn fail_all(&self, error: &StorageError) {
        let queue = {
            let mut inner = self.inner.lock().expect("free frames");
            self.waiting.store(0, Ordering::SeqCst);
            std::mem::take(&mut inner.queue)
        };
        for turn in queue {
            let waker = turn.settle(TurnState::Failed(error.clone()));
            waker.into_iter().for_each(Waker::wake);
        }
    }

    /// A place in the queue; or a frame, if one has come since the caller found none.
    fn enqueue(&self) -> Arc<Turn> {
        let mut inner = self.inner.lock().expect("free frames");
        let turn = |state| Arc::new(Turn { state: Mutex::new(state) });
        if let Some(frame) = inner.pop_unless_queued() {
            return turn(TurnState::Granted(frame));
        }
        let turn = turn(TurnState::Waiting(None));
        inner.queue.push_back(Arc::clone(&turn));
        self.waiting.store(inner.queue.len(), Ordering::SeqCst);
        turn
    }

    fn is_first(&self, turn: &Arc<Turn>) -> bool {
        let inner = self.inner.lock().expect("free frames");
        inner.queue.front().is_some_and(|first| Arc::ptr_eq(first, turn))
    }

    fn leave(&self, turn: &Arc<Turn>) {
        let mut inner = self.inner.lock().expect("free frames");
        inner.queue.retain(|other| !Arc::ptr_eq(other, turn));
        self.waiting.store(inner.queue.len(), Ordering::SeqCst);
    }
}

impl Turn {
    /// Ends the waiting; who is to be woken then.
    fn settle(&self, outcome: TurnState) -> Option<Waker> {
        let mut state = self.state.lock().expect("turn");
        match std::mem::replace(&mut *state, outcome) {
            TurnState::Waiting(waker) => waker,
            _ => None,
        }
    }

    fn wake(&self) {
        let state = self.state.lock().expect("turn");
        if let TurnState::Waiting(Some(waker)) = &*state {
            let waker = waker.clone();
            drop(state);
            waker.wake();
        }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Result<u32>> {
        let mut state = self.state.lock().expect("turn");
        match std::mem::replace(&mut *state, TurnState::Over) {
            TurnState::Granted(frame) => Poll::Ready(Ok(frame)),
            TurnState::Failed(error) => Poll::Ready(Err(error)),
            TurnState::Waiting(_) => {
                *state = TurnState::Waiting(Some(cx.waker().clone()));
                Poll::Pending
            }
            TurnState::Over => panic!("a turn was polled after its end"),
        }
    }
}

/// Waits for a frame. Dropped early, it gives its place, or its frame, to the next.
pub(super) struct TakeFrame<'p> {
    pool: &'p Arc<Pool>,
    turn: Option<Arc<Turn>>,
}

impl<'p> TakeFrame<'p> {
    pub fn new(pool: &'p Arc<Pool>) -> TakeFrame<'p> {
        TakeFrame { pool, turn: None }
    }
}

impl Future for TakeFrame<'_> {
    type Output = Result<u32>;

    fn poll(mut self: Pinned<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<u32>> {
        let pool = self.pool;
        let turn = match &self.turn {
            Some(turn) => Arc::clone(turn),
            None => match pool.take_free_frame(0) {
                Some(frame) => return Poll::Ready(Ok(frame)),
                None => Arc::clone(self.turn.insert(pool.free.enqueue())),
            },
        };
        let mut outcome = turn.poll(cx);
        if outcome.is_pending() && pool.free.is_first(&turn) {
            pool.relieve();
            outcome = turn.poll(cx);
        }
        if let Poll::Ready(taken) = &outcome {
            self.turn = None;
            if let Ok(frame) = taken {
                pool.frames[*frame as usize].state.begin_loading();
            }
            // The next in the queue had left the search for victims to this one.
            pool.free.nudge();
        }
        outcome
    }
}

impl Drop for TakeFrame<'_> {
    fn drop(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        self.pool.free.leave(&turn);
        let state = std::mem::replace(&mut *turn.state.lock().expect("turn"), TurnState::Over);
        if let TurnState::Granted(frame) = state {
            self.pool.free.put(frame);
        }
        self.pool.free.nudge();
    }
}
