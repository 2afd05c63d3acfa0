//! How long work computes.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

/// Counts the time in which `work` computes, not that in which it waits.
pub(crate) async fn busy<T>(busy_ns: &AtomicU64, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| -> Poll<T> { timed(busy_ns, || work.as_mut().poll(cx)) }).await
}

/// Counts the time that `work` takes.
pub(crate) fn timed<T>(busy_ns: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let start = runtime::time::now();
    let result = work();
    busy_ns.fetch_add(elapsed_ns(start), Relaxed);
    result
}

/// Nanoseconds since `start`.
pub(crate) fn elapsed_ns(start: runtime::time::Instant) -> u64 {
    (runtime::time::now() - start).as_nanos() as u64
}
