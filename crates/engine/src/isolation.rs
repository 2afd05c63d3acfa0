//! Transactions that keep one snapshot from their first statement to their end: `REPEATABLE READ`, which
//! is snapshot isolation, and `SERIALIZABLE`.
//!
//! - To change an entry that others have changed since the snapshot is refused (40001): the first one to
//!   update it wins. Locks make the others wait until it is known whether there was a first one.
//! - One that is `SERIALIZABLE` notes the ranges of keys that it reads, in tables and in indexes; so phantoms are
//!   found as well as changes. When it ends, the serial safety net tells whether it has a place among the others
//!   that are serializable, or fails (40001): [`txn::undo`]. One that changes definitions, which are not
//!   versioned, has to have its place behind all of them.
//! - Definitions are not versioned like rows: where others have changed them the transaction fails when it
//!   writes. What they have only added, and refers to nothing that was there, is none of its business.

use storage::TreeId;
use txn::undo::ReadView;
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;

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
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

/// Refuses to change definitions that are not those of the version which a transaction keeps.
///
/// # Errors
/// 40001
pub(crate) fn check_definitions(kept: &Snapshot, visible: &Snapshot) -> SqlResult<()> {
    match visible.has_definitions_of(kept) {
        true => Ok(()),
        false => Err(conflict("concurrent change of definitions")),
    }
}

/// Refuses to change rows by other definitions than those of the version that a transaction keeps.
///
/// # Errors
/// 40001
pub(crate) fn check_kept_definitions(kept: &Snapshot, visible: &Snapshot) -> SqlResult<()> {
    match visible.has_definitions_of(kept) || visible.only_adds_to(kept) {
        true => Ok(()),
        false => Err(conflict("concurrent change of definitions")),
    }
}

/// Ends a transaction that has only read.
///
/// # Errors
/// 40001 where it is serializable and has no place among the others.
pub(crate) fn end_reads(view: &ReadView) -> SqlResult<()> {
    match view.end_reads() {
        true => Ok(()),
        false => Err(dependencies()),
    }
}

/// 40001 for a serializable transaction that has no place among the others.
pub(crate) fn dependencies() -> SqlError {
    conflict("read/write dependencies among transactions")
}

/// Refuses what a query that locks rows has read, if others have changed it since the snapshot that its
/// transaction keeps.
///
/// # Errors
/// 40001
pub(crate) fn check_locked(view: &ReadView) -> SqlResult<()> {
    match view.is_locking() && view.has_outdated_reads() {
        true => Err(concurrent_update()),
        false => Ok(()),
    }
}

/// Refuses to write a table anew of which others have changed rows since the snapshot that a transaction
/// keeps.
///
/// # Errors
/// 40001
fn check_tree(view: &ReadView, tree: TreeId) -> SqlResult<()> {
    match view.is_tree_outdated(tree) {
        true => Err(concurrent_update()),
        false => Ok(()),
    }
}

/// The same of all trees of a table.
///
/// # Errors
/// 40001
pub(crate) fn check_table(view: &ReadView, entry: &TableEntry) -> SqlResult<()> {
    entry.trees().try_for_each(|tree| check_tree(view, tree))
}

/// 40001 for a row that others have changed since the snapshot.
pub(crate) fn concurrent_update() -> SqlError {
    conflict("concurrent update")
}

fn conflict(with: &str) -> SqlError {
    let message = format!("could not serialize access due to {with}");
    SqlError::new(SqlState("40001"), message).with_hint("The transaction might succeed if retried.")
}
