//! Transactions that keep one snapshot from their first statement to their end: `REPEATABLE READ`, which
//! is snapshot isolation, and `SERIALIZABLE`.
//!
//! One transaction writes at a time, from its first statement that writes to its end. So a transaction is
//! put to the test once, when it begins to write on top of the newest version:
//!
//! - One that is `SERIALIZABLE` has noted the ranges of keys that it has read. If others have changed,
//!   added or removed an entry within them since its snapshot, it fails (40001); so phantoms are found as
//!   well as changes, in tables and in indexes, and a range that was read and not changed is no conflict.
//!   Otherwise all it has read is as the newest version has it, and so it goes on with that one: it runs
//!   as if it had begun now, and nobody writes before it ends. One that never writes has seen the state
//!   between two transactions.
//! - One with `REPEATABLE READ` goes on to see its snapshot, with what it changes itself. To change an
//!   entry that others have changed since is refused (40001): the first one wins.
//!
//! Definitions are not versioned like rows: where they differ, the transaction fails.

use std::sync::Arc;

use storage::TreeId;
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::Snapshot;
use crate::undo::ReadView;

/// What a transaction promises about what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// All statements see what was committed before the first one began.
    RepeatableRead,
    /// The same, and the outcome is that of transactions one after another.
    Serializable,
}

impl Isolation {
    /// That of a setting's value.
    pub(crate) fn named(name: &str) -> Isolation {
        let all = [Isolation::RepeatableRead, Isolation::Serializable];
        let named = all.into_iter().find(|isolation| isolation.name() == name);
        named.unwrap_or(Isolation::ReadCommitted)
    }

    /// Its name in SQL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

/// The version on which a transaction begins to write that has kept another one until now.
///
/// # Errors
/// 40001 when what others have done since cannot be reconciled with what it has read.
pub(crate) fn on_top(kept: &Snapshot, newest: Arc<Snapshot>) -> SqlResult<Arc<Snapshot>> {
    if kept.read_view.version() == newest.read_view.version() {
        return Ok(newest);
    }
    if kept.read_view.has_outdated_reads(&newest.read_view) {
        return Err(conflict("read/write dependencies among transactions"));
    }
    if !newest.has_definitions_of(kept) {
        return Err(conflict("concurrent change of definitions"));
    }
    if kept.read_view.notes_reads() {
        return Ok(newest);
    }
    Ok(newest.with_view(kept.read_view.over(&newest.read_view)))
}

/// Refuses what a query that locks rows has read, if others have changed it since the snapshot that its
/// transaction keeps.
///
/// # Errors
/// 40001
pub(crate) fn check_locked(view: &ReadView) -> SqlResult<()> {
    match view.has_outdated_locks() {
        true => Err(concurrent_update()),
        false => Ok(()),
    }
}

/// Refuses to write a table anew of which others have changed rows since the snapshot that a transaction
/// keeps.
///
/// # Errors
/// 40001
pub(crate) fn check_tree(view: &ReadView, tree: TreeId) -> SqlResult<()> {
    match view.is_tree_outdated(tree) {
        true => Err(concurrent_update()),
        false => Ok(()),
    }
}

/// 40001 for a row that others have changed since the snapshot.
pub(crate) fn concurrent_update() -> SqlError {
    conflict("concurrent update")
}

fn conflict(with: &str) -> SqlError {
    let message = format!("could not serialize access due to {with}");
    SqlError::new(SqlState("40001"), message).with_hint("The transaction might succeed if retried.")
}
