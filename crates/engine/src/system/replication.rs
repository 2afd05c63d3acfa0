//! Figures of the database that a statement's own one follows, as the statement sees them.

use storage::LogPosition;

use super::view::SessionView;
use crate::replication::ReplicaFigures;

impl SessionView {
    /// How far the database is: what is durable.
    pub fn log_position(&self) -> LogPosition {
        self.monitor.versions.store.log_position()
    }

    /// How far the database is with another one that it follows, or has followed.
    pub fn replica(&self) -> Option<ReplicaFigures> {
        self.monitor.replica.as_ref().map(|replica| replica.figures())
    }

    /// Has a database that follows another one become one of its own, soon; whether it follows one.
    pub fn promote(&self) -> bool {
        let replica = self.monitor.replica.as_ref().filter(|_| self.settings.in_recovery());
        replica.inspect(|replica| replica.promote()).is_some()
    }
}
