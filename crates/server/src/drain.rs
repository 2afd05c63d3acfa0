//! The end of a server: first what runs may finish, then it is cancelled.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::task::Poll;

use engine::{SqlError, SqlState};
use runtime::sync::Cancel;

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// The server serves.
    Open,
    /// Nobody is accepted; statements and transaction blocks that have begun go on.
    Draining,
    /// What runs is cancelled, and everybody leaves.
    Closing,
}

/// The stage, for all tasks to see.
#[derive(Default)]
pub(crate) struct Drain {
    stage: AtomicU8,
    /// Wakes those who accept.
    stop: Cancel,
    /// Wakes those who wait for what is cancelled.
    closed: Cancel,
}

impl Drain {
    pub fn stage(&self) -> Stage {
        match self.stage.load(SeqCst) {
            0 => Stage::Open,
            1 => Stage::Draining,
            _ => Stage::Closing,
        }
    }

    pub fn enter(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, SeqCst);
        self.stop.cancel();
        if self.stage() == Stage::Closing {
            self.closed.cancel();
        }
    }

    /// Waits until what runs is cancelled.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// The future's output; `None` once the server is ending.
    pub async fn unless_over<F: Future>(&self, future: F) -> Option<F::Output> {
        let (mut future, mut over) = (pin!(future), pin!(self.stop.cancelled()));
        poll_fn(move |cx| {
            if over.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            future.as_mut().poll(cx).map(Some)
        })
        .await
    }
}

/// What a client is told whose connection ends with the server.
pub(crate) fn farewell() -> SqlError {
    let message = "terminating connection due to administrator command";
    SqlError::new(SqlState::ADMIN_SHUTDOWN, message)
}

/// What a client is told that comes too late.
pub(crate) fn too_late() -> SqlError {
    SqlError::new(SqlState("57P03"), "the database system is shutting down")
}
