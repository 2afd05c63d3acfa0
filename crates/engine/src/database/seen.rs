//! A database as a session sees it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Database;
use crate::catalog::temporary::Seer;

impl Database {
    /// The same database as a session sees it: with its temporary tables.
    pub(crate) fn seen_by(&self, session: u64) -> Database {
        Database { seer: Some(Arc::new(Seer::new(session))), ..self.clone() }
    }

    /// The session whose view this is.
    pub(crate) fn session_id(&self) -> Option<u64> {
        self.seer().map(|seer| seer.session)
    }

    /// The session that sees it so.
    pub(crate) fn seer(&self) -> Option<&Seer> {
        self.seer.as_deref()
    }

    pub(crate) fn shared_seer(&self) -> Option<Arc<Seer>> {
        self.seer.clone()
    }

    /// Has statements mean tables of `public` by these names, which temporary ones have, too.
    pub(crate) fn leave_aside(&self, names: BTreeSet<String>) {
        if self.seer().is_some_and(|seer| seer.leave_aside(names))
            && let Some(block) = &self.block
        {
            block.see_again();
        }
    }
}
