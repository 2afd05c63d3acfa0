//! Who ends a statement.

use std::sync::{Arc, Mutex, PoisonError};

use runtime::sync::Cancel;

/// Cancels what a session is doing, from any thread.
#[derive(Clone)]
pub struct CancelHandle(pub(crate) Arc<Mutex<Cancel>>);

impl CancelHandle {
    /// Ends the running statement with 57014; nothing happens when none runs.
    pub fn cancel(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }
}
