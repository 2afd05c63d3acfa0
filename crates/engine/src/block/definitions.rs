//! What a block is that changes definitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use plan::catalog::TableId;
use storage::TreeId;
use txn::locks::table::LockWait;
use types::SqlResult;

use super::Block;
use crate::catalog::snapshot::Snapshot;
use crate::isolation;

/// What a block has that changes definitions. Its catalogs hold no version: what they see is that of the
/// statement which looks at them.
pub(super) struct Own {
    pub(super) snapshot: Arc<Snapshot>,
    /// The catalog when it began to, as its session sees it.
    pub(super) before: Arc<Snapshot>,
    /// The same as others see it.
    public: Arc<Snapshot>,
    /// The first tree that was made since then.
    pub(super) first_new: TreeId,
    /// The first tree of its own. In those before it changes are noted: others have them, or savepoints.
    pub(super) first_own: TreeId,
    /// Tables that it has locked as a whole, by their ids, with those around them.
    kept: BTreeSet<u32>,
}

impl Block {
    /// Whether it changes definitions, beside others or alone.
    pub(crate) fn defines(&self) -> bool {
        self.state().own.is_some()
    }

    /// Changes definitions from now on, of what nobody else has.
    ///
    /// # Errors
    /// As [`txn::locks::table::WriteRight::define`], and 40001 as [`Block::begin`].
    pub(crate) async fn define(&self, wait: &LockWait) -> SqlResult<()> {
        if self.defines() {
            return Ok(());
        }
        self.right()?.define(wait).await?;
        self.own_definitions(wait).await
    }

    /// Writes alone from now on.
    ///
    /// # Errors
    /// As [`txn::locks::table::WriteRight::exclude`], and 40001 as [`Block::begin`].
    pub(crate) async fn exclude(&self, wait: &LockWait) -> SqlResult<()> {
        self.right()?.exclude(wait).await?;
        self.own_definitions(wait).await
    }

    /// Has a catalog of its own. The last one who changed definitions has kept the right to until they were
    /// visible, and what others have committed is durable: it is the catalog that all see.
    async fn own_definitions(&self, wait: &LockWait) -> SqlResult<()> {
        let versions = self.public.versions();
        versions.settle_before(wait).await?;
        if let Some(kept) = self.public.kept() {
            isolation::check_definitions(kept, &versions.visible())?;
        }
        let mut state = self.state();
        if state.own.is_some() {
            return Ok(());
        }
        // What that one lets go is none of the block's.
        let all = versions.newest().keeping_trees();
        let public = all.without_view();
        let before = public.clone().for_session(self.public.seer());
        let first_new = self.public.store().next_tree_id();
        let (snapshot, kept) = (before.clone(), BTreeSet::new());
        state.own = Some(Own { snapshot, before, public, first_new, first_own: first_new, kept });
        Ok(())
    }

    /// Its catalog is as its session sees it now.
    pub(crate) fn see_again(&self) {
        if let (Some(own), Some(seer)) = (&mut self.state().own, self.public.seer()) {
            own.snapshot = Arc::new(own.snapshot.seen_again(seer));
        }
    }

    /// The block has locked these tables as a whole, and those around them.
    pub(crate) fn note_kept(&self, tables: &[TableId]) {
        if let Some(own) = &mut self.state().own {
            own.kept.extend(tables.iter().map(|table| table.0));
        }
    }

    /// Whether nobody else changes the table, or what refers to it or to what it refers, until the block ends.
    pub(crate) fn keeps(&self, table: TableId) -> bool {
        let state = self.state();
        state.own.as_ref().is_some_and(|own| own.kept.contains(&table.0))
    }

    /// Whether a table is as a statement has found it, with those that refer to it and to which it refers.
    /// It stays so if the block has locked it as a whole.
    pub(crate) fn has_as_found(&self, found: &Snapshot, table: TableId) -> bool {
        if self.defines() || found.is_temporary_id(table.0) {
            return true;
        }
        let now = self.public.versions().visible().for_session(self.public.seer());
        if let (Some(now), Some(then)) = (now.hidden_table(table), found.hidden_table(table)) {
            return Arc::ptr_eq(now, then);
        }
        now.tables.is_same(&found.tables) || now.tables.has_as_in(&found.tables, table)
    }

    /// Whether the block has made the table or the sequence with this id: nobody else has it.
    pub(crate) fn has_made(&self, id: u32) -> bool {
        self.state().own.as_ref().is_some_and(|own| id > own.before.next_id)
    }

    /// Whether it has made the tree: what is in it becomes durable by a checkpoint.
    pub(crate) fn has_made_tree(&self, tree: TreeId) -> bool {
        self.state().own.as_ref().is_some_and(|own| tree >= own.first_new)
    }

    /// Its catalog, to be that of all, and the one that all saw when it began to change definitions.
    pub(crate) fn defined(&self) -> (Snapshot, Arc<Snapshot>) {
        let mut state = self.state();
        let own = state.own.as_ref().expect("it changes definitions");
        let (mut defined, before) = ((*own.snapshot).clone(), own.public.clone());
        defined.abandon(&state.left);
        defined.redo = std::mem::take(&mut state.redo);
        (defined, before)
    }
}
