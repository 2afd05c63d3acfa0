//! State that each worker has for itself.

use std::sync::{Mutex, MutexGuard};

use crate::notify::locked;

/// One value per worker. Only its worker locks it while a pipeline runs, so locks never wait.
pub(crate) struct Locals<T> {
    workers: Vec<Mutex<T>>,
}

impl<T: Default> Locals<T> {
    pub(crate) fn new(worker_count: usize) -> Locals<T> {
        Locals { workers: (0..worker_count.max(1)).map(|_| Mutex::default()).collect() }
    }

    pub(crate) fn of(&self, worker: usize) -> MutexGuard<'_, T> {
        locked(&self.workers[worker])
    }

    /// Takes all values, in the order of workers.
    pub(crate) fn take(&self) -> Vec<T> {
        self.workers.iter().map(|w| std::mem::take(&mut *locked(w))).collect()
    }
}
