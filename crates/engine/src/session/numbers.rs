//! Numbers of sequences that a session takes.

use types::SqlResult;

use super::state::Session;
use crate::numbers::Given;

impl Session {
    /// Makes durable that sequences have given numbers out.
    pub(crate) async fn save_numbers(&self, given: Vec<Given>) -> SqlResult<()> {
        let (wait, waits) = (self.lock_wait(), self.waits_for_device());
        let acknowledged = self.database().save_numbers(given, &wait, waits).await?;
        self.note_acknowledged(acknowledged);
        Ok(())
    }
}
