//! Who wants to know that a session waits for long.

use std::sync::Arc;

use super::state::Session;
use crate::locks::watch::LockWatch;

impl Session {
    /// Who wants to know that the statement waits for long.
    pub(crate) fn lock_watch(&self) -> Option<Arc<LockWatch>> {
        let log = self.database().activities().lock_log()?;
        let (db, session) = (self.database().clone(), self.activity().session_id);
        Some(Arc::new(LockWatch { db, session, log }))
    }
}
