//! Cancel requests: a second connection names a session by the key that it was given.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::CancelHandle;

/// What names a session to a cancel request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CancelKey {
    pub process: u32,
    pub secret: u32,
}

/// The sessions that can be cancelled.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Known>);

#[derive(Default)]
struct Known {
    last: u32,
    handles: HashMap<CancelKey, CancelHandle>,
}

impl Sessions {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a session its key.
    pub fn enter(&self, handle: CancelHandle) -> CancelKey {
        let secret = u32::from_ne_bytes(runtime::entropy());
        let mut known = self.known();
        known.last = known.last.wrapping_add(1) & i32::MAX as u32;
        let key = CancelKey { process: known.last, secret };
        known.handles.insert(key, handle);
        key
    }

    pub fn leave(&self, key: CancelKey) {
        self.known().handles.remove(&key);
    }

    /// Cancels what the session does; a wrong key does nothing and is told nothing.
    pub fn cancel(&self, key: CancelKey) {
        let handle = self.known().handles.get(&key).cloned();
        if let Some(handle) = handle {
            handle.cancel();
        }
    }
}
