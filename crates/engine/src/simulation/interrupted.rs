//! What befalls statements in the midst: a cancel, or that nobody polls them any more. It comes after some time, or
//! after some suspensions: most statements take next to no simulated time until they commit, which no cancel ends.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use runtime::time;
use stdx::Prng;
use types::{SqlError, SqlResult, SqlState};

use super::client::Client;
use crate::activity::cancel::CancelHandle;

/// Longest wait, in simulated time, in most cases; transactions of several statements take up to four times as long.
const PATIENCE_US: u64 = 8_000;

/// Suspensions of the longest statements, as a power of two; those of one row have two or three.
const SUSPENSIONS_LOG_MAX: u64 = 11;

/// What has become of work that something may have befallen.
pub(super) enum Ended<T> {
    /// It came to its own end.
    Done(SqlResult<T>),
    /// A cancel has ended it: nothing of it stays.
    Cancelled,
    /// It was dropped at a suspension, in a session that nobody has: what has become of it is not known.
    Dropped,
}

/// What befalls it.
#[derive(Clone, Copy, Debug)]
enum Interrupt {
    Nothing,
    Cancel(Moment),
    Drop(Moment),
}

/// When, counted from its beginning.
#[derive(Clone, Copy, Debug)]
enum Moment {
    After(Duration),
    /// When it is to go on for the so many-th time.
    Suspensions(u64),
}

impl Client {
    /// Does work that something may befall.
    pub(super) async fn interrupted<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Client) -> SqlResult<T>,
    ) -> Ended<T> {
        let interrupt = Interrupt::random(&mut self.prng);
        let handle = self.session.cancel_handle();
        self.may_be_cancelled = matches!(interrupt, Interrupt::Cancel(_));
        let done = interrupt.around(&handle, work(self)).await;
        let ended = match done {
            None => Ended::Dropped,
            Some(Err(error)) if self.is_cancel(&error) => Ended::Cancelled,
            Some(done) => Ended::Done(done),
        };
        self.may_be_cancelled = false;
        match &ended {
            Ended::Dropped => self.note_drop(),
            Ended::Cancelled => self.report.cancels += 1,
            Ended::Done(_) => {}
        }
        ended
    }

    /// Whether an error says that a cancel has come, and one may have.
    pub(super) fn is_cancel(&self, error: &SqlError) -> bool {
        self.may_be_cancelled && error.state == SqlState::QUERY_CANCELED
    }
}

impl Interrupt {
    fn random(prng: &mut Prng) -> Interrupt {
        match prng.below(20) {
            0..3 => Interrupt::Cancel(Moment::random(prng)),
            3..6 => Interrupt::Drop(Moment::random(prng)),
            _ => Interrupt::Nothing,
        }
    }

    /// What `work` gives; `None`: it was dropped.
    async fn around<T>(self, handle: &CancelHandle, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        match self {
            Interrupt::Nothing => Some(work.await),
            Interrupt::Drop(moment) => moment.until(work).await,
            Interrupt::Cancel(moment) => match moment.until(work.as_mut()).await {
                None => {
                    handle.cancel();
                    Some(work.await)
                }
                done => done,
            },
        }
    }
}

impl Moment {
    fn random(prng: &mut Prng) -> Moment {
        match prng.below(3) {
            0 => {
                let most_us = PATIENCE_US << prng.below(3);
                Moment::After(Duration::from_micros(prng.below(most_us)))
            }
            // Small numbers are as likely as large ones.
            _ => {
                let most = 1 << prng.below(SUSPENSIONS_LOG_MAX + 1);
                Moment::Suspensions(1 + prng.below(most))
            }
        }
    }

    /// What `work` gives by then.
    async fn until<T>(self, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match self {
            Moment::After(patience) => time::timeout(patience, work).await.ok(),
            Moment::Suspensions(mut polls_left) => {
                poll_fn(|cx| {
                    if polls_left == 0 {
                        return Poll::Ready(None);
                    }
                    polls_left -= 1;
                    work.as_mut().poll(cx).map(Some)
                })
                .await
            }
        }
    }
}

#[cfg(test)]
mod tests;
