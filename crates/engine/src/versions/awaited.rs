//! Who waits until a commit is durable, and what is told of one that may not be.

use std::fmt::Display;
use std::sync::PoisonError;

use types::{SqlError, SqlState};

use super::chain::Versions;

/// A session waits until its commit is durable.
pub(super) struct Committing<'a> {
    versions: &'a Versions,
    session: u64,
}

impl<'a> Committing<'a> {
    pub(super) fn new(versions: &'a Versions, session: u64) -> Committing<'a> {
        versions.committing.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
        Committing { versions, session }
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        let mut all = self.versions.committing.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.session);
    }
}

pub(super) const IN_DOUBT: SqlState = SqlState("08007");

/// What was committed may be in the file or not.
pub(super) fn in_doubt(reason: &impl Display) -> SqlError {
    SqlError::new(IN_DOUBT, "the outcome of the transaction is not known")
        .with_detail(format!("It could not be made durable: {reason}."))
        .with_hint("Open the database again, and see whether its changes are there.")
}
