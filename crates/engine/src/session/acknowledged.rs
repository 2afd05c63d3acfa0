//! Commits of a session that were acknowledged before they were durable (`synchronous_commit = off`).

use std::sync::atomic::Ordering;

use types::{SqlError, SqlResult, SqlState};

use super::state::Session;

impl Session {
    /// Whether its commits wait until they are durable.
    pub(crate) fn waits_for_device(&self) -> bool {
        self.settings.synchronous_commit.waits()
    }

    /// A version of its own was acknowledged before it is durable, if there is a number.
    pub(crate) fn note_acknowledged(&self, version: Option<u64>) {
        if let Some(version) = version {
            self.acknowledged.0.store(version, Ordering::Relaxed);
        }
    }

    /// Whether what was acknowledged is durable, or on its way there. That it is not is told once.
    ///
    /// # Errors
    /// 08007
    pub(super) fn check_acknowledged(&self) -> SqlResult<()> {
        let version = self.acknowledged.0.load(Ordering::Relaxed);
        if version == 0 {
            return Ok(());
        }
        let Some(outcome) = self.db.versions().fate(version) else { return Ok(()) };
        self.acknowledged.0.store(0, Ordering::Relaxed);
        outcome.map_err(|error| lost(&error))
    }
}

/// What was acknowledged may be lost.
fn lost(error: &SqlError) -> SqlError {
    let message = "transactions that did not wait for the device may be lost";
    SqlError::new(SqlState("08007"), message)
        .with_detail(format!(
            "They were committed with \"synchronous_commit\" off: {}.",
            error.message
        ))
        .with_hint("Open the database again, and see whether their changes are there.")
}
