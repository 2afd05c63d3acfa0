//! Spawning on the same worker, and waiting for what was spawned.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use stdx::Key;

use crate::task::aborted::Aborted;
use crate::worker;

/// Starts a task on the current worker, under the current account.
///
/// # Panics
/// Outside of a task.
pub fn spawn<F: Future<Output = T> + 'static, T: 'static>(future: F) -> JoinHandle<T> {
    worker::with(|w| JoinHandle { task: w.spawn(future, true), worker: w.id, output: PhantomData })
}

/// A task's output, to be awaited on the same worker. Dropping the handle detaches the task.
pub struct JoinHandle<T> {
    task: Key,
    worker: u32,
    output: PhantomData<*const T>,
}

impl<T> JoinHandle<T> {
    /// Has the task's future dropped instead of polled again.
    pub fn abort(&self) {
        worker::with(|w| w.abort(self.task));
    }

    /// True when the output is there.
    pub fn is_finished(&self) -> bool {
        worker::with(|w| w.is_finished(self.task))
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, Aborted>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut output: Option<Result<T, Aborted>> = None;
        let taken = worker::with(|w| {
            assert_eq!(w.id, self.worker, "a JoinHandle is awaited on its own worker");
            // SAFETY: `output` has the type that the task's frame stores: `task` is the key of a
            // task whose future had the output `T`, and keys are never reused.
            unsafe { w.poll_join(self.task, cx, (&raw mut output).cast()) }
        });
        match (taken, output) {
            (true, output) => Poll::Ready(output.unwrap_or(Err(Aborted::Cancelled))),
            (false, _) => Poll::Pending,
        }
    }
}

impl<T> Unpin for JoinHandle<T> {}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // Without a worker the runtime is gone, and the task with it.
        worker::try_with(|w| {
            if w.id == self.worker {
                w.detach(self.task);
            }
        });
    }
}
