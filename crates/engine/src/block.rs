//! Transaction blocks that fill tables: `BEGIN; TRUNCATE ..; COPY ..; COMMIT`.
//!
//! A block has a catalog of its own, a copy of the one that all see. `TRUNCATE` puts new, empty
//! trees into it, which no other session can reach; the block writes into such trees alone. `COMMIT`
//! makes the block's catalog that of all, in one checkpoint; `ROLLBACK` drops the block's trees.
//! The block keeps the right to write, so that nothing else changes the catalog meanwhile.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sql::Statement;
use sql::parse::CopySource;
use storage::TreeId;
use types::{SqlError, SqlResult};

use crate::catalog::Snapshot;
use crate::database::Database;
use crate::load::drop_trees;
use crate::turn::Turn;

/// A block that writes.
pub(crate) struct Block {
    /// The database as all see it.
    public: Database,
    /// The trees of the catalog when the block began: they are of others.
    shared: BTreeSet<TreeId>,
    snapshot: Mutex<Arc<Snapshot>>,
    /// Until the block's trees are gone.
    turn: Option<Turn>,
}

impl Block {
    /// Begins one; waits for the right to write.
    ///
    /// # Errors
    /// As [`Database::writer`].
    pub(crate) fn begin(public: &Database) -> SqlResult<Block> {
        let turn = public.take_turn()?;
        let snapshot = public.snapshot();
        let shared = trees(&snapshot);
        let (public, snapshot) = (public.clone(), Mutex::new(snapshot));
        Ok(Block { public, shared, snapshot, turn: Some(turn) })
    }

    /// The catalog as the block sees it.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.current().clone()
    }

    /// The catalog after one of the block's statements.
    pub(crate) fn advance(&self, snapshot: Snapshot) {
        *self.current() = Arc::new(snapshot);
    }

    /// The database as all see it.
    pub(crate) fn public(&self) -> &Database {
        &self.public
    }

    fn current(&self) -> MutexGuard<'_, Arc<Snapshot>> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the table named so was emptied by the block, so that nobody else sees its trees.
    fn owns(&self, table: &str) -> bool {
        let snapshot = self.snapshot();
        let Ok(entry) = snapshot.table(table) else { return true };
        !self.shared.contains(&entry.tree_id)
    }

    /// Makes what the block did durable and visible to all.
    pub(crate) fn commit(&self) -> SqlResult<()> {
        let own = (*self.snapshot()).clone();
        self.public.change(move |_, snapshot| {
            Box::pin(async move {
                *snapshot = own;
                Ok(())
            })
        })?;
        // Nothing is left to undo.
        self.advance((*self.public.snapshot()).clone());
        Ok(())
    }
}

impl Drop for Block {
    /// Drops the trees that only the block knows; the right to write is kept until then.
    fn drop(&mut self) {
        let mut own = trees(&self.snapshot());
        own.extend(&self.snapshot().abandoned);
        let public = trees(&self.public.snapshot());
        let own: Vec<TreeId> = own.difference(&public).copied().collect();
        if own.is_empty() {
            return;
        }
        let (store, turn) = (self.public.store().clone(), self.turn.take());
        // In a task: this may be a worker's thread, which must not wait. An error leaves pages that
        // the next start takes back.
        self.public.handle().spawn_on(0, move || async move {
            drop_trees(&store, &own).await.ok();
            drop(turn);
        });
    }
}

pub(crate) fn trees(snapshot: &Snapshot) -> BTreeSet<TreeId> {
    snapshot.tables.values().flat_map(|entry| entry.tree_ids()).collect()
}

/// Whether a statement that writes may run in a transaction block, `block` being the one that is
/// open and writes already.
///
/// Errors: 0A000 with what may.
pub(crate) fn admit(block: Option<&Block>, statement: &Statement) -> SqlResult<()> {
    let table = match statement {
        Statement::Truncate(_) => return Ok(()),
        Statement::Insert(insert) => &insert.table,
        Statement::Update(update) => &update.table,
        Statement::Delete(delete) => &delete.table,
        Statement::Copy(copy) if !matches!(copy.source, CopySource::File(_)) => &copy.table,
        _ => return Err(refused()),
    };
    match block {
        Some(block) if block.owns(table) => Ok(()),
        _ => Err(refused()),
    }
}

fn refused() -> SqlError {
    SqlError::unsupported("writing in a transaction block")
        .with_detail(
            "Each writing statement is a transaction of its own for now. Only tables that the \
             block itself has emptied with TRUNCATE can be filled in it.",
        )
        .with_hint("Use autocommit: leave out BEGIN.")
}
