//! Operations under way, and waiting for them.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use stdx::Key;

use crate::op::{Op, Outcome};
use crate::time::Instant;
use crate::{time, worker};

/// Waits for an operation that is under way. Dropping it orphans the operation.
pub(crate) struct Pending {
    key: Key,
    worker: u32,
    taken: bool,
    local: PhantomData<*const ()>,
}

impl Pending {
    /// Waits until `deadline`, then has the operation end early; it gives its memory back in either
    /// case. True when the time was up.
    pub(crate) async fn until(mut self, deadline: Instant) -> (Outcome, Op, bool) {
        let mut sleep = time::sleep_until(deadline);
        let mut is_late = false;
        let (outcome, op) = std::future::poll_fn(|cx| {
            let ended = Pin::new(&mut self).poll(cx);
            if ended.is_pending() && !is_late && Pin::new(&mut sleep).poll(cx).is_ready() {
                is_late = true;
                worker::with(|w| w.end_early(self.key));
            }
            ended
        })
        .await;
        (outcome, op, is_late)
    }
}

impl Pending {
    /// Waits for a part of the operation, as `take` finds it, or for its end. Dropping the future
    /// loses nothing.
    pub(crate) async fn part<T>(
        &mut self,
        mut take: impl FnMut(&mut Op) -> Option<T>,
    ) -> Result<T, (Outcome, Op)> {
        std::future::poll_fn(|cx| {
            let told = worker::with(|w| {
                assert_eq!(w.id, self.worker, "an operation is awaited on its own worker");
                w.poll_part(self.key, cx.waker(), &mut take)
            });
            match told {
                Some(told) => {
                    self.taken = told.is_err();
                    Poll::Ready(told)
                }
                None => Poll::Pending,
            }
        })
        .await
    }
}

/// Puts an operation under way on the current worker.
pub(crate) fn begin(op: Op) -> Pending {
    worker::with(|w| Pending { key: w.begin(op), worker: w.id, taken: false, local: PhantomData })
}

impl Future for Pending {
    type Output = (Outcome, Op);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = worker::with(|w| {
            assert_eq!(w.id, self.worker, "an operation is awaited on its own worker");
            w.poll_op(self.key, cx.waker())
        });
        match ended {
            Some(ended) => {
                self.taken = true;
                Poll::Ready(ended)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.taken {
            // Without a worker the rings are closed already, and the operations gone.
            worker::try_with(|w| w.orphan(self.key));
        }
    }
}
