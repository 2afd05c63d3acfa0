//! A database that follows another one, in one state after the other.

use std::path::Path;
use std::sync::{Arc, Mutex};

use runtime::Runtime;
use runtime::sync::Cancel;

use super::open::Opened;
use super::{Database, Inner};
use crate::memory::Shares;
use crate::options::Options;
use crate::replication::Attendant;
use crate::succession::{Standing, State, Succession};

/// The states of a database.
pub(crate) type States = Arc<Succession<Inner>>;

impl State for Inner {
    fn standing(&self) -> Option<&Standing<Inner>> {
        self.standing.as_ref()
    }
}

/// Opens the first state.
pub(crate) fn begin(
    states: &States,
    (path, options): (&Path, &Options),
    (shares, opened): (Shares, Opened),
    runtime: Arc<Runtime>,
) {
    states.advance(true, |_, standing| {
        let paths = (path, path.to_owned());
        Inner::first(paths, options, shares, opened, runtime, Some(standing))
    });
}

/// Opens another state, that of a database of its own where it is no copy.
pub(crate) fn advance(states: &States, opened: Opened, is_copy: bool) {
    states.advance(is_copy, |before, standing| {
        before.expect("there is a state until the end").next(opened, standing)
    });
}

/// The database in its last state; none at the end.
pub(crate) fn last(states: &States) -> Option<Database> {
    states.current().map(Database::of)
}

impl Database {
    fn standing(&self) -> Option<&Standing<Inner>> {
        self.inner.standing.as_ref()
    }

    /// True if it follows another one, and so is only read.
    pub fn is_in_recovery(&self) -> bool {
        self.standing().is_some_and(|standing| standing.is_copy)
    }

    /// The handle of sessions on the replica that they are of, or were.
    pub(crate) fn attendant(&self) -> Option<Attendant> {
        self.standing().map(|standing| standing.succession.status.attendant())
    }

    /// The same database in its last state.
    pub fn current(&self) -> Database {
        let newer = self.standing().and_then(|standing| standing.succession.newer(&self.inner));
        match newer {
            None => self.clone(),
            Some(inner) => Database { seer: self.seer.clone(), ..Database::of(inner) },
        }
    }

    /// True if it may have other states than this one.
    pub(crate) fn has_states(&self) -> bool {
        self.standing().is_some()
    }

    /// True if there is, or will be, another state than this one.
    pub(crate) fn is_left(&self) -> bool {
        self.standing().is_some_and(|standing| standing.succession.is_left(&self.inner))
    }

    /// Waits until the last state may be had.
    pub(crate) async fn succeeded(&self) -> Database {
        if let Some(standing) = self.standing() {
            standing.succession.settled().await;
        }
        self.current()
    }

    /// Waits until there is another state; for ever where there is none.
    pub(crate) async fn left(&self) {
        match self.standing() {
            Some(standing) => standing.succession.left(&self.inner).await,
            None => std::future::pending().await,
        }
    }

    /// Waits until there is another state, and it may be had; for ever where there is none.
    pub async fn moved_on(&self) {
        self.left().await;
        drop(self.succeeded().await);
    }

    /// Waits until this state has lasted too long; for ever where none does.
    pub(crate) async fn over(&self) {
        match self.standing() {
            Some(standing) => standing.over().await,
            None => std::future::pending().await,
        }
    }

    /// A session has this state, and is cancelled so.
    pub(crate) fn join(&self, session: u64, cancel: &Arc<Mutex<Cancel>>) {
        self.standing().into_iter().for_each(|standing| standing.join(session, cancel));
    }

    /// A session has another state, or ends.
    pub(crate) fn part(&self, session: u64) {
        self.standing().into_iter().for_each(|standing| standing.part(session));
    }

    /// True if this state has lasted too long.
    pub(crate) fn is_over(&self) -> bool {
        self.standing().is_some_and(Standing::is_over)
    }
}
