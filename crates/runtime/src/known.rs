//! What rings may have registered: a file or an arena, under a number, and where it is known.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lock::lock;

/// Tells a worker, by its number in the process, that what has this number is no more. Who notes
/// something knows how: workers lie above files and memory.
pub(crate) type Tell = fn(u32, u64);

/// The identity of a file or an arena. Dropping it has every worker that registered it forget it:
/// the kernel would keep the file open and the memory pinned.
pub(crate) struct Known {
    number: u64,
    /// The workers that are to be told, by their number in the process.
    workers: Mutex<Vec<(u32, Tell)>>,
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
    pub(crate) fn note(&self, worker: u32, tell: Tell) {
        let mut workers = lock(&self.workers);
        if !workers.iter().any(|(noted, _)| *noted == worker) {
            workers.push((worker, tell));
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        for (worker, tell) in lock(&self.workers).drain(..) {
            tell(worker, self.number);
        }
    }
}
