//! Versions with other definitions.

use std::sync::Arc;

use storage::CheckpointTurn;
use txn::locks::table::{LockWait, WriteRight};
use types::SqlResult;

use super::chain::{Ending, Versions};
use crate::catalog::snapshot::Snapshot;
use crate::isolation;

impl Versions {
    /// The right to write beside others, and to change definitions, over what is durable.
    ///
    /// # Errors
    /// As [`txn::locks::table::Locks::define`], and those of [`Versions::settle_all`].
    pub(crate) async fn definer(&self, wait: &LockWait) -> SqlResult<WriteRight> {
        let right = self.locks.define(wait).await?;
        self.settle_before(wait).await.map(|()| right)
    }

    /// Puts the next version in place, whose definitions were made of those of `before`; it is published soon.
    /// Its number.
    ///
    /// Its records of the catalog take `record_bytes` in the log. The caller has the right to change, and to
    /// define. A `turn` is that of the checkpoint which it needs.
    ///
    /// # Errors
    /// 40001 when others have changed what the transaction has read and wants to have been so until now.
    ///
    /// # Panics
    /// If others have changed definitions meanwhile.
    pub(crate) fn define(
        self: &Arc<Versions>,
        (before, mut next): (&Snapshot, Snapshot),
        ending: Option<&Ending<'_>>,
        record_bytes: usize,
        (right, turn): (WriteRight, Option<CheckpointTurn>),
    ) -> SqlResult<u64> {
        let redo = std::mem::take(&mut next.redo);
        let version = {
            let mut catalogs = self.catalogs_mut();
            let is_same = catalogs.newest.has_definitions_of(before);
            assert!(is_same, "definitions are changed by one at a time");
            next.read_view = catalogs.newest.read_view.next();
            // Who has read the rows beside which others came has read less than there is now, too.
            let outgrown = std::mem::take(&mut next.outgrown);
            let replaced: Vec<_> = next.abandoned.iter().copied().chain(outgrown).collect();
            next.abandon(&catalogs.newest.abandoned);
            if let Some(Ending { stamp, notes, view, .. }) = ending {
                if !next.read_view.commit(stamp, view, true) {
                    return Err(isolation::dependencies());
                }
                self.forget(notes);
            }
            next.read_view.note_replaced(&replaced);
            let can_be_logged =
                next.abandoned.is_empty() && !next.has_trees_besides(&catalogs.newest);
            let pending = &mut catalogs.pending;
            pending.record_bytes = pending.record_bytes.max(record_bytes);
            pending.needs_checkpoint |= !can_be_logged;
            catalogs.pending.rights.push(right);
            let version = catalogs.advance(Arc::new(next), &redo, self.store.log_room());
            // Behind the version: a publication that waits for a turn is to have it.
            if let Some(turn) = turn.filter(|_| catalogs.pending.needs_checkpoint) {
                self.lent.give(turn);
            }
            version
        };
        self.request();
        Ok(version)
    }
}
