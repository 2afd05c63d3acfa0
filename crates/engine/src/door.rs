//! The door of the embedded library: the one place where an ordinary thread waits for the workers.

use std::future::Future;
use std::pin::Pin;

use runtime::Handle;

/// Work of a worker that borrows from the thread that waits for it.
pub(crate) type Borrowing<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Runs a future on a worker while the calling ordinary thread waits.
///
/// # Panics
/// Inside of a task, which would block its worker, and when the runtime has stopped.
pub(crate) fn wait<'a, T: Send + 'a>(
    handle: &Handle,
    work: impl FnOnce() -> Borrowing<'a, T> + Send + 'a,
) -> T {
    wait_beside(handle, work, || ())
}

/// The same; the calling thread does `beside` meanwhile.
pub(crate) fn wait_beside<'a, T: Send + 'a>(
    handle: &Handle,
    work: impl FnOnce() -> Borrowing<'a, T> + Send + 'a,
    beside: impl FnOnce(),
) -> T {
    handle.block_on_scoped(work, beside)
}
