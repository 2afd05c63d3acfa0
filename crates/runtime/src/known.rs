//! What rings may have registered: a file or an arena, under a number, and where it is known.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::inbox::{self, Message};
use crate::lock::lock;

/// The identity of a file or an arena. Dropping it has every worker that registered it forget it:
/// the kernel would keep the file open and the memory pinned.
pub(crate) struct Known {
    number: u64,
    /// The workers, by their number in the process.
    workers: Mutex<Vec<u32>>,
}

impl Known {
    pub(crate) fn new() -> Known {
        // 0 is no number: tables use it for empty places.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Known { number: NEXT.fetch_add(1, Ordering::Relaxed), workers: Mutex::default() }
    }

    /// Never given twice in a process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Notes that a worker is to be told of the end.
    pub(crate) fn note(&self, worker: u32) {
        let mut workers = lock(&self.workers);
        if !workers.contains(&worker) {
            workers.push(worker);
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        for worker in lock(&self.workers).drain(..) {
            inbox::send_to(worker, Message::Forget(self.number));
        }
    }
}
