//! Who wants to know that a session waits for long, and how the log says it.

use std::sync::Arc;
use std::time::Duration;

use txn::locks::log::LockWaited;
use txn::locks::mode::{LockShown, RightKind};
use txn::locks::watch::LockWatch;

use super::state::Session;
use crate::catalog::snapshot::Snapshot;
use crate::database::Database;

impl Session {
    /// Who wants to know that the statement waits for long.
    pub(crate) fn lock_watch(&self) -> Option<Arc<LockWatch>> {
        let log = self.database().activities().lock_log()?;
        let (db, session) = (self.database().clone(), self.activity().session_id);
        let describe = Box::new(move |what, holders| described(&db, session, what, holders));
        Some(Arc::new(LockWatch { session, log, describe }))
    }
}

/// The wait of a session for what others have.
fn described(
    db: &Database,
    session: u64,
    what: LockShown,
    holders: Vec<u64>,
) -> Option<LockWaited> {
    let sessions = db.activities().sessions();
    let of = |id: u64| sessions.iter().find(|activity| activity.session_id == id);
    let pid = |id: u64| {
        let signals = of(id).and_then(|activity| activity.signals());
        signals.map_or(id as i64, |signals| i64::from(signals.pid))
    };
    Some(LockWaited {
        pid: pid(session),
        holders: holders.into_iter().map(pid).collect(),
        lock: name(&db.newest(), what),
        waited: Duration::ZERO,
        is_over: false,
        statement: of(session)?.statement().map(|running| running.text)?,
    })
}

fn name(newest: &Snapshot, what: LockShown) -> String {
    match what {
        LockShown::Right(RightKind::Share) => "ExclusiveLock on transaction".to_owned(),
        LockShown::Right(kind) => format!("{} on database", kind.names().1),
        LockShown::Keys(tree, mode) => {
            let mut names = newest.tables.values().flat_map(|entry| {
                let indexes = entry.indexes.iter().zip(&entry.def.indexes);
                let indexes = indexes.map(|(stored, def)| (stored.tree.id(), &def.name));
                std::iter::once((entry.tree_id, &entry.def.name)).chain(indexes)
            });
            let name = names.find(|(id, _)| *id == tree).map(|(_, name)| name.as_str());
            let relation = name.unwrap_or("?");
            format!("{} on tuple of relation \"{relation}\"", mode.name(false))
        }
    }
}
