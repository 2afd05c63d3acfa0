//! How far recovery has come, for who waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What recovery does, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// Nothing that takes long.
    #[default]
    Opening,
    /// Pages of the double-write buffer go to their places.
    DoubleWrite,
    /// The log is read: bytes.
    Log,
    /// What the log says is put into the trees: entries.
    Changes,
    /// What was recovered is made the next checkpoint.
    Checkpoint,
}

/// How much of a phase is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryStep {
    /// The phase.
    pub phase: RecoveryPhase,
    /// So much is done, in the unit of the phase.
    pub done: u64,
    /// Of so much.
    pub total: u64,
}

/// How far the opening of a file has come.
#[derive(Debug, Default)]
pub struct RecoveryProgress(Mutex<RecoveryStep>);

impl RecoveryProgress {
    fn state(&self) -> MutexGuard<'_, RecoveryStep> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it does now.
    pub fn step(&self) -> RecoveryStep {
        *self.state()
    }

    pub(crate) fn begin(&self, phase: RecoveryPhase, total: u64) {
        *self.state() = RecoveryStep { phase, done: 0, total };
    }

    pub(crate) fn add(&self, done: u64) {
        self.state().done += done;
    }
}
