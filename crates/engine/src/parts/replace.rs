//! The last step of a merge: new trees take the place of those of a table.
//!
//! Here nobody else changes the table, which is locked as a whole, and what has changed since the snapshot of which
//! the new part was made is made good: rows that have gone are marked, rows that came stay in the delta. The merge
//! waits a moment for the table, in turn: what others have it leaves alone, and tries again later.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use runtime::sync::Cancel;
use runtime::{IoCounters, time};
use storage::{
    BulkLoader, CheckpointTurn, Cursor, Direction, LeafRows, Store, Tree, TreeId, planted,
};
use txn::locks::mode::{LockKey, LockMode};
use txn::locks::table::{LockWait, WriteRight};
use txn::waiting::give_way;
use types::row::row_id_of;
use types::{SqlError, SqlResult};

use super::delta::Run;
use super::hollow::Hollow;
use super::merge::Merges;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::trees::drop_trees;
use crate::columns::part::row_key;
use crate::columns::stored::{StoredColumns, StoredPart};
use crate::commit::change_apart;
use crate::fault;

/// How long the turn of a checkpoint is waited for, which one that settles gives on in that time as a rule.
pub(crate) const TURN: Duration = Duration::from_secs(1);

/// How long the lock of the table is waited for.
pub(crate) const LOCK: Duration = Duration::from_millis(50);

/// Keys that are looked up or written at one go.
pub(crate) const KEYS_AT_ONCE: usize = 1024;

/// What has become a part.
pub(crate) enum Source {
    Delta(Run),
    Part(Hollow),
}

/// A part that is ready, and what it was made of.
pub(crate) struct Merged {
    pub(crate) seen: Arc<Snapshot>,
    pub(crate) entry: Arc<TableEntry>,
    pub(crate) source: Source,
    /// `None` where no row is left.
    pub(crate) part: Option<StoredPart>,
}

/// The trees that are new.
#[derive(Default)]
pub(crate) struct New {
    delta: Option<TreeId>,
    deleted: Option<TreeId>,
}

impl Merges {
    /// Makes the part one of the table; whether it is: others have something that it needs, or have changed what
    /// it was made of. Then no tree stays.
    ///
    /// # Errors
    /// Those of storage; 57014 when it is wanted no longer.
    pub(crate) async fn replace(&self, merged: Merged, right: &WriteRight) -> SqlResult<bool> {
        let mut made: Vec<TreeId> = merged.part.iter().map(StoredPart::tree_id).collect();
        let replaced = self.replace_with(&merged, right, &mut made).await;
        if !matches!(replaced, Ok(true)) {
            // The error that led here is the one to report.
            drop_trees(&self.store, &made).await.ok();
        }
        replaced
    }

    async fn replace_with(
        &self,
        merged: &Merged,
        right: &WriteRight,
        made: &mut Vec<TreeId>,
    ) -> SqlResult<bool> {
        if right.is_in_the_way() {
            return Ok(false);
        }
        // The checkpoint at the end writes what has changed since: commits wait for it.
        self.store.flush().await.map_err(fault::storage)?;
        if self.turn().await.is_none() || right.is_in_the_way() {
            return Ok(false);
        }
        if !self.lock(&merged.entry, right).await? || !right.try_define() {
            return Ok(false);
        }
        self.versions.settle_all(None).await?;
        let Some(_no_keepers) = self.versions.keepers().close() else { return Ok(false) };
        let is_same = |now: &Arc<TableEntry>| Arc::ptr_eq(now, &merged.entry);
        if !self.versions.newest().table_by_id(merged.entry.def.id).is_some_and(is_same) {
            return Ok(false);
        }
        let Some(new) = self.trees(merged, made).await? else { return Ok(false) };
        // Nothing that it waits for from now on needs a checkpoint of others.
        let Some(turn) = self.turn().await else { return Ok(false) };
        let entry = merged.entry(&self.store, &new)?;
        let old = merged.entry.clone();
        let parts = (&self.store, &self.versions);
        let version = change_apart(parts, (right, turn), move |_, snapshot| {
            Box::pin(async move {
                snapshot.put_over(&old, entry);
                Ok(())
            })
        });
        let version = version.await?;
        // They are the table's now, whatever happens.
        made.clear();
        self.versions.settle(version, None).await.map(|()| true)
    }

    /// The turn of a checkpoint, unless others have it for long, as a backup has: nobody is to wait for this then.
    async fn turn(&self) -> Option<CheckpointTurn> {
        time::timeout(TURN, self.store.checkpoint_turn()).await.ok()
    }

    /// Has the table and those around it for itself, if nobody else has some of them. For the table it waits in
    /// turn, for a moment, with nothing locked that others could wait for: under many who write one after the
    /// other it would never be free.
    ///
    /// # Errors
    /// 57014
    pub(crate) async fn lock(
        &self,
        entry: &Arc<TableEntry>,
        right: &WriteRight,
    ) -> SqlResult<bool> {
        let (cancel, timeout) = (self.cancel.clone(), Some(LOCK));
        let wait = LockWait { cancel, timeout, ..LockWait::default() };
        let own = vec![(LockKey::of_table(entry.tree_id), LockMode::Update)];
        if right.lock(own, &wait).await.is_err() {
            return if self.cancel.is_cancelled() { Err(SqlError::cancelled()) } else { Ok(false) };
        }
        let newest = self.versions.newest();
        let around = newest.tables.referring(entry.def.id).chain(newest.tables.referred(entry));
        let key = |entry: &Arc<TableEntry>| LockKey::of_table(entry.tree_id);
        Ok(around.map(key).all(|key| right.try_lock(&key, LockMode::Update)))
    }

    /// Delta and deleted rows as they are with the part; `None` where others have changed what it was made of.
    async fn trees(&self, merged: &Merged, made: &mut Vec<TreeId>) -> SqlResult<Option<New>> {
        let Some(columns) = &merged.entry.columns else { return Ok(None) };
        let mut new = New::default();
        match &merged.source {
            Source::Delta(run) => {
                let Some(gone) = merged.gone(run, &self.cancel).await? else { return Ok(None) };
                let mut marks: Vec<i64> =
                    run.gaps().chain(gone).filter(|_| !planted::is("merged-gaps-seen")).collect();
                marks.sort_unstable();
                new.delta = Some(self.rest_of(&merged.entry.tree, run, made).await?);
                if !marks.is_empty() {
                    new.deleted = Some(self.with_marks(&columns.deleted, &marks, made).await?);
                }
            }
            Source::Part(hollow) => {
                new.deleted = Some(self.moved_marks(&columns.deleted, hollow, made).await?);
            }
        }
        Ok(Some(new))
    }

    /// A delta without a run.
    async fn rest_of(&self, delta: &Tree, run: &Run, made: &mut Vec<TreeId>) -> SqlResult<TreeId> {
        let mut filling = Filling::begin(&self.store, made).await?;
        let (start, end) = (row_key(run.ids.start), row_key(run.ids.end));
        let below = (Bound::Unbounded, Bound::Excluded(&start[..]));
        let above = (Bound::Included(&end[..]), Bound::Unbounded);
        for (low, high) in [below, above] {
            let mut rows = delta.range(low, high, Direction::Forward);
            let (io, mut key) = (IoCounters::default(), vec![]);
            while let Some(leaf) = rows.next(&io).await.map_err(fault::storage)? {
                give_way(&self.cancel).await?;
                for at in 0..leaf.len() {
                    let value = leaf.entry(at, &mut key);
                    filling.loader.push(&key, value).await.map_err(fault::storage)?;
                }
            }
        }
        filling.finish().await
    }

    /// Deleted rows, and some more.
    async fn with_marks(
        &self,
        deleted: &Tree,
        marks: &[i64],
        made: &mut Vec<TreeId>,
    ) -> SqlResult<TreeId> {
        let mut filling = Filling::begin(&self.store, made).await?;
        let (mut new, mut old) = (marks.iter().copied().peekable(), IdCursor::of(deleted));
        while let Some(id) = old.next(&self.cancel).await? {
            while let Some(mark) = new.next_if(|mark| *mark < id) {
                filling.mark(mark, &self.cancel).await?;
            }
            new.next_if_eq(&id);
            filling.mark(id, &self.cancel).await?;
        }
        for mark in new {
            filling.mark(mark, &self.cancel).await?;
        }
        filling.finish().await
    }

    /// Deleted rows, without those of a part that it has lost, and with the others in their new places.
    async fn moved_marks(
        &self,
        deleted: &Tree,
        hollow: &Hollow,
        made: &mut Vec<TreeId>,
    ) -> SqlResult<TreeId> {
        let mut filling = Filling::begin(&self.store, made).await?;
        let (mut old, rows) = (IdCursor::of(deleted), hollow.part.first_row..hollow.part.end());
        while let Some(id) = old.next(&self.cancel).await? {
            let place = match rows.contains(&id) {
                true => hollow.gone.place_of(id),
                false => Some(id),
            };
            if let Some(place) = place {
                filling.mark(place, &self.cancel).await?;
            }
        }
        filling.finish().await
    }
}

impl Merged {
    /// The places of rows that have gone since the snapshot; `None` where one has another value, or where there is
    /// one that the snapshot does not see.
    async fn gone(&self, run: &Run, cancel: &Cancel) -> SqlResult<Option<Vec<i64>>> {
        let (tree, io) = (&self.entry.tree, IoCounters::default());
        let (low, high) = (row_key(run.ids.start), row_key(run.ids.end));
        let view = &self.seen.read_view;
        let mut gone = vec![];
        let replaced = view.replaced(tree.id(), &low, Some(&high))?;
        for (nth, (key, seen)) in replaced.into_iter().enumerate() {
            if nth % KEYS_AT_ONCE == KEYS_AT_ONCE - 1 {
                give_way(cancel).await?;
            }
            let now = tree.get(&key, &io, <[u8]>::to_vec).await.map_err(fault::storage)?;
            match (seen.as_deref(), now.as_deref()) {
                (Some(_), None) => gone.push(run.place_of(row_id_of(&key))),
                (seen, now) if seen == now => {}
                _ => return Ok(None),
            }
        }
        let has_own_ids = run.keeps_ids || self.is_free(run).await?;
        Ok(has_own_ids.then_some(gone))
    }

    /// Whether no row of the delta has an id of the part: others may have taken some at the same time.
    async fn is_free(&self, run: &Run) -> SqlResult<bool> {
        let (low, high) = (row_key(run.first_row), row_key(run.first_row + run.rows.len() as i64));
        let (tree, io) = (&self.entry.tree, IoCounters::default());
        let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        let mut rows = tree.range(bounds.0, bounds.1, Direction::Forward);
        while let Some(leaf) = rows.next(&io).await.map_err(fault::storage)? {
            if !leaf.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The table with the part.
    fn entry(&self, store: &Store, new: &New) -> SqlResult<TableEntry> {
        let old = &self.entry;
        let columns = old.stored_columns().map(|columns| self.columns(columns, new));
        let indexes: Vec<TreeId> = old.index_trees().collect();
        let delta = new.delta.unwrap_or(old.tree_id);
        let entry = TableEntry::new(store, (*old.def).clone(), delta, &indexes)?;
        // It counts its row ids anew: others may just have set back those of the old one.
        entry.with_columns(store, columns.as_ref())
    }

    fn columns(&self, mut columns: StoredColumns, new: &New) -> StoredColumns {
        if let Source::Part(hollow) = &self.source {
            columns.parts.retain(|part| part.first_row != hollow.part.first_row);
        }
        columns.parts.extend(self.part.clone());
        columns.parts.sort_by_key(|part| part.first_row);
        columns.deleted = new.deleted.map_or(columns.deleted, |tree| tree.0);
        columns
    }
}

/// A tree that is filled.
pub(crate) struct Filling {
    id: TreeId,
    loader: BulkLoader,
    marked: usize,
}

impl Filling {
    async fn begin(store: &Store, made: &mut Vec<TreeId>) -> SqlResult<Filling> {
        let id = store.create_tree().await.map_err(fault::storage)?;
        made.push(id);
        let tree = store.tree(id).map_err(fault::storage)?;
        let loader = tree.bulk_loader().await.map_err(fault::storage)?;
        Ok(Filling { id, loader, marked: 0 })
    }

    async fn mark(&mut self, id: i64, cancel: &Cancel) -> SqlResult<()> {
        self.marked += 1;
        if self.marked.is_multiple_of(KEYS_AT_ONCE) {
            give_way(cancel).await?;
        }
        self.loader.push(&row_key(id), b"").await.map_err(fault::storage)
    }

    async fn finish(self) -> SqlResult<TreeId> {
        self.loader.finish().await.map_err(fault::storage)?;
        Ok(self.id)
    }
}

/// The row ids that a tree has as keys, in order.
pub(crate) struct IdCursor {
    rows: Cursor,
    leaf: Option<LeafRows>,
    at: usize,
    key: Vec<u8>,
}

impl IdCursor {
    fn of(tree: &Tree) -> IdCursor {
        let rows = tree.range(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        IdCursor { rows, leaf: None, at: 0, key: vec![] }
    }

    async fn next(&mut self, cancel: &Cancel) -> SqlResult<Option<i64>> {
        loop {
            if let Some(leaf) = self.leaf.as_ref().filter(|leaf| self.at < leaf.len()) {
                leaf.entry(self.at, &mut self.key);
                self.at += 1;
                return Ok(Some(row_id_of(&self.key)));
            }
            give_way(cancel).await?;
            self.leaf = self.rows.next(&IoCounters::default()).await.map_err(fault::storage)?;
            self.at = 0;
            if self.leaf.is_none() {
                return Ok(None);
            }
        }
    }
}
