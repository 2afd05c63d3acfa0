//! Something that happens once (or until it is reset).

use std::sync::atomic::{AtomicBool, Ordering};

use super::wait_queue::WaitQueue;

/// A flag to wait for.
#[derive(Debug, Default)]
pub struct Event {
    set: AtomicBool,
    queue: WaitQueue,
}

impl Event {
    /// An event that has not happened.
    pub fn new() -> Event {
        Event { set: AtomicBool::new(false), queue: WaitQueue::new() }
    }

    /// It has happened: all waiters go on, later ones do not wait.
    pub fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        self.queue.wake_all();
    }

    /// It has not happened any more.
    pub fn reset(&self) {
        self.set.store(false, Ordering::SeqCst);
    }

    /// Whether it has happened.
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }

    /// Waits until it has happened.
    pub async fn wait(&self) {
        self.queue.wait(|| self.is_set().then_some(())).await;
    }
}
