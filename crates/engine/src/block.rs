//! Transactions that write.
//!
//! A block changes rows in place, beside other blocks: undo records keep that from those who do not
//! see it ([`txn::undo`]), locks keep others from changing the same ([`txn::locks`]), and it notes
//! what it has to put back ([`txn::noted`]). `COMMIT` makes a version with its changes and logs them
//! in one frame; `ROLLBACK` puts back what was changed.
//!
//! From its first statement that changes definitions, or that changes so much that it writes tables anew,
//! it has a catalog of its own, a copy of the one that all see. Nobody else sees what it creates, empties or
//! writes anew. `COMMIT` makes its catalog that of all (by one checkpoint, when there are new trees),
//! `ROLLBACK` drops the block's trees.
//!
//! While it changes definitions others change rows, and each of its statements sees what they have committed;
//! they change no definitions, so that its catalog fits on top of theirs when it commits. What it makes nobody
//! else has; tables that others may have it locks (`session/definitions.rs`, `writing.rs`).
//!
//! A crash leaves the state before the block. A savepoint is the block's catalog as it was, and how much
//! there was to put back.

pub(crate) mod definitions;
mod undoing;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plan::catalog::TableId;
use runtime::sync::Cancel;
use runtime::{Aborted, IoCounters, RemoteHandle};
use sql::Statement;
use storage::{Redo, TreeId, UndoSpace, planted};
use txn::locks::mode::{LockKey, LockMode};
use txn::locks::table::{DEADLOCK, LockWait, WriteRight};
use txn::noted::{NOTED_BYTES_MAX, Noted, Notes};
use txn::undo::ReadView;
use txn::undo::records::Changing;
use txn::undo::stamp::Stamp;
use txn::waiting::{breathe, unless_cancelled};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::database::Database;
use crate::deferred::{Doubt, Doubts};
use crate::versions::chain::{Committed, Ending};
use crate::versions::keepers::Keeper;
use crate::{fault, isolation};
use definitions::Own;
use undoing::Undo;

/// A transaction that writes.
pub(crate) struct Block {
    /// The database as all see it, or as it was when the transaction began.
    public: Database,
    stamp: Stamp,
    notes: Arc<Notes>,
    /// Pages for putting back what it notes.
    undo: Arc<UndoSpace>,
    state: Mutex<State>,
    /// What is looked at again before it commits.
    doubts: Mutex<Doubts>,
    /// The transaction is one statement.
    is_statement: AtomicBool,
    /// It has looked at what is newest, beside the version that it keeps.
    saw_newest: AtomicBool,
    /// The statement has to run again: others have changed what it was about to change.
    runs_again: AtomicBool,
    /// Until what the block did is undone.
    right: Mutex<Option<WriteRight>>,
}

struct State {
    /// How many of its statements have changed something.
    step: u32,
    /// What the parts of the statement that runs see, which is less.
    frozen: Option<Arc<Snapshot>>,
    /// Of one that changes definitions.
    own: Option<Own>,
    /// What it has changed in place, for the log.
    redo: Redo,
    saved: Vec<Saved>,
    /// Trees that were left behind by going back to savepoints.
    left: Vec<TreeId>,
    /// Column tables of which it has changed rows: they may be merged when it has ended.
    grown: BTreeSet<TableId>,
}

/// A savepoint.
struct Saved {
    /// How many the transaction had before it.
    depth: usize,
    /// Its own catalog, if it had one.
    snapshot: Option<Arc<Snapshot>>,
    noted: usize,
    logged: usize,
}

impl Block {
    /// Begins one, beside others.
    ///
    /// # Errors
    /// As [`txn::locks::table::Locks::share`]; 40001 when others have changed definitions since the
    /// version that the transaction keeps.
    pub(crate) async fn begin(public: &Database, wait: &LockWait) -> SqlResult<Block> {
        let versions = public.versions();
        let right = versions.locks().share(wait).await?;
        let stamp = versions.visible().read_view.new_stamp();
        let notes = Arc::<Notes>::default();
        versions.begin(&notes);
        let (own, redo, saved, left) = (None, Redo::default(), vec![], vec![]);
        let grown = BTreeSet::new();
        let block = Block {
            public: public.clone(),
            stamp,
            notes,
            undo: public.store().undo_space(),
            state: Mutex::new(State { step: 0, frozen: None, own, redo, saved, left, grown }),
            doubts: Mutex::default(),
            is_statement: AtomicBool::new(false),
            saw_newest: AtomicBool::new(false),
            runs_again: AtomicBool::new(false),
            right: Mutex::new(Some(right)),
        };
        block.check_kept_definitions()?;
        Ok(block)
    }

    /// The same block for a transaction that keeps the version which is visible now, and may note what it reads;
    /// `None` where it has changed something, or has ended. This one has ended then.
    pub(crate) fn pinned(&self, notes_reads: bool, keeper: Option<Arc<Keeper>>) -> Option<Block> {
        if self.has_changed() || self.defines() {
            return None;
        }
        let right = self.right.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut state = self.state();
        let (saved, left) = (std::mem::take(&mut state.saved), std::mem::take(&mut state.left));
        let (step, redo) = (state.step, std::mem::take(&mut state.redo));
        let grown = std::mem::take(&mut state.grown);
        Some(Block {
            public: self.public.pinned(notes_reads, keeper),
            stamp: self.stamp.clone(),
            notes: self.notes.clone(),
            undo: self.undo.clone(),
            state: Mutex::new(State { step, frozen: None, own: None, redo, saved, left, grown }),
            doubts: Mutex::default(),
            is_statement: AtomicBool::new(self.is_statement.load(Ordering::Relaxed)),
            saw_newest: AtomicBool::new(false),
            runs_again: AtomicBool::new(false),
            right: Mutex::new(Some(right)),
        })
    }

    /// It has looked at what is newest, as constraints do.
    pub(crate) fn note_newest_seen(&self) {
        self.saw_newest.store(true, Ordering::Relaxed);
    }

    /// Whether rows may still be changed by the definitions of the version that the transaction keeps.
    fn check_kept_definitions(&self) -> SqlResult<()> {
        let visible = self.public.versions().visible();
        let check = |kept| isolation::check_kept_definitions(kept, &visible);
        self.public.kept().map_or(Ok(()), |kept| check(kept))
    }

    /// The catalog as the block sees it: each statement sees what was committed before it began, unless
    /// the transaction keeps a version.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let frozen = self.state().frozen.clone();
        frozen.unwrap_or_else(|| self.changed())
    }

    /// The same with all that the block has done.
    pub(crate) fn changed(&self) -> Arc<Snapshot> {
        let state = self.state();
        match &state.own {
            Some(own) => self.seen(&own.snapshot, &self.view(), state.step),
            None => {
                let all = self.public.snapshot();
                self.seen(&all, &all.read_view, state.step)
            }
        }
    }

    /// What was committed before now, or before the version that the transaction keeps.
    fn view(&self) -> ReadView {
        match self.public.kept() {
            Some(kept) => kept.read_view.clone(),
            None => self.public.versions().visible().read_view.clone(),
        }
    }

    /// Lets what follows see the rows as they are now, until [`Block::thaw`].
    pub(crate) fn freeze(&self) {
        let frozen = self.snapshot();
        self.state().frozen = Some(frozen);
    }

    /// Lets what follows see what the block has done.
    pub(crate) fn thaw(&self) {
        self.state().frozen = None;
    }

    /// Whether parts of a statement see less than the block has done.
    pub(crate) fn is_frozen(&self) -> bool {
        self.state().frozen.is_some()
    }

    /// The catalog with all that was committed before now.
    pub(crate) fn latest(&self) -> Arc<Snapshot> {
        let state = self.state();
        match &state.own {
            Some(own) => {
                let newest = &self.public.versions().newest().read_view;
                self.seen(&own.snapshot, newest, state.step)
            }
            None => {
                let newest = self.public.newest();
                self.seen(&newest, &newest.read_view, state.step)
            }
        }
    }

    fn seen(&self, snapshot: &Snapshot, view: &ReadView, step: u32) -> Arc<Snapshot> {
        snapshot.with_view(view.with_own(&self.stamp, step))
    }

    /// It ends with the statement for which it was begun.
    pub(crate) fn ends_with_statement(&self) {
        self.is_statement.store(true, Ordering::Relaxed);
    }

    /// Whether it ends with the statement for which it was begun.
    pub(crate) fn is_statement(&self) -> bool {
        self.is_statement.load(Ordering::Relaxed)
    }

    /// Whether the transaction sees one version until it ends.
    pub(crate) fn keeps_version(&self) -> bool {
        self.public.kept().is_some()
    }

    /// The catalog after one of the block's statements.
    pub(crate) fn advance(&self, mut snapshot: Snapshot) {
        if planted::is("early-release") {
            self.right().iter().for_each(WriteRight::let_go);
        }
        let mut state = self.state();
        if planted::is("last-statement-logged") {
            state.redo = Redo::default();
        }
        state.redo.append(&std::mem::take(&mut snapshot.redo));
        state.step += 1;
        if let Some(own) = &mut state.own {
            own.snapshot = snapshot.without_view();
        }
    }

    fn doubts(&self) -> MutexGuard<'_, Doubts> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what is to be looked at again before the block commits.
    pub(crate) fn note_doubts(&self, doubts: impl IntoIterator<Item = Doubt>) {
        self.doubts().extend(doubts);
    }

    /// What is to be looked at again, of the constraints for which that is asked. It stays noted: going
    /// back to a savepoint may undo what it refers to.
    pub(crate) fn doubts_of(&self, is_due: impl Fn(&Doubt) -> bool) -> Doubts {
        self.doubts().iter().filter(|doubt| is_due(doubt)).cloned().collect()
    }

    /// The database as all see it.
    pub(crate) fn public(&self) -> &Database {
        &self.public
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its right to write.
    ///
    /// # Errors
    /// XX000 when it has ended.
    pub(crate) fn right(&self) -> SqlResult<WriteRight> {
        let right = self.right.lock().unwrap_or_else(PoisonError::into_inner).clone();
        right.ok_or_else(|| SqlError::internal("the transaction has ended"))
    }

    /// A statement that writes begins.
    ///
    /// # Errors
    /// As [`Block::begin`]; those of storage when nothing becomes durable any more: the statement would run
    /// again without end for rows whose last change is never seen.
    pub(crate) async fn enter(&self, wait: &LockWait) -> SqlResult<()> {
        self.right()?.share(wait).await?;
        self.public.store().check_writable().map_err(fault::storage)?;
        self.check_kept_definitions()
    }

    /// Locks keys until the transaction ends.
    ///
    /// # Errors
    /// As [`WriteRight::lock`].
    pub(crate) async fn lock(
        &self,
        keys: Vec<(LockKey, LockMode)>,
        wait: &LockWait,
    ) -> SqlResult<()> {
        self.right()?.lock(keys, wait).await
    }

    /// Locks those keys that nobody else has locked, in their order, up to a number; their positions.
    ///
    /// # Errors
    /// XX000 when the transaction has ended.
    pub(crate) fn lock_free(
        &self,
        keys: &[(LockKey, LockMode)],
        count_max: Option<u64>,
    ) -> SqlResult<Vec<u32>> {
        let right = self.right()?;
        let free = (0..).zip(keys).filter(|(_, (key, mode))| right.try_lock(key, *mode));
        let count_max = count_max.map_or(usize::MAX, |count| count as usize);
        Ok(free.map(|(position, _)| position).take(count_max).collect())
    }

    /// The error of a statement that found something which others have changed since: it runs again, if the
    /// transaction sees what they have committed.
    pub(crate) fn overtaken(&self) -> SqlError {
        let runs_again = !self.keeps_version() && !planted::is("does-not-run-again");
        self.runs_again.store(runs_again, Ordering::Relaxed);
        isolation::concurrent_update()
    }

    /// Whether the statement that has just failed has to run again: it sees what others have done since.
    pub(crate) fn take_runs_again(&self) -> bool {
        let runs_again = self.runs_again.swap(false, Ordering::Relaxed);
        let newer = self.public.snapshot();
        let State { frozen, own, .. } = &mut *self.state();
        if let Some(frozen) = frozen.as_mut().filter(|_| runs_again) {
            let view = frozen.read_view.moved_to(&newer.read_view);
            *frozen = own.as_ref().map_or(&newer, |own| &own.snapshot).with_view(view);
        }
        runs_again
    }

    /// Whether it has changed entries that others see.
    pub(crate) fn has_changed(&self) -> bool {
        !self.notes.is_empty()
    }

    /// How many keys the transaction has locked.
    pub(crate) fn count_locked(&self) -> usize {
        self.right().map_or(0, |right| right.count_locked())
    }

    /// Whether a statement that failed has to run again because it stood in a circle of those that wait for
    /// each other. It does where the transaction has nothing but this statement's locks, for it can let them
    /// go: one that runs again has locked keys out of order, which is nobody's fault.
    pub(crate) fn has_let_go(&self, locked_before: usize, error: &SqlError) -> bool {
        let is_free = locked_before == 0 && self.notes.is_empty() && !self.defines();
        let lets_go = is_free && error.state == DEADLOCK;
        if let (true, Ok(right)) = (lets_go, self.right()) {
            right.leave();
        }
        lets_go
    }

    /// Whether the table's trees may be changed in place when so many bytes are to be noted for that.
    pub(crate) fn has_room(&self, entry: &TableEntry, bytes: usize) -> bool {
        let state = self.state();
        let is_own = |own: &Own| entry.trees().all(|tree| tree >= own.first_own);
        let has_room = || state.redo.len() + bytes <= NOTED_BYTES_MAX;
        state.own.as_ref().is_some_and(is_own)
            || has_room() && self.public.versions().has_room(bytes)
    }

    /// Notes entries that a statement is about to change.
    pub(crate) fn note(&self, entries: impl Iterator<Item = Noted>) {
        let first_own = self.state().own.as_ref().map(|own| own.first_own);
        let is_seen = |noted: &Noted| first_own.is_none_or(|first| noted.tree.id() < first);
        entries.filter(is_seen).for_each(|noted| self.notes.push(noted));
    }

    /// Bytes that it has for the log.
    pub(crate) fn logged_bytes(&self) -> usize {
        self.state().redo.len()
    }

    /// Sets a savepoint, behind `depth` others.
    pub(crate) fn save(&self, depth: usize) {
        let mut state = self.state();
        let (noted, logged) = (self.notes.len(), state.redo.len());
        let next_tree = self.public.store().next_tree_id();
        state.own.iter_mut().for_each(|own| own.first_own = next_tree);
        let snapshot = state.own.as_ref().map(|own| own.snapshot.clone());
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
                None => (None, 0, 0),
            }
        };
        while let Some(noted) = self.notes.last(kept) {
            let _change = self.public.versions().change_right().await;
            self.put_back(&noted).await?;
            self.notes.pop();
            breathe().await;
        }
        let mut state = self.state();
        if !planted::is("savepoint-stays-in-log") {
            state.redo.truncate(logged);
        }
        state.step += 1;
        let State { own: Some(own), left, .. } = &mut *state else { return Ok(()) };
        let before = before.unwrap_or_else(|| own.before.clone());
        let trees = |snapshot: &Snapshot| snapshot.trees_since(own.first_new);
        let (now, kept) = (trees(&own.snapshot), trees(&before));
        left.extend(now.difference(&kept));
        own.snapshot = match self.public.seer() {
            Some(seer) => Arc::new(before.seen_again(seer)),
            None => before,
        };
        Ok(())
    }

    /// Puts an entry back for this block, whose cursors go on to see it as it was until now.
    async fn put_back(&self, noted: &Noted) -> SqlResult<()> {
        let io = IoCounters::default();
        let now = noted.tree.get(&noted.key, &io, <[u8]>::to_vec).await.map_err(fault::storage)?;
        let keeps_key = now.is_some() && noted.old.is_some();
        let entry = Changing { key: &noted.key, old: now.as_deref(), keeps_key };
        self.snapshot().read_view.record(noted.tree.id(), std::iter::once(entry));
        noted.put_back(self.public.store(), &self.undo).await
    }

    /// Pages for putting back what it changes.
    pub(crate) fn undo_space(&self) -> &Arc<UndoSpace> {
        &self.undo
    }

    /// Rows of a table are about to change.
    pub(crate) fn note_grown(&self, entry: &TableEntry) {
        if entry.columns.is_some() {
            self.state().grown.insert(entry.def.id);
        }
    }

    /// Makes what the block did visible to all and durable, and waits for that if it `waits` or has
    /// to. Once begun it goes to its end, since a block that goes meanwhile would undo what is being
    /// committed. The number of its version if it is not durable yet.
    ///
    /// # Errors
    /// 40001 when others have changed what a serializable transaction has read; those of storage. Nothing
    /// of the block stays then.
    pub(crate) async fn commit(self: Arc<Block>, waits: bool) -> SqlResult<Option<u64>> {
        let aborted = |aborted: Aborted| {
            Err(SqlError::internal(format!("a transaction could not be ended: {aborted}")))
        };
        let (block, public) = (self.clone(), self.public.clone());
        let committed = runtime::to_end(async move { block.commit_here(waits).await }).await;
        let version = match committed.unwrap_or_else(aborted)? {
            Committed::Seen(version) => return Ok(Some(version)),
            Committed::Awaited(version) => version,
        };
        // Nothing is left to undo: who does not wait for it any more may go.
        public.versions().settle(version, public.session_id()).await.map(|()| None)
    }

    async fn commit_here(self: Arc<Block>, waits: bool) -> SqlResult<Committed> {
        let (versions, right) = (self.public.versions(), self.right()?);
        let committed = match self.defines() {
            true => Committed::Awaited(self.public.define(&right, &self).await?),
            false => {
                let _change = versions.change_right().await;
                let view = self.snapshot().read_view.clone();
                let redo = std::mem::take(&mut self.state().redo);
                versions.commit(&self.ending(&view), &redo, right, waits)?
            }
        };
        // Nothing is left to undo.
        let right = self.right.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(right) = right {
            right.end().await;
        }
        let grown = std::mem::take(&mut self.state().grown);
        if !grown.is_empty() {
            // They are looked at when all see their rows.
            let public = self.public.clone();
            drop(runtime::spawn(async move {
                let (Committed::Seen(version) | Committed::Awaited(version)) = committed;
                if public.versions().settle(version, None).await.is_ok() {
                    public.look_at_columns(&grown);
                }
            }));
        }
        Ok(committed)
    }

    /// What has to end with the block.
    pub(crate) fn ending<'a>(&'a self, view: &'a ReadView) -> Ending<'a> {
        let saw_newest = self.saw_newest.load(Ordering::Relaxed);
        Ending { stamp: &self.stamp, notes: &self.notes, view, saw_newest }
    }
}

impl Block {
    /// Undoes what a block has not committed, and waits for that until somebody cancels: from then
    /// on its locks are free. Where others hold the block, it is undone when they let it go.
    pub(crate) async fn roll_back(block: Arc<Block>, cancel: &Cancel) {
        let Some(mut block) = Arc::into_inner(block) else { return };
        if let Some(undone) = block.undoing() {
            // The task goes on in either case.
            unless_cancelled(cancel, undone).await.ok();
        }
    }

    /// Begins to undo what was not committed; the right to write is kept until then.
    fn undoing(&mut self) -> Option<RemoteHandle<()>> {
        let right = self.right.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // One that was committed has given the right on: what others have done since is not its own.
        let right = right?;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let undo = Undo {
            store: self.public.store().clone(),
            versions: self.public.versions().clone(),
            stamp: self.stamp.clone(),
            notes: self.notes.clone(),
            undo: self.undo.clone(),
            own: state.trees(),
        };
        if undo.own.is_empty() && undo.notes.is_empty() {
            undo.versions.undone(&undo.stamp, &undo.notes);
            return None;
        }
        // In a task: this may be a worker's thread, which must not wait.
        Some(self.public.handle().spawn_on(0, move || async move {
            undo.run().await;
            right.end().await;
        }))
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        drop(self.undoing());
    }
}

impl State {
    /// The trees that the block has made.
    fn trees(&self) -> Vec<TreeId> {
        let Some(own) = &self.own else { return vec![] };
        let mut trees = own.snapshot.trees_since(own.first_new);
        for saved in self.saved.iter().filter_map(|saved| saved.snapshot.as_ref()) {
            trees.extend(saved.trees_since(own.first_new));
        }
        trees.extend(&self.left);
        trees.into_iter().collect()
    }
}

/// Whether a statement that writes may run in a transaction of several statements.
///
/// Errors: 25001 for what cannot be undone.
pub(crate) fn admit(statement: &Statement) -> SqlResult<()> {
    let name = match statement {
        Statement::Vacuum(_) => "VACUUM",
        Statement::Checkpoint => "CHECKPOINT",
        Statement::Backup { .. } => "BACKUP",
        Statement::Member(_) => "ALTER DATABASE",
        Statement::Reorganize { .. } => "REORGANIZE",
        _ => return Ok(()),
    };
    let message = format!("{name} cannot run inside a transaction block");
    Err(SqlError::new(SqlState("25001"), message))
}
