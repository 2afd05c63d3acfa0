//! Versions of the catalog, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use plan::catalog::TableDef;
use runtime::Aborted;
use runtime::sync::{Semaphore, SemaphorePermit, WaitQueue};
use storage::{Redo, Store, planted};
use txn::locks::table::{LockWait, Locks, WriteRight};
use txn::noted::{NOTED_BYTES_MAX, Notes};
use txn::undo::ReadView;
use txn::undo::stamp::Stamp;
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult};

use super::awaited::{Committing, IN_DOUBT, in_doubt};
use super::keepers::Keepers;
use super::lent::Lent;
use super::pending::{Catalogs, Marks, Pending};
use super::turns::Turns;
use crate::catalog::persist::Numbers;
use crate::catalog::sequence::SequenceKey;
use crate::catalog::snapshot::{Numbered, Snapshot};
use crate::device::Device;
use crate::numbers::Given;
use crate::{fault, isolation};

/// Steps of transactions that change trees at a time.
pub(crate) const CHANGES_MAX: usize = 1 << 10;

/// The versions of a database's catalog, and who may make the next one.
pub(crate) struct Versions {
    pub(crate) store: Store,
    pub(crate) locks: Locks,
    /// Of those who make a change, or of the one who makes a checkpoint.
    pub(crate) change_lock: Semaphore,
    pub(crate) publications: Turns,
    /// The turn of a checkpoint that a publication is to have.
    pub(crate) lent: Lent,
    catalogs: RwLock<Catalogs>,
    /// What transactions that have not ended have replaced.
    in_flight: Mutex<Vec<Arc<Notes>>>,
    state: Mutex<State>,
    pub(crate) published: WaitQueue,
    keepers: Arc<Keepers>,
    /// Sessions whose commits are not durable yet, for who watches.
    pub(crate) committing: Mutex<BTreeSet<u64>>,
    /// What probes find of it is saved with checkpoints.
    pub(crate) device: Arc<Device>,
}

/// A transaction that has been committed, by the number of its version.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Committed {
    /// It is visible when it is durable, and acknowledged then.
    Awaited(u64),
    /// It is visible, and durable soon.
    Seen(u64),
}

/// A transaction that is about to end.
pub(crate) struct Ending<'a> {
    pub(crate) stamp: &'a Stamp,
    pub(crate) notes: &'a Arc<Notes>,
    /// What it sees.
    pub(crate) view: &'a ReadView,
    /// It has also looked at what is newest.
    pub(crate) saw_newest: bool,
}

#[derive(Default)]
pub(crate) struct State {
    /// Why nothing becomes durable any more.
    failure: Option<SqlError>,
    /// Sequences whose numbers the next publication makes durable, and whether it counts more of them as
    /// given out.
    pub(crate) given: BTreeMap<SequenceKey, bool>,
    /// Numbers of them that the frame had no room for, of which they are: the next publication has them.
    pub(crate) unsaved: Numbers,
    /// Sessions that have ended and had temporary tables.
    ended: Vec<u64>,
    /// Somebody is about to make a checkpoint because there is much in the log.
    pub(crate) is_tended: bool,
}

impl Versions {
    pub(crate) fn new(store: Store, catalog: Snapshot, device: Arc<Device>) -> Versions {
        let visible = Arc::new(catalog);
        Versions {
            store,
            locks: Locks::default(),
            change_lock: Semaphore::new(CHANGES_MAX),
            publications: Turns::new(),
            lent: Lent::new(),
            catalogs: RwLock::new(Catalogs {
                durable: visible.clone(),
                newest: visible.clone(),
                visible,
                pending: Pending::default(),
                marks: Marks::default(),
            }),
            in_flight: Mutex::default(),
            state: Mutex::default(),
            published: WaitQueue::new(),
            keepers: Arc::default(),
            committing: Mutex::default(),
            device,
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The catalog as all see it.
    pub(crate) fn visible(&self) -> Arc<Snapshot> {
        self.catalogs.read().unwrap_or_else(PoisonError::into_inner).visible.clone()
    }

    /// The catalog as it is on the device.
    pub(crate) fn durable(&self) -> Arc<Snapshot> {
        self.catalogs.read().unwrap_or_else(PoisonError::into_inner).durable.clone()
    }

    /// The catalog with all that was committed, which is not durable yet. Definitions are changed in it, and
    /// transactions that write begin on it.
    pub(crate) fn newest(&self) -> Arc<Snapshot> {
        self.catalogs.read().unwrap_or_else(PoisonError::into_inner).newest.clone()
    }

    /// The right to write beside others, or alone.
    pub(crate) fn locks(&self) -> &Locks {
        &self.locks
    }

    /// The transactions that keep a version and may write.
    pub(crate) fn keepers(&self) -> &Arc<Keepers> {
        &self.keepers
    }

    /// The right to write alone, over what is durable.
    ///
    /// # Errors
    /// As [`Locks::exclude`], and those of [`Versions::settle_all`].
    pub(crate) async fn exclude(&self, wait: &LockWait) -> SqlResult<WriteRight> {
        let right = self.locks.exclude(wait).await?;
        self.settle_before(wait).await.map(|()| right)
    }

    /// Waits until all that was committed is durable, unless who waits is cancelled; nothing has been done yet.
    ///
    /// # Errors
    /// 57014, and as [`Versions::settle_all`].
    pub(crate) async fn settle_before(&self, wait: &LockWait) -> SqlResult<()> {
        unless_cancelled(&wait.cancel, self.settle_all(wait.session)).await?
    }

    /// The right to change trees that others see: no checkpoint is made meanwhile.
    pub(crate) async fn change_right(&self) -> SemaphorePermit {
        self.change_lock.acquire().await
    }

    pub(crate) fn in_flight(&self) -> MutexGuard<'_, Vec<Arc<Notes>>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction begins to change rows, and notes what it replaces.
    pub(crate) fn begin(&self, notes: &Arc<Notes>) {
        self.in_flight().push(notes.clone());
    }

    pub(crate) fn forget(&self, notes: &Arc<Notes>) {
        self.in_flight().retain(|other| !Arc::ptr_eq(other, notes));
    }

    /// Puts the version in place in which a transaction has ended that has changed rows beside others; it
    /// is published soon. If it need not wait for that, all see it. The caller has the right to change.
    ///
    /// # Errors
    /// 40001 when it is serializable and has no place among the others.
    pub(crate) fn commit(
        self: &Arc<Versions>,
        ending: &Ending<'_>,
        redo: &Redo,
        right: WriteRight,
        waits: bool,
    ) -> SqlResult<Committed> {
        let committed = {
            let mut catalogs = self.catalogs_mut();
            let read_view = catalogs.newest.read_view.next();
            let ended = match planted::is("ends-with-newest") {
                true => &catalogs.newest.read_view,
                false => &read_view,
            };
            if !ended.commit(ending.stamp, ending.view, ending.saw_newest) {
                return Err(isolation::dependencies());
            }
            self.forget(ending.notes);
            if redo.is_empty() && self.state().given.is_empty() {
                catalogs.replace(read_view);
                return Ok(Committed::Awaited(0));
            }
            let next = catalogs.newest.with_view(read_view);
            let version = catalogs.advance(next, redo, self.store.log_room());
            let has_failed = self.state().failure.is_some();
            let waits = waits && !planted::is("acknowledged-before-flush");
            if waits || has_failed || !catalogs.may_be_seen() {
                catalogs.pending.rights.push(right);
                Committed::Awaited(version)
            } else {
                catalogs.show_newest();
                Committed::Seen(version)
            }
        };
        self.request();
        Ok(committed)
    }

    /// A version in which nothing has changed but the numbers that sequences have given out. Who need not wait
    /// for it does so all the same where commits do.
    pub(crate) fn save_given(self: &Arc<Versions>, right: WriteRight, waits: bool) -> Committed {
        let committed = {
            let mut catalogs = self.catalogs_mut();
            let next = catalogs.newest.with_view(catalogs.newest.read_view.next());
            catalogs.pending.rights.push(right);
            let version = catalogs.advance(next, &Redo::default(), self.store.log_room());
            let has_failed = self.state().failure.is_some();
            match waits || has_failed || !catalogs.may_be_seen() {
                true => Committed::Awaited(version),
                false => Committed::Seen(version),
            }
        };
        self.request();
        committed
    }

    /// Whether transactions may note so many bytes more.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.noted_bytes() + bytes <= NOTED_BYTES_MAX
    }

    /// Bytes that transactions have noted, which the log of the next checkpoint begins with.
    pub(crate) fn noted_bytes(&self) -> usize {
        self.in_flight().iter().map(|notes| notes.bytes()).sum()
    }

    /// Puts the version in place with which a transaction has ended that was undone. The caller has the
    /// right to change.
    pub(crate) fn undone(&self, stamp: &Stamp, notes: &Arc<Notes>) {
        let mut catalogs = self.catalogs_mut();
        let read_view = catalogs.newest.read_view.next();
        read_view.undo(stamp);
        self.forget(notes);
        catalogs.replace(read_view);
    }

    pub(crate) fn catalogs_mut(&self) -> RwLockWriteGuard<'_, Catalogs> {
        self.catalogs.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn needs_checkpoint(&self) -> bool {
        self.catalogs.read().unwrap_or_else(PoisonError::into_inner).pending.needs_checkpoint
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

    /// Lets the temporary tables of a session go with the next change of definitions.
    pub(crate) fn note_ended(&self, session: u64) {
        self.state().ended.push(session);
    }

    /// Sessions that have ended and had temporary tables, if nothing of them is to be undone any more.
    pub(crate) fn ended(&self) -> Vec<u64> {
        let mut ended = self.state().ended.clone();
        ended.retain(|session| !self.locks.has_right(*session));
        ended
    }

    /// The temporary tables of these sessions are gone.
    pub(crate) fn forget_ended(&self, gone: &[u64]) {
        self.state().ended.retain(|session| !gone.contains(session));
    }

    /// Begins a publication, unless one is about to begin.
    pub(crate) fn request(self: &Arc<Versions>) {
        if !self.publications.request() {
            return;
        }
        let versions = self.clone();
        drop(runtime::spawn(async move {
            let published = runtime::unless_panicked(versions.publish_here(false)).await;
            versions.unless_aborted(published).ok();
        }));
    }

    /// Makes everything durable by a checkpoint, in a task of its own, which goes to its end also
    /// when nobody waits for it any more. The caller has the right to write.
    ///
    /// # Errors
    /// Those of storage; the store has given up then, since half of it is done in memory.
    pub(crate) async fn checkpoint(self: &Arc<Versions>, _right: &WriteRight) -> SqlResult<()> {
        let versions = self.clone();
        let published = runtime::spawn(async move { versions.publish_here(true).await });
        self.unless_aborted(published.await)
    }

    fn unless_aborted(&self, published: Result<SqlResult<()>, Aborted>) -> SqlResult<()> {
        published.unwrap_or_else(|aborted| {
            let error = SqlError::internal(format!("a publication failed: {aborted}"));
            self.fail(&error);
            Err(error)
        })
    }

    /// Nothing becomes durable any more.
    pub(crate) fn fail(&self, error: &SqlError) {
        self.store.give_up(&format!("a statement could not be finished: {error}"));
        self.state().failure = Some(error.clone());
        // Those who wait to write learn that there is nothing to wait for.
        let rights = std::mem::take(&mut self.catalogs_mut().pending.rights);
        drop(rights);
        self.published.wake_all();
    }

    /// Whether there is something to be published.
    pub(crate) fn is_behind(&self) -> bool {
        let catalogs = self.catalogs.read().unwrap_or_else(PoisonError::into_inner);
        catalogs.newest.read_view.version() != catalogs.durable.read_view.version()
    }

    /// Waits until a version is durable and visible; a session's.
    ///
    /// # Errors
    /// Why it does not become durable; 08007 when it may have become so.
    pub(crate) async fn settle(&self, version: u64, session: Option<u64>) -> SqlResult<()> {
        if planted::is("acknowledged-before-visible") {
            return Ok(());
        }
        if let Some(outcome) = self.outcome(version) {
            return outcome;
        }
        let _committing = session.map(|session| Committing::new(self, session));
        self.published.wait(|| self.outcome(version)).await
    }

    /// Whether a version is durable, or what its transaction is told when it does not become so; `None` while it
    /// is on its way.
    fn outcome(&self, version: u64) -> Option<SqlResult<()>> {
        Some(self.fate(version)?.map_err(|failure| {
            // Others that did not wait may have made it visible: then it is so until the database is opened again.
            match self.visible().read_view.version() >= version {
                true if failure.state != IN_DOUBT => in_doubt(&failure.message),
                _ => failure,
            }
        }))
    }

    /// Whether a version is durable, or why nothing becomes so any more; `None` while it is on its way.
    pub(crate) fn fate(&self, version: u64) -> Option<SqlResult<()>> {
        if self.durable().read_view.version() >= version {
            return Some(Ok(()));
        }
        self.state().failure.clone().map(Err)
    }

    /// Waits until all that was committed is durable.
    ///
    /// # Errors
    /// When nothing becomes durable any more.
    pub(crate) async fn settle_all(&self, session: Option<u64>) -> SqlResult<()> {
        let version = self.newest().read_view.version();
        match self.settle(version, session).await {
            Ok(()) => Ok(()),
            // What the failure says is about what others have done.
            Err(_) => self.store.check_writable().map_err(fault::storage),
        }
    }

    /// The sessions whose commits are not durable yet.
    pub(crate) fn committing(&self) -> BTreeSet<u64> {
        self.committing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests;
