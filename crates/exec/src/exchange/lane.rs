//! The way to one peer: buffers that are empty, filled or under way, how many more each of the two
//! takes, and what has been said. Producers fill, the sender's coroutine empties.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard};

use runtime::IoBuf;
use runtime::sync::{Semaphore, WaitQueue};
use types::SqlResult;

use super::frame::violation;
use crate::notify::locked;

/// The most buffers that a node grants another one: a gibibyte of them.
pub(crate) const CREDIT_MAX: u64 = 1 << 10;

/// The way to a peer.
pub(crate) struct Lane {
    state: Mutex<State>,
    /// The sender waits here for something to do.
    pub(crate) changed: WaitQueue,
    /// Producers wait here for an empty buffer.
    pub(crate) vacant: WaitQueue,
    /// The turn of a batch: its buffers stay together.
    pub(crate) turn: Semaphore,
}

#[derive(Default)]
struct State {
    empty: Vec<IoBuf>,
    filled: VecDeque<Filled>,
    /// Buffers that the peer still takes.
    credit: u64,
    /// Buffers that the peer is to be told it may send.
    to_grant: u64,
    /// Buffers that the peer may send and has not.
    granted: u64,
    batch_count: u64,
    received_count: u64,
    has_greeted: bool,
    /// All rows of this node are in `filled` or were sent.
    is_complete: bool,
    is_end_sent: bool,
    /// The peer's rows are all here.
    has_ended: bool,
    /// The peer wants no rows any more.
    refuses: bool,
    /// No rows of the peer are wanted here any more, and it is to be told.
    is_enough: bool,
    is_enough_sent: bool,
}

/// A frame in a buffer.
pub(crate) struct Filled {
    pub(crate) buf: IoBuf,
    /// Bytes of the frame.
    pub(crate) len: usize,
    /// The frame ends its batch.
    pub(crate) is_last: bool,
}

/// The next act of a sender.
pub(crate) enum Next {
    Hello,
    /// So many buffers are granted.
    Credit(u64),
    Enough,
    Buffer(Filled),
    /// With the count of batches.
    End(u64),
    /// Nothing will be sent any more.
    Close,
}

impl Lane {
    /// A way with these buffers to a peer that may send `credit` buffers.
    pub(crate) fn new(empty: Vec<IoBuf>, credit: u64) -> Lane {
        let state = State { empty, to_grant: credit, ..State::default() };
        Lane {
            state: Mutex::new(state),
            changed: WaitQueue::new(),
            vacant: WaitQueue::new(),
            turn: Semaphore::new(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Wakes everybody who waits for anything here.
    pub(crate) fn wake_all(&self) {
        self.changed.wake_all();
        self.vacant.wake_all();
    }

    /// True if rows for the peer are thrown away.
    pub(crate) fn refuses(&self) -> bool {
        self.state().refuses
    }

    /// An empty buffer; `Some(None)` where the peer wants no rows.
    pub(crate) fn take_empty(&self) -> Option<Option<IoBuf>> {
        let mut state = self.state();
        if state.refuses {
            return Some(None);
        }
        state.empty.pop().map(Some)
    }

    /// Gives a buffer back.
    pub(crate) fn give_empty(&self, buf: IoBuf) {
        self.state().empty.push(buf);
        self.vacant.wake_all();
    }

    /// Has a frame sent when the peer takes it.
    pub(crate) fn give_filled(&self, filled: Filled) {
        self.state().filled.push_back(filled);
        self.changed.wake_all();
    }

    /// All rows of this node have been given.
    pub(crate) fn complete(&self) {
        self.state().is_complete = true;
        self.changed.wake_all();
    }

    /// Rows of the peer are not wanted any more.
    pub(crate) fn enough(&self) {
        let mut state = self.state();
        state.is_enough = !state.has_ended;
        drop(state);
        self.changed.wake_all();
    }

    /// The peer may send `count` buffers more, whose memory is there.
    pub(crate) fn grant(&self, count: u64) {
        self.state().to_grant += count;
        self.changed.wake_all();
    }

    /// The next thing to be sent, if there is one.
    pub(crate) fn next(&self) -> Option<Next> {
        let mut state = self.state();
        let is_greeting = !mem::replace(&mut state.has_greeted, true);
        if is_greeting {
            return Some(Next::Hello);
        }
        if state.refuses {
            let filled = mem::take(&mut state.filled);
            state.empty.extend(filled.into_iter().map(|filled| filled.buf));
        }
        let next = state.next();
        drop(state);
        next
    }

    /// The peer takes `count` buffers more.
    ///
    /// # Errors
    /// 08P01: none, or more than anybody has.
    pub(crate) fn credit(&self, count: u64) -> SqlResult<()> {
        let mut state = self.state();
        state.credit = state.credit.saturating_add(count);
        let credit = state.credit;
        drop(state);
        self.changed.wake_all();
        match count > 0 && credit <= CREDIT_MAX {
            true => Ok(()),
            false => Err(violation(format!("a credit of {count} buffers beside {credit}"))),
        }
    }

    /// The peer sends a buffer.
    ///
    /// # Errors
    /// 08P01: it may not.
    pub(crate) fn spend(&self) -> SqlResult<()> {
        let mut state = self.state();
        let left = state.granted.checked_sub(1);
        let (Some(granted), false) = (left, state.has_ended) else {
            return Err(violation("rows that it had no credit for"));
        };
        state.granted = granted;
        Ok(())
    }

    /// A batch of the peer is whole.
    pub(crate) fn received(&self) {
        self.state().received_count += 1;
    }

    /// The peer has sent all of its rows, which are `batch_count` batches.
    ///
    /// # Errors
    /// 08P01: they are not all here, or it has said so before.
    pub(crate) fn ended(&self, batch_count: u64) -> SqlResult<()> {
        let mut state = self.state();
        if mem::replace(&mut state.has_ended, true) {
            return Err(violation("the end of its rows twice"));
        }
        let count = state.received_count;
        drop(state);
        self.changed.wake_all();
        match count == batch_count {
            true => Ok(()),
            false => Err(violation(format!("{count} batches instead of {batch_count}"))),
        }
    }

    /// The peer wants no rows any more.
    pub(crate) fn refuse(&self) {
        self.state().refuses = true;
        self.wake_all();
    }

    /// True if the peer may close its end now: it has said all that this node waits for.
    pub(crate) fn may_close(&self) -> bool {
        let state = self.state();
        state.has_ended && (state.is_end_sent || state.refuses)
    }
}

impl State {
    fn next(&mut self) -> Option<Next> {
        if self.is_enough && !mem::replace(&mut self.is_enough_sent, true) {
            return Some(Next::Enough);
        }
        if self.to_grant > 0 && !self.has_ended && !self.is_enough {
            let count = mem::take(&mut self.to_grant);
            self.granted += count;
            return Some(Next::Credit(count));
        }
        if self.credit > 0
            && let Some(filled) = self.filled.pop_front()
        {
            self.credit -= 1;
            self.batch_count += u64::from(filled.is_last);
            return Some(Next::Buffer(filled));
        }
        if self.is_complete && self.filled.is_empty() && !self.is_end_sent {
            self.is_end_sent = true;
            return Some(Next::End(self.batch_count));
        }
        (self.is_end_sent && (self.has_ended || self.is_enough)).then_some(Next::Close)
    }
}
