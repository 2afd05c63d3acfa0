//! Changes of store and catalog: how they become durable and visible.
//!
//! Who changes rows beside others changes no definitions. Who changes these does so on a copy, which goes on
//! top of the newest version.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use storage::{CheckpointTurn, Store, TreeId};
use txn::locks::table::{LockWait, WriteRight};
use txn::noted::Notes;
use txn::undo::ReadView;
use types::{SqlError, SqlResult};

use crate::block::Block;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::temporary::Seer;
use crate::catalog::trees::drop_trees;
use crate::database::Database;
use crate::versions::chain::{Ending, Versions};
use crate::{catalog, fault};

/// Work on store and catalog.
pub(crate) type StoreFuture<'a> = Pin<Box<dyn Future<Output = SqlResult<()>> + 'a>>;

/// What a statement does to store and catalog.
type Change = dyn for<'a> FnOnce(&'a Store, &'a mut Snapshot) -> StoreFuture<'a>;

impl Database {
    /// The right to change definitions beside those who change rows, as [`Database::writer`].
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn definer(&self, wait: &LockWait) -> SqlResult<Option<WriteRight>> {
        match self.block() {
            Some(block) => block.define(wait).await.map(|()| None),
            None => self.versions().definer(wait).await.map(Some),
        }
    }

    /// Whether nobody else has a table of a catalog that the session sees: its block has made it, or it is a
    /// temporary one.
    pub(crate) fn has_table_alone(&self, snapshot: &Snapshot, entry: &TableEntry) -> bool {
        let id = entry.def.id.0;
        snapshot.is_temporary_id(id) || self.block().is_some_and(|block| block.has_made(id))
    }

    /// Makes a change. In a block it stays within the block until that ends; otherwise it becomes durable
    /// and visible soon: [`Database::settle`] waits for that.
    ///
    /// Outside of a block `reads` is what it has seen, if it is a transaction that is serializable and has read.
    ///
    /// It has a part in the right to write: once begun it goes to its end, also when nobody waits
    /// for it any more.
    ///
    /// # Errors
    /// Those of `change` and of storage, 40001 when others have changed what it has read; the catalog stays as it
    /// was then.
    ///
    /// # Panics
    /// Without the right to change definitions, outside of a block.
    pub(crate) async fn change(
        &self,
        right: Option<&WriteRight>,
        reads: Option<ReadView>,
        change: impl for<'a> FnOnce(&'a Store, &'a mut Snapshot) -> StoreFuture<'a> + 'static,
    ) -> SqlResult<()> {
        // What was given up in the middle of a change has trees that fit no catalog.
        self.store().check_writable().map_err(fault::storage)?;
        let (store, change): (_, Box<Change>) = (self.store().clone(), Box::new(change));
        let changed = match self.block() {
            Some(block) => runtime::to_end(change_block(store, block.clone(), change)).await,
            None => {
                let right = right.expect("who changes has the right to write");
                let committing = Committing { reads, ..self.committing(right, None) };
                runtime::spawn(async move { committing.run(change).await.map(drop) }).await
            }
        };
        self.unless_aborted(changed)
    }

    /// Makes the catalog of a block that changes definitions that of all; its version.
    ///
    /// # Errors
    /// 40001 when others have changed what a serializable transaction has read; those of storage.
    pub(crate) async fn define(&self, right: &WriteRight, block: &Arc<Block>) -> SqlResult<u64> {
        self.store().check_writable().map_err(fault::storage)?;
        let committing = self.committing(right, Some(block.clone()));
        self.unless_aborted(runtime::spawn(committing.run_block(block.clone())).await)
    }

    fn committing(&self, right: &WriteRight, block: Option<Arc<Block>>) -> Committing {
        assert!(right.may_define(), "definitions are changed by one at a time");
        let (store, versions) = (self.store().clone(), self.versions().clone());
        let (seer, right) = (self.shared_seer(), right.clone());
        let turn = Mutex::default();
        Committing { store, versions, seer, block, reads: None, right, turn }
    }

    fn unless_aborted<T>(&self, done: Result<SqlResult<T>, runtime::Aborted>) -> SqlResult<T> {
        unless_aborted(self.store(), done)
    }
}

/// Makes a change for no session, as [`Database::change`] does outside of a block; the number of its version. It
/// needs a checkpoint, whose turn the caller has.
///
/// # Errors
/// The same.
///
/// # Panics
/// Without the right to change definitions.
pub(crate) async fn change_apart(
    (store, versions): (&Store, &Arc<Versions>),
    (right, turn): (&WriteRight, CheckpointTurn),
    change: impl for<'a> FnOnce(&'a Store, &'a mut Snapshot) -> StoreFuture<'a> + 'static,
) -> SqlResult<u64> {
    store.check_writable().map_err(fault::storage)?;
    assert!(right.may_define(), "definitions are changed by one at a time");
    let (right, change): (_, Box<Change>) = (right.clone(), Box::new(change));
    let (store, versions) = (store.clone(), versions.clone());
    let committing = Committing {
        store: store.clone(),
        versions,
        seer: None,
        block: None,
        reads: None,
        right,
        turn: Mutex::new(Some(turn)),
    };
    unless_aborted(&store, runtime::spawn(committing.run(change)).await)
}

fn unless_aborted<T>(store: &Store, done: Result<SqlResult<T>, runtime::Aborted>) -> SqlResult<T> {
    done.unwrap_or_else(|aborted| {
        store.give_up(&format!("a statement could not be finished: {aborted}"));
        Err(SqlError::internal(format!("a statement failed: {aborted}")))
    })
}

/// Changes what a block sees. On an error nothing of the change stays.
async fn change_block(store: Store, block: Arc<Block>, change: Box<Change>) -> SqlResult<()> {
    let _change = block.public().versions().change_right().await;
    let before = block.changed();
    let (mut snapshot, first_new) = ((*before).clone(), store.next_tree_id());
    if let Err(error) = change(&store, &mut snapshot).await {
        drop_new(&store, &snapshot, first_new).await;
        return Err(error);
    }
    let is_same = snapshot.has_definitions_of(&before);
    assert!(is_same || block.defines(), "who changes rows beside others changes no definitions");
    block.advance(snapshot);
    Ok(())
}

/// Drops the trees that a failed change has made.
async fn drop_new(store: &Store, after: &Snapshot, first_new: TreeId) {
    drop_all(store, after.trees_since(first_new)).await;
}

/// Drops trees that nobody knows; an error leaves pages that the next start takes back.
async fn drop_all(store: &Store, trees: BTreeSet<TreeId>) {
    let trees: Vec<TreeId> = trees.into_iter().collect();
    drop_trees(store, &trees).await.ok();
}

/// A change of definitions that becomes durable and visible to all.
struct Committing {
    store: Store,
    versions: Arc<Versions>,
    seer: Option<Arc<Seer>>,
    /// That ends with it.
    block: Option<Arc<Block>>,
    /// What it has seen that has no block, if it is serializable.
    reads: Option<ReadView>,
    /// Others write when the change is visible, not before.
    right: WriteRight,
    /// The turn of its checkpoint, if it has that already.
    turn: Mutex<Option<CheckpointTurn>>,
}

impl Committing {
    /// Its version, of a change outside of blocks.
    async fn run(self, change: Box<Change>) -> SqlResult<u64> {
        let _change = self.versions.change_right().await;
        let before = self.versions.newest().keeping_trees();
        let before = Arc::new(before);
        let mut snapshot = (*before.clone().for_session(self.seer.as_deref())).clone();
        let first_new = self.store.next_tree_id();
        change(&self.store, &mut snapshot).await?;
        self.make(&before, snapshot, first_new).await
    }

    /// Its version, of what a block has done.
    async fn run_block(self, block: Arc<Block>) -> SqlResult<u64> {
        let _change = self.versions.change_right().await;
        let (snapshot, before) = block.defined();
        self.make(&before, snapshot, self.store.next_tree_id()).await
    }

    /// Makes the version. The trees from `first_new` on go with it if that fails.
    async fn make(
        &self,
        before: &Arc<Snapshot>,
        mut snapshot: Snapshot,
        first_new: TreeId,
    ) -> SqlResult<u64> {
        let Committing { store, versions, seer, block, reads, right, turn } = self;
        let gone = versions.ended();
        let seen_before = before.clone().for_session(seer.as_deref());
        let has_relations_of_before = snapshot.has_relations_of(&seen_before) && gone.is_empty();
        snapshot.settle();
        snapshot.end_sessions(&gone);
        if !has_relations_of_before {
            snapshot.forget_dropped();
            snapshot.forget_comments();
        }
        // Statements about rows have reserved the space of their rows themselves.
        let adds_trees = !snapshot.trees_since(first_new).is_empty();
        let spent = (!adds_trees).then(|| store.spend_reserve());
        let visible = versions.visible();
        let (noted_bytes, change) = (versions.noted_bytes(), (visible.as_ref(), &snapshot));
        let reserved = catalog::persist::reserve_for(store, noted_bytes, change).await;
        drop(spent);
        let record_bytes = match reserved {
            Ok(bytes) => bytes,
            Err(error) => {
                drop_new(store, &snapshot, first_new).await;
                return Err(error);
            }
        };
        let new = snapshot.trees_since(first_new);
        let defined = (before.as_ref(), snapshot);
        let seen = block.as_ref().map(|block| block.snapshot().read_view.clone());
        let alone = reads.as_ref().map(|view| (view.new_stamp(), Arc::<Notes>::default(), view));
        let of_alone = alone.as_ref().map(|(stamp, notes, view)| Ending {
            stamp,
            notes,
            view,
            saw_newest: true,
        });
        let of_block = block.as_ref().zip(seen.as_ref()).map(|(block, view)| block.ending(view));
        let ending = of_block.or(of_alone);
        let turn = turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rights = (right.clone(), turn);
        let made = versions.define(defined, ending.as_ref(), record_bytes, rights);
        if made.is_err() {
            drop_all(store, new).await;
        }
        let version = made?;
        versions.forget_ended(&gone);
        Ok(version)
    }
}
