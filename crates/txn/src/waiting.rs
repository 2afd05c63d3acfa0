//! Waiting that a cancel ends.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use runtime::sync::Cancel;
use types::{SqlError, SqlResult};

/// What `work` gives, or 57014.
pub async fn unless_cancelled<T>(cancel: &Cancel, work: impl Future<Output = T>) -> SqlResult<T> {
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
pub async fn give_way(cancel: &Cancel) -> SqlResult<()> {
    breathe().await;
    match cancel.is_cancelled() {
        true => Err(SqlError::cancelled()),
        false => Ok(()),
    }
}

/// The same for work that goes to its end once it has begun.
pub async fn breathe() {
    if runtime::need_preempt() {
        runtime::yield_now().await;
    }
}

/// Entries of trees that are taken between two looks at the clock, a tenth of a microsecond or
/// some each; those of a statement about few rows cost no look.
pub const ENTRIES_AT_ONCE: usize = 256;

/// [`breathe`] behind each [`ENTRIES_AT_ONCE`] of many entries; `nth` counts them from 0.
pub async fn breathe_among(nth: usize) {
    if nth % ENTRIES_AT_ONCE == ENTRIES_AT_ONCE - 1 {
        breathe().await;
    }
}

/// Lets others have their turn in any case: without it, what is tried again might find the same again.
///
/// # Errors
/// 57014 when the work is wanted no longer.
pub async fn let_others(cancel: &Cancel) -> SqlResult<()> {
    runtime::yield_now().await;
    give_way(cancel).await
}

/// Work that goes on beside other work of the same task.
pub type Beside<'a, T> = Pin<Box<dyn Future<Output = SqlResult<T>> + 'a>>;

/// What all of them give, in order, each going on while others wait. They end with the task that waits
/// for them.
///
/// # Errors
/// The first one; the others are dropped.
pub async fn all<T>(mut work: Vec<Beside<'_, T>>) -> SqlResult<Vec<T>> {
    let mut done: Vec<Option<T>> = work.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (work, done) in work.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(result) = work.as_mut().poll(cx)
            {
                match result {
                    Ok(value) => *done = Some(value),
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        }
        match done.iter().all(Option::is_some) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    })
    .await?;
    Ok(done.into_iter().flatten().collect())
}
