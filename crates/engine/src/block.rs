//! Transactions of several statements that write.
//!
//! A block has a catalog of its own, a copy of the one that all see; nobody else sees what it creates,
//! empties or writes anew. In trees that others see it changes entries in place: undo records keep
//! that from readers ([`crate::undo`]), and the block notes what it has to put back. Where that is too
//! much, the table is written anew. `COMMIT` makes the block's catalog that of all and logs what was
//! changed, in one frame (or makes one checkpoint, when there are new trees); `ROLLBACK` puts back what
//! was changed in place and drops the block's trees. No checkpoint comes in between: a crash leaves the
//! state before the block. The block keeps
//! the right to write, so that nothing else changes the catalog meanwhile.
//!
//! A savepoint is the block's catalog as it was, and how much there was to put back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::IoCounters;
use sql::Statement;
use storage::{Redo, Store, Tree, TreeId};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::{Snapshot, TableEntry};
use crate::database::Database;
use crate::fault;
use crate::isolation;
use crate::load::drop_trees;
use crate::undo::RECORD_BYTES_MAX;
use crate::versions::Versions;
use crate::write_lock::{LockWait, WriteRight};

/// Bytes that a block notes to put back; beyond them it writes tables anew. All of it stays in memory
/// until the block ends, and a quarter of the undo records leaves room for those of other readers.
const NOTED_BYTES_MAX: usize = RECORD_BYTES_MAX / 4;

/// An entry as it was before a block changed it.
#[derive(Clone)]
pub(crate) struct Noted {
    pub(crate) tree: Tree,
    pub(crate) key: Vec<u8>,
    pub(crate) old: Option<Vec<u8>>,
}

/// A block that writes.
pub(crate) struct Block {
    /// The database as all see it.
    public: Database,
    state: Mutex<State>,
    /// The first tree that was made since it began.
    first_new: TreeId,
    /// Until what the block did is undone.
    right: Mutex<Option<WriteRight>>,
}

struct State {
    snapshot: Arc<Snapshot>,
    /// The first tree of its own. In those before it changes are noted: others have them, or savepoints.
    first_own: TreeId,
    noted: Vec<Noted>,
    noted_bytes: usize,
    /// What it has changed in place, for the log.
    redo: Redo,
    saved: Vec<Saved>,
    /// Trees that were left behind by going back to savepoints.
    left: Vec<TreeId>,
}

/// A savepoint.
struct Saved {
    /// How many the transaction had before it.
    depth: usize,
    snapshot: Arc<Snapshot>,
    noted: usize,
    logged: usize,
}

impl Block {
    /// Begins one; waits for the right to write.
    ///
    /// # Errors
    /// As [`Database::writer`]; 40001 when others have changed what the transaction has read, or
    /// definitions, since the version that it keeps.
    pub(crate) async fn begin(public: &Database, wait: &LockWait) -> SqlResult<Block> {
        let right = public.versions().right(wait).await?;
        // No checkpoint is made before it ends.
        public.versions().publish_unless_logged().await?;
        let snapshot = match public.kept() {
            Some(kept) => isolation::on_top(kept, public.newest())?,
            None => public.newest(),
        };
        let first_new = public.store().next_tree_id();
        let (noted, noted_bytes, redo) = (vec![], 0, Redo::default());
        let (saved, left) = (vec![], vec![]);
        let state = State { snapshot, first_own: first_new, noted, noted_bytes, redo, saved, left };
        Ok(Block {
            public: public.clone(),
            state: Mutex::new(state),
            first_new,
            right: Mutex::new(Some(right)),
        })
    }

    /// The catalog as the block sees it.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.state().snapshot.clone()
    }

    /// The catalog after one of the block's statements.
    pub(crate) fn advance(&self, mut snapshot: Snapshot) {
        let mut state = self.state();
        state.redo.append(&std::mem::take(&mut snapshot.redo));
        state.snapshot = Arc::new(snapshot);
    }

    /// The database as all see it.
    pub(crate) fn public(&self) -> &Database {
        &self.public
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the table's trees may be changed in place when so many bytes are to be noted for that.
    pub(crate) fn has_room(&self, entry: &TableEntry, bytes: usize) -> bool {
        let state = self.state();
        let is_own = entry.trees().all(|tree| tree >= state.first_own);
        is_own || state.noted_bytes + bytes <= NOTED_BYTES_MAX
    }

    /// Notes entries that a statement is about to change.
    pub(crate) fn note(&self, entries: impl Iterator<Item = Noted>) {
        let mut state = self.state();
        for noted in entries {
            if noted.tree.id() < state.first_own {
                state.noted_bytes += noted.bytes();
                state.noted.push(noted);
            }
        }
    }

    /// Sets a savepoint, behind `depth` others.
    pub(crate) fn save(&self, depth: usize) {
        let mut state = self.state();
        let (snapshot, noted) = (state.snapshot.clone(), state.noted.len());
        let logged = state.redo.len();
        state.first_own = self.public.store().next_tree_id();
        state.saved.push(Saved { depth, snapshot, noted, logged });
    }

    /// Forgets the savepoint behind `depth` others, and those after it; their work stays.
    pub(crate) fn release(&self, depth: usize) {
        self.state().saved.retain(|saved| saved.depth < depth);
    }

    /// Goes back to the savepoint behind `depth` others. The one that was set before the block had
    /// written anything is the state that all see.
    pub(crate) async fn go_back(&self, depth: usize) -> SqlResult<()> {
        let (before, kept, logged) = {
            let mut state = self.state();
            state.saved.retain(|saved| saved.depth <= depth);
            match state.saved.last().filter(|saved| saved.depth == depth) {
                Some(saved) => (saved.snapshot.clone(), saved.noted, saved.logged),
                None => (self.public.newest(), 0, 0),
            }
        };
        while let Some(noted) = self.last_noted(kept) {
            self.put_back(&noted).await?;
            let mut state = self.state();
            state.noted.pop();
            state.noted_bytes -= noted.bytes();
        }
        let mut state = self.state();
        state.redo.truncate(logged);
        let trees = |snapshot: &Snapshot| snapshot.trees_since(self.first_new);
        let (now, kept) = (trees(&state.snapshot), trees(&before));
        state.left.extend(now.difference(&kept));
        let read_view = state.snapshot.read_view.next();
        state.snapshot = Arc::new(Snapshot { read_view, ..(*before).clone() });
        Ok(())
    }

    /// The last entry behind the first `kept` ones.
    fn last_noted(&self, kept: usize) -> Option<Noted> {
        self.state().noted[kept..].last().cloned()
    }

    /// Puts an entry back for this block, whose cursors go on to see it as it was until now.
    async fn put_back(&self, noted: &Noted) -> SqlResult<()> {
        let io = IoCounters::default();
        let now = noted.tree.get(&noted.key, &io, <[u8]>::to_vec).await.map_err(fault::storage)?;
        let entry = (noted.key.as_slice(), now.as_deref());
        self.snapshot().read_view.record(noted.tree.id(), std::iter::once(entry));
        noted.put_back(self.public.store()).await
    }

    /// Makes what the block did durable and visible to all; in a task of its own, since a block that goes
    /// meanwhile would undo what is being committed.
    pub(crate) async fn commit(self: Arc<Block>) -> SqlResult<()> {
        let committed = runtime::spawn(async move { self.commit_here().await }).await;
        committed.unwrap_or_else(|aborted| {
            Err(SqlError::internal(format!("a transaction could not be ended: {aborted}")))
        })
    }

    async fn commit_here(&self) -> SqlResult<()> {
        let mut own = (*self.snapshot()).clone();
        own.abandon(&self.state().left);
        own.redo = self.state().redo.clone();
        let right = self.take_right();
        let change = self.public.change(right.as_ref(), move |_, snapshot| {
            Box::pin(async move {
                *snapshot = own;
                Ok(())
            })
        });
        if let Err(error) = change.await {
            *self.right.lock().unwrap_or_else(PoisonError::into_inner) = right;
            return Err(error);
        }
        {
            // Nothing is left to undo.
            let mut state = self.state();
            (state.snapshot, state.noted) = (self.public.newest(), vec![]);
            state.saved.clear();
            state.left.clear();
        }
        self.public.settle(right).await
    }

    fn take_right(&self) -> Option<WriteRight> {
        self.right.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Noted {
    fn bytes(&self) -> usize {
        noted_bytes(&self.key, self.old.as_deref())
    }

    /// Makes the entry what it was. The store gives up when that fails: what is half undone must not
    /// become durable.
    async fn put_back(&self, store: &Store) -> SqlResult<()> {
        let done = self.set().await;
        if let Err(error) = &done {
            store.give_up(&format!("a transaction could not be undone: {error}"));
        }
        done
    }

    async fn set(&self) -> SqlResult<()> {
        let (tree, key, io) = (&self.tree, &self.key, IoCounters::default());
        match &self.old {
            None => tree.delete(key, &io).await.map(drop),
            Some(old) => match tree.replace(key, old, &io).await {
                Ok(false) => tree.insert(key, old).await.map(drop),
                done => done.map(drop),
            },
        }
        .map_err(fault::storage)
    }
}

/// What it takes to note an entry.
pub(crate) fn noted_bytes(key: &[u8], old: Option<&[u8]>) -> usize {
    size_of::<Noted>() + key.len() + old.map_or(0, <[u8]>::len)
}

impl Drop for Block {
    /// Undoes what was not committed; the right to write is kept until then.
    fn drop(&mut self) {
        // One that was committed has given the right on: what others have done since is not its own.
        let Some(right) = self.take_right() else { return };
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut own = state.snapshot.trees_since(self.first_new);
        for saved in &state.saved {
            own.extend(saved.snapshot.trees_since(self.first_new));
        }
        own.extend(&state.left);
        let own: Vec<TreeId> = own.into_iter().collect();
        if own.is_empty() && state.noted.is_empty() {
            return;
        }
        let undo = Undo {
            store: self.public.store().clone(),
            versions: self.public.versions().clone(),
            snapshot: state.snapshot.clone(),
            noted: std::mem::take(&mut state.noted),
            own,
        };
        // In a task: this may be a worker's thread, which must not wait.
        self.public.handle().spawn_on(0, move || async move {
            undo.run().await;
            drop(right);
        });
    }
}

/// What is left of a block that was not committed. It holds no handle of the database, whose last one
/// must not be dropped on a worker.
struct Undo {
    store: Store,
    versions: Arc<Versions>,
    snapshot: Arc<Snapshot>,
    noted: Vec<Noted>,
    own: Vec<TreeId>,
}

impl Undo {
    async fn run(self) {
        for noted in self.noted.iter().rev() {
            if noted.put_back(&self.store).await.is_err() {
                return;
            }
        }
        // The records of the block are no concern of those who read from now on.
        let read_view = self.snapshot.read_view.next().of_all();
        self.versions.replace(Snapshot { read_view, ..(*self.versions.newest()).clone() });
        for tree in self.own {
            // An error leaves pages that the next start takes back.
            drop_trees(&self.store, &[tree]).await.ok();
        }
    }
}

/// Whether a statement that writes may run in a transaction of several statements.
///
/// Errors: 25001 for what cannot be undone.
pub(crate) fn admit(statement: &Statement) -> SqlResult<()> {
    let name = match statement {
        Statement::Vacuum(_) => "VACUUM",
        Statement::Checkpoint => "CHECKPOINT",
        Statement::Reorganize { .. } => "REORGANIZE",
        _ => return Ok(()),
    };
    let message = format!("{name} cannot run inside a transaction block");
    Err(SqlError::new(SqlState("25001"), message))
}
