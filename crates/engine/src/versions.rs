//! The versions of the catalog: the one that all see, and the newest one, on which statements that write
//! work.
//!
//! A statement that writes makes the next version of the newest. All versions since the visible one
//! become durable and visible together, by a *publication*: one checkpoint that saves the catalog. Until
//! then nobody but those who write sees them; undo records keep that from readers ([`crate::undo`]).
//!
//! A publication waits for the right to write like a statement, so behind those that wait for it
//! already: their changes become durable by the same checkpoint (group commit). It does not wait for
//! one that keeps the right for long, which is one that still reads: what must not be under way is a
//! change, and that has a lock of its own. A transaction block changes trees in place before it ends; so
//! there is nothing to be published while one has the right, for it begins with a publication.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use runtime::sync::{Semaphore, SemaphorePermit, WaitQueue};
use runtime::time;
use sql::catalog::TableDef;
use storage::Store;
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
    /// Of the one who makes a change or publishes.
    change_lock: Semaphore,
    catalogs: RwLock<Catalogs>,
    state: Mutex<State>,
    published: WaitQueue,
}

struct Catalogs {
    visible: Arc<Snapshot>,
    newest: Arc<Snapshot>,
}

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
}

impl Versions {
    pub(crate) fn new(store: Store, catalog: Snapshot) -> Versions {
        let visible = Arc::new(catalog);
        Versions {
            store,
            write_lock: WriteLock::default(),
            change_lock: Semaphore::new(1),
            catalogs: RwLock::new(Catalogs { newest: visible.clone(), visible }),
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

    /// Puts the next version in place; it is published soon. The caller has the right to change.
    pub(crate) fn advance(self: &Arc<Versions>, next: Snapshot) {
        {
            let mut catalogs = self.catalogs.write().unwrap_or_else(PoisonError::into_inner);
            assert!(next.follows(&catalogs.newest), "versions are made one after another");
            catalogs.newest = Arc::new(next);
        }
        self.request();
    }

    /// Puts a version in place whose rows are those of the newest one.
    pub(crate) fn replace(&self, next: Snapshot) {
        let next = Arc::new(next);
        let mut catalogs = self.catalogs.write().unwrap_or_else(PoisonError::into_inner);
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
            let _right = versions.turn().await;
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

    /// Makes the newest version durable and visible, by one checkpoint, if it is not yet; in a task of its
    /// own, which goes to its end also when nobody waits for it any more.
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

    async fn publish_here(&self) -> SqlResult<()> {
        let _change = self.change_right().await;
        self.state().is_requested = false;
        if self.newest().read_view.version() == self.visible().read_view.version() {
            return Ok(());
        }
        let mut snapshot = (*self.newest()).clone();
        let given = std::mem::take(&mut self.state().given);
        let numbers = snapshot.reserved(&given);
        let saved = self.save(&mut snapshot, &numbers).await;
        if let Err(error) = &saved {
            self.fail(error);
            return saved;
        }
        snapshot.note_saved(&numbers);
        let snapshot = Arc::new(snapshot);
        snapshot.read_view.show();
        *self.catalogs.write().unwrap_or_else(PoisonError::into_inner) =
            Catalogs { visible: snapshot.clone(), newest: snapshot };
        self.published.wake_all();
        saved
    }

    async fn save(&self, snapshot: &mut Snapshot, numbers: &Numbers) -> SqlResult<()> {
        // What was given up before has trees that fit no catalog.
        self.store.check_writable().map_err(fault::storage)?;
        drop_trees(&self.store, &std::mem::take(&mut snapshot.abandoned)).await?;
        catalog::save(&self.store, &self.visible(), snapshot, numbers).await?;
        self.store.checkpoint().await.map_err(fault::storage)
    }

    /// Makes everything durable, also where no version says that something has changed. The caller has
    /// the right to write.
    ///
    /// # Errors
    /// As [`Versions::publish`].
    pub(crate) async fn checkpoint(self: &Arc<Versions>, _right: &WriteRight) -> SqlResult<()> {
        self.publish().await?;
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
