//! The turn of a checkpoint, given on by who has it to the publication of what it has committed. Between giving it
//! back and asking for it again others would get it, as a backup does for as long as it copies.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::PoisonError;
use std::task::Poll;

use runtime::sync::WaitQueue;
use stdx::sync::Mutex;
use storage::{CheckpointTurn, Store};

/// A turn that the next publication takes which needs one.
pub(crate) struct Lent {
    turn: Mutex<Option<CheckpointTurn>>,
    lent: WaitQueue,
}

impl Lent {
    pub(super) fn new() -> Lent {
        Lent { turn: Mutex::new(None), lent: WaitQueue::new() }
    }

    /// Gives it to a publication that waits for one, or to the next. The caller has put a version in place that
    /// needs a checkpoint: so there is a publication that takes it.
    pub(super) fn give(&self, turn: CheckpointTurn) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn);
        self.lent.wake_all();
    }

    /// The turn that is given on, or that of the store, whichever comes first.
    pub(super) async fn take(&self, store: &Store) -> CheckpointTurn {
        let given = || self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (mut given, mut own) = (pin!(self.lent.wait(given)), pin!(store.checkpoint_turn()));
        poll_fn(|cx| match given.as_mut().poll(cx) {
            Poll::Ready(turn) => Poll::Ready(turn),
            Poll::Pending => own.as_mut().poll(cx),
        })
        .await
    }
}
