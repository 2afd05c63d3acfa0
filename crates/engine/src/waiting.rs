//! Waiting that a cancel ends.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use runtime::sync::Cancel;
use types::{SqlError, SqlResult};

/// What `work` gives, or 57014.
pub(crate) async fn unless_cancelled<T>(
    cancel: &Cancel,
    work: impl Future<Output = T>,
) -> SqlResult<T> {
    let (mut work, mut cancelled) = (pin!(work), pin!(cancel.cancelled()));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Ok(done)),
        Poll::Pending => cancelled.as_mut().poll(cx).map(|()| Err(SqlError::cancelled())),
    })
    .await
}

/// Gives other tasks of the worker their turn, when this one has had its own; for long loops.
///
/// # Errors
/// 57014 when the work is wanted no longer.
pub(crate) async fn give_way(cancel: &Cancel) -> SqlResult<()> {
    if runtime::need_preempt() {
        runtime::yield_now().await;
    }
    match cancel.is_cancelled() {
        true => Err(SqlError::cancelled()),
        false => Ok(()),
    }
}
