//! Work that goes to its end once it has begun.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use super::aborted::Aborted;
use super::join::spawn;
use super::unwind::panic_text;

/// Runs a future to its end, also when nobody waits for that any more: it begins in the task that
/// asks for it, and becomes a task of its own only if it has to wait.
///
/// # Errors
/// That it panicked, or that the runtime stopped before its end.
///
/// # Panics
/// Outside of a task.
pub async fn to_end<F>(future: F) -> Result<F::Output, Aborted>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let mut future = Box::pin(future);
    match poll_fn(|cx| Poll::Ready(caught(|| future.as_mut().poll(cx)))).await {
        Ok(Poll::Ready(output)) => Ok(output),
        Ok(Poll::Pending) => spawn(future).await,
        Err(aborted) => {
            // Its destructor may panic as well.
            caught(|| drop(future)).ok();
            Err(aborted)
        }
    }
}

/// The output of a future that is polled in this task, or that it panicked.
///
/// # Errors
/// That it panicked.
pub async fn unless_panicked<F: Future>(future: F) -> Result<F::Output, Aborted> {
    let mut future = pin!(future);
    poll_fn(|cx| match caught(|| future.as_mut().poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(aborted) => Poll::Ready(Err(aborted)),
    })
    .await
}

fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Aborted> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Aborted::Panicked(panic_text(&*panic)))
}
