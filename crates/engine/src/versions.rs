//! The versions of the catalog: the one that all see, and the newest one, on which statements that write
//! work.
//!
//! A statement that writes makes the next version of the newest. All versions since the visible one
//! become durable and visible together, by a *publication*. Until then nobody but those who write sees
//! them; undo records keep that from readers ([`crate::undo`]).
//!
//! A publication *by the log* writes what the versions have changed in place, and the records of the
//! catalog that differ, in one frame. It looks at no tree but the catalog's, so statements and blocks go
//! on meanwhile; what they commit goes into the next frame (group commit).
//!
//! What makes or drops trees, or is more than the log has room for, is published *by a checkpoint*; with
//! it goes all that was waiting to be logged. Whether that is so is known when the version is made. Such a
//! publication waits for the right to write like a statement, so behind those that wait for it already. It
//! does not wait for one that keeps the right for long, which is one that still reads: what must not be
//! under way is a change, and that has a lock of its own. A transaction block changes trees in place before
//! it ends; so nothing that needs a checkpoint is left when one begins, and nothing comes before it ends.
//!
//! A block or statement works on versions that may not be durable yet. It is itself durable only after
//! them, for the log has them in their order.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use runtime::sync::{Semaphore, SemaphorePermit, WaitQueue};
use runtime::time;
use sql::catalog::TableDef;
use storage::{Redo, Store};
use types::{SqlError, SqlResult};

use crate::catalog::{self, Numbered, Numbers, SequenceKey, Snapshot};
use crate::fault;
use crate::load::drop_trees;
use crate::system::Given;
use crate::write_lock::{LockWait, WriteLock, WriteRight};

/// How long a publication waits for one that has the right to write: some checkpoints.
const PATIENCE: Duration = Duration::from_millis(10);

/// The versions of a database's catalog, and who may make the next one.
pub(crate) struct Versions {
    store: Store,
    write_lock: WriteLock,
    /// Of the one who makes a change, or a checkpoint.
    change_lock: Semaphore,
    /// Of the one who publishes.
    publish_lock: Semaphore,
    catalogs: RwLock<Catalogs>,
    state: Mutex<State>,
    published: WaitQueue,
}

struct Catalogs {
    visible: Arc<Snapshot>,
    newest: Arc<Snapshot>,
    pending: Pending,
}

/// What is not durable yet.
#[derive(Default)]
struct Pending {
    /// How many versions nobody has begun to publish.
    versions: usize,
    /// What they have changed in place.
    redo: Redo,
    /// Bytes that their records of the catalog take in the log, at most.
    record_bytes: usize,
    /// Bytes of the frame that is on its way to the log, at most.
    logging_bytes: usize,
    /// They cannot be logged.
    needs_checkpoint: bool,
}

impl Pending {
    /// Bytes that the next frame takes.
    fn frame_bytes(&self) -> usize {
        self.redo.len() + self.record_bytes + NUMBER_BYTES
    }
}

/// What the numbers of sequences take in a frame, at most, with the frame's own head: there are some
/// thousand sequences that give numbers between two publications.
const NUMBER_BYTES: usize = 64 << 10;

#[derive(Default)]
struct State {
    /// A publication waits for the right to write: what changes before it has that is a part of it.
    is_requested: bool,
    /// Why nothing becomes durable any more.
    failure: Option<SqlError>,
    /// Sequences whose numbers the next publication makes durable, and whether it counts more of them as
    /// given out.
    given: BTreeMap<SequenceKey, bool>,
    /// Sessions that have ended and had temporary tables.
    ended: Vec<u64>,
    /// Somebody is about to make a checkpoint because there is much in the log.
    is_tended: bool,
}

impl Versions {
    pub(crate) fn new(store: Store, catalog: Snapshot) -> Versions {
        let visible = Arc::new(catalog);
        Versions {
            store,
            write_lock: WriteLock::default(),
            change_lock: Semaphore::new(1),
            publish_lock: Semaphore::new(1),
            catalogs: RwLock::new(Catalogs {
                newest: visible.clone(),
                visible,
                pending: Pending::default(),
            }),
            state: Mutex::default(),
            published: WaitQueue::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The catalog as all see it.
    pub(crate) fn visible(&self) -> Arc<Snapshot> {
        self.catalogs.read().unwrap_or_else(PoisonError::into_inner).visible.clone()
    }

    /// The catalog as the next statement that writes finds it.
    pub(crate) fn newest(&self) -> Arc<Snapshot> {
        self.catalogs.read().unwrap_or_else(PoisonError::into_inner).newest.clone()
    }

    /// The right to write.
    ///
    /// # Errors
    /// As [`WriteLock::acquire`].
    pub(crate) async fn right(&self, wait: &LockWait) -> SqlResult<WriteRight> {
        self.write_lock.acquire(wait).await
    }

    /// The right to change trees that others see, for who has the right to write: nothing is published
    /// meanwhile.
    pub(crate) async fn change_right(&self) -> SemaphorePermit {
        self.change_lock.acquire().await
    }

    /// Puts the next version in place; it is published soon. Its records of the catalog take so many bytes
    /// in the log. The caller has the right to change.
    pub(crate) fn advance(self: &Arc<Versions>, mut next: Snapshot, record_bytes: usize) {
        let redo = std::mem::take(&mut next.redo);
        {
            let mut catalogs = self.catalogs_mut();
            assert!(next.follows(&catalogs.newest), "versions are made one after another");
            let can_be_logged =
                next.abandoned.is_empty() && !next.has_trees_besides(&catalogs.newest);
            catalogs.newest = Arc::new(next);
            let pending = &mut catalogs.pending;
            pending.versions += 1;
            pending.redo.append(&redo);
            pending.record_bytes = pending.record_bytes.max(record_bytes);
            let bytes = pending.frame_bytes() + pending.logging_bytes;
            pending.needs_checkpoint |= !can_be_logged || bytes > self.store.log_room();
        }
        self.request();
    }

    fn catalogs_mut(&self) -> RwLockWriteGuard<'_, Catalogs> {
        self.catalogs.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn needs_checkpoint(&self) -> bool {
        self.catalogs.read().unwrap_or_else(PoisonError::into_inner).pending.needs_checkpoint
    }

    /// Puts a version in place whose rows are those of the newest one.
    pub(crate) fn replace(&self, next: Snapshot) {
        let next = Arc::new(next);
        let mut catalogs = self.catalogs_mut();
        assert!(next.follows(&catalogs.newest), "versions are made one after another");
        if Arc::ptr_eq(&catalogs.visible, &catalogs.newest) {
            next.read_view.show();
            catalogs.visible = next.clone();
        }
        catalogs.newest = next;
    }

    /// The next publication makes durable that these sequences have given numbers out.
    /// To be called before the version is there whose rows have the numbers.
    pub(crate) fn note_given(&self, given: &[Given]) {
        self.state().given.extend(given.iter().map(|given| (given.key(), true)));
    }

    /// The same of the numbers that rows of a table have got from the sequences of its columns.
    pub(crate) fn note_numbers_of(&self, table: &TableDef) {
        let unsaved = Numbered::of_table(table).filter(|numbered| numbered.numbers.is_unsaved());
        self.state().given.extend(unsaved.map(|numbered| (numbered.key, true)));
    }

    /// The next publication makes durable that these sequences go on without a gap.
    pub(crate) fn note_released(&self, released: &[SequenceKey]) {
        self.state().given.extend(released.iter().map(|key| (*key, false)));
    }

    /// Lets the temporary tables of a session go with the next change of anyone.
    pub(crate) fn note_ended(&self, session: u64) {
        self.state().ended.push(session);
    }

    /// Sessions that have ended and had temporary tables.
    pub(crate) fn ended(&self) -> Vec<u64> {
        self.state().ended.clone()
    }

    /// The temporary tables of these sessions are gone.
    pub(crate) fn forget_ended(&self, gone: &[u64]) {
        self.state().ended.retain(|session| !gone.contains(session));
    }

    /// Begins a publication, unless one is about to begin.
    fn request(self: &Arc<Versions>) {
        if std::mem::replace(&mut self.state().is_requested, true) {
            return;
        }
        let versions = self.clone();
        drop(runtime::spawn(async move {
            let _right = match versions.needs_checkpoint() {
                true => versions.turn().await,
                false => None,
            };
            versions.publish().await.ok();
        }));
    }

    /// Waits behind those who wait already, unless one of them keeps the right for long.
    async fn turn(&self) -> Option<WriteRight> {
        let wait = LockWait::default();
        let mut right = pin!(self.right(&wait));
        loop {
            let taken = self.write_lock.taken();
            match time::timeout(PATIENCE, right.as_mut()).await {
                Ok(right) => return right.ok(),
                Err(_) if self.write_lock.taken() == taken => return None,
                Err(_) => {}
            }
        }
    }

    /// Publishes what cannot be logged. The caller has the right to write.
    ///
    /// # Errors
    /// As [`Versions::publish`].
    pub(crate) async fn publish_unless_logged(self: &Arc<Versions>) -> SqlResult<()> {
        if self.needs_checkpoint() { self.publish().await } else { Ok(()) }
    }

    /// Makes the newest version durable and visible, if it is not yet; in a task of its own, which goes to
    /// its end also when nobody waits for it any more.
    ///
    /// # Errors
    /// Those of storage; the store has given up then, since half of it is done in memory.
    pub(crate) async fn publish(self: &Arc<Versions>) -> SqlResult<()> {
        let versions = self.clone();
        let published = runtime::spawn(async move { versions.publish_here().await }).await;
        published.unwrap_or_else(|aborted| {
            let error = SqlError::internal(format!("a publication failed: {aborted}"));
            self.fail(&error);
            Err(error)
        })
    }

    /// Nothing becomes durable any more.
    fn fail(&self, error: &SqlError) {
        self.store.give_up(&format!("a statement could not be finished: {error}"));
        self.state().failure = Some(error.clone());
        self.published.wake_all();
    }

    async fn publish_here(self: &Arc<Versions>) -> SqlResult<()> {
        let _publishing = self.publish_lock.acquire().await;
        self.state().is_requested = false;
        // What was given up before has trees that fit no catalog.
        let done = match self.store.check_writable().map_err(fault::storage) {
            Ok(()) if self.needs_checkpoint() => self.publish_by_checkpoint().await,
            Ok(()) => self.publish_by_log().await,
            error => error,
        };
        match &done {
            Err(error) if self.is_behind() => self.fail(error),
            _ => self.published.wake_all(),
        }
        done
    }

    /// Whether there is something to be published.
    fn is_behind(&self) -> bool {
        let catalogs = self.catalogs.read().unwrap_or_else(PoisonError::into_inner);
        catalogs.newest.read_view.version() != catalogs.visible.read_view.version()
    }

    async fn publish_by_checkpoint(&self) -> SqlResult<()> {
        let _change = self.change_right().await;
        let mut snapshot = (*self.newest()).clone();
        let numbers = self.numbers_of(&snapshot);
        drop_trees(&self.store, &std::mem::take(&mut snapshot.abandoned)).await?;
        let mut redo = Redo::default();
        catalog::save(&self.store, &self.visible(), &snapshot, &numbers, &mut redo).await?;
        self.store.checkpoint().await.map_err(fault::storage)?;
        snapshot.note_saved(&numbers);
        let snapshot = Arc::new(snapshot);
        snapshot.read_view.show();
        *self.catalogs_mut() =
            Catalogs { visible: snapshot.clone(), newest: snapshot, pending: Pending::default() };
        Ok(())
    }

    async fn publish_by_log(self: &Arc<Versions>) -> SqlResult<()> {
        let Some((visible, snapshot, mut redo)) = self.take_pending() else { return Ok(()) };
        let numbers = self.numbers_of(&snapshot);
        catalog::save(&self.store, &visible, &snapshot, &numbers, &mut redo).await?;
        if !redo.is_empty() {
            self.store.log(redo).await.map_err(fault::storage)?;
        }
        snapshot.note_saved(&numbers);
        {
            let mut catalogs = self.catalogs_mut();
            catalogs.pending.logging_bytes = 0;
            // What came meanwhile without being pending has the same rows.
            let is_newest = catalogs.pending.versions == 0;
            catalogs.visible = if is_newest { catalogs.newest.clone() } else { snapshot };
            catalogs.visible.read_view.show();
        }
        self.tend();
        Ok(())
    }

    /// What is to be logged: what all see, the newest version, and what has been changed in place. Nothing
    /// when it needs a checkpoint since a moment ago, for which another publication is on its way.
    fn take_pending(&self) -> Option<(Arc<Snapshot>, Arc<Snapshot>, Redo)> {
        let mut catalogs = self.catalogs_mut();
        if catalogs.pending.versions == 0 || catalogs.pending.needs_checkpoint {
            return None;
        }
        let logging_bytes = catalogs.pending.frame_bytes();
        let pending = Pending { logging_bytes, ..Pending::default() };
        let taken = std::mem::replace(&mut catalogs.pending, pending);
        Some((catalogs.visible.clone(), catalogs.newest.clone(), taken.redo))
    }

    /// Numbers of sequences that are to be saved with a version. Asked for behind it: its own are noted
    /// before it is there.
    fn numbers_of(&self, version: &Snapshot) -> Numbers {
        let given = std::mem::take(&mut self.state().given);
        version.reserved(&given)
    }

    /// Has a checkpoint made when the log or what has changed in the pool is half of what it may be.
    fn tend(self: &Arc<Versions>) {
        let (used, capacity) = self.store.log_usage();
        let is_time = used > capacity / 2 || self.store.needs_checkpoint();
        if !is_time || std::mem::replace(&mut self.state().is_tended, true) {
            return;
        }
        let versions = self.clone();
        drop(runtime::spawn(async move {
            if let Ok(right) = versions.right(&LockWait::default()).await {
                versions.checkpoint(&right).await.ok();
            }
            versions.state().is_tended = false;
        }));
    }

    /// Makes everything durable by a checkpoint. The caller has the right to write.
    ///
    /// # Errors
    /// As [`Versions::publish`].
    pub(crate) async fn checkpoint(self: &Arc<Versions>, _right: &WriteRight) -> SqlResult<()> {
        self.publish().await?;
        let _publishing = self.publish_lock.acquire().await;
        self.store.checkpoint().await.map_err(fault::storage)
    }

    /// Gives the right to write on, and waits until what was changed under it is durable and visible; and
    /// what was seen, too.
    ///
    /// # Errors
    /// Why it does not become durable: it has not happened then.
    pub(crate) async fn settle(&self, right: WriteRight) -> SqlResult<()> {
        let version = self.newest().read_view.version();
        drop(right);
        let settled = || {
            if self.visible().read_view.version() >= version {
                return Some(Ok(()));
            }
            self.state().failure.clone().map(Err)
        };
        self.published.wait(settled).await
    }
}
