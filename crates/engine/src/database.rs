//! A database: one file, one buffer pool, one runtime, any number of sessions.

pub(crate) mod numbers;
pub(crate) mod open;
pub(crate) mod seen;
pub(crate) mod states;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use exec::{Governor, LocalFuture};
use plan::catalog::{TableDef, TableId};
use runtime::{Handle, RingReport, Runtime};
use storage::{ArchiveStatus, LogPosition, PoolStats, SegmentPlace, Store, planted};
use txn::locks::table::{LockWait, WriteRight};
use types::{SqlResult, SqlState};

use crate::activity::Activities;
use crate::beside::Beside;
use crate::block::Block;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::temporary::Seer;
use crate::device::Device;
use crate::memory::Shares;
use crate::options::Options;
use crate::parts::bounds::Bounds;
use crate::parts::merge::Merges;
use crate::parts::status::MergeStatus;
use crate::plans::Plans;
use crate::settings::configuration::Configuration;
use crate::succession::Standing;
use crate::system::schemas::SystemSchemas;
use crate::texts::Texts;
use crate::versions::chain::Versions;
use crate::versions::keepers::Keeper;
use crate::{door, fault, settings};

/// An open database. Cheap to clone; the last clone closes the file. What was committed with
/// `synchronous_commit = off` a moment before needs [`Database::close`] or [`Database::settle_within`] to be there again.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
    /// The open block that writes, for the session that has it.
    block: Option<Arc<Block>>,
    /// The session that sees it so, with its temporary tables.
    seer: Option<Arc<Seer>>,
    /// The version that its transaction keeps.
    pinned: Option<Arc<Snapshot>>,
    /// While it may write.
    _keeper: Option<Arc<Keeper>>,
}

pub(crate) struct Inner {
    path: PathBuf,
    /// Temporary files lie beside it.
    scratch: PathBuf,
    store: Store,
    system: Arc<dyn SystemSchemas>,
    shares: Shares,
    /// What the operators of all queries hold.
    governor: Governor,
    /// Memory for what sessions keep, and for messages on their way.
    session_memory: Governor,
    versions: Arc<Versions>,
    device: Arc<Device>,
    configuration: Arc<RwLock<Arc<Configuration>>>,
    /// Counts the configurations: sessions look at it before each statement.
    configuration_count: Arc<AtomicU64>,
    /// Work on threads of its own.
    beside: Arc<Beside>,
    /// Generic plans of statements that run again.
    plans: Arc<Plans>,
    /// Statements by their texts.
    texts: Arc<Texts>,
    /// Numbers the temporary files of queries.
    spills: Arc<AtomicU64>,
    job: Mutex<Arc<Job>>,
    activities: Arc<Activities>,
    /// Merges column tables in the background.
    merges: Arc<Merges>,
    /// The query that runs now, or ran last.
    watched: Mutex<Option<Arc<exec::Progress>>>,
    /// Of one that follows another database.
    standing: Option<Standing<Inner>>,
    /// Last: the store's tasks end before the workers do.
    runtime: Arc<Runtime>,
}

/// A long piece of work, for progress bars.
#[derive(Debug, Default)]
pub struct Job {
    /// What it is doing.
    pub phase: String,
    /// Steps done.
    pub done: AtomicU64,
    /// Steps in all.
    pub total: u64,
}

impl Database {
    /// Creates a database file, which must not exist.
    pub fn create(path: &Path, options: Options) -> SqlResult<Database> {
        Database::start(path, options, true)
    }

    /// Opens a database file; recovers it if the last process died.
    pub fn open(path: &Path, options: Options) -> SqlResult<Database> {
        Database::start(path, options, false)
    }

    /// What sessions begin with, and what they can ask about the server.
    pub fn configuration(&self) -> Arc<Configuration> {
        self.inner.configuration.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes another configuration, except for what only a restart can change; what differs.
    /// Sessions follow it from their next statement on.
    pub fn reconfigure(&self, new: &Configuration) -> Vec<settings::configuration::Change> {
        let mut current = self.inner.configuration.write().unwrap_or_else(PoisonError::into_inner);
        let (next, changes) = current.reloaded(new);
        *current = Arc::new(next);
        self.inner.configuration_count.fetch_add(1, Ordering::Release);
        changes
    }

    /// A function that gives the configuration as it is when it is called.
    pub(crate) fn configuration_now(&self) -> impl Fn() -> Arc<Configuration> + Send + use<> {
        let configuration = self.inner.configuration.clone();
        move || configuration.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often the configuration has changed.
    pub(crate) fn configuration_count(&self) -> u64 {
        self.inner.configuration_count.load(Ordering::Acquire)
    }

    /// The system's relations and functions.
    pub(crate) fn system(&self) -> &Arc<dyn SystemSchemas> {
        &self.inner.system
    }

    /// What the sessions are doing.
    pub fn activities(&self) -> &Arc<Activities> {
        &self.inner.activities
    }

    /// All tables, ordered by name.
    pub fn tables(&self) -> Vec<Arc<TableDef>> {
        sql::catalog::Catalog::tables(&*self.snapshot())
    }

    /// Which ring each worker runs on, and why.
    pub fn rings(&self) -> &[RingReport] {
        self.inner.runtime.rings()
    }

    /// The back end that serves the database file.
    pub fn file_backend(&self) -> String {
        let backend = self.inner.store.backend();
        let direct = if backend.direct { "direct" } else { "buffered" };
        format!("{:?}, {direct} I/O ({})", backend.kind, backend.reason).to_lowercase()
    }

    /// Memory for what sessions keep, and for messages on their way.
    pub(crate) fn session_memory(&self) -> &Governor {
        &self.inner.session_memory
    }

    /// The memory that the operators of all queries share.
    pub fn governor(&self) -> &Governor {
        &self.inner.governor
    }

    /// Bounds what is planned and computed on threads of their own.
    pub(crate) fn beside(&self) -> &Beside {
        &self.inner.beside
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.inner.texts
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.inner.plans
    }

    pub(crate) fn shares(&self) -> &Shares {
        &self.inner.shares
    }

    /// Number of workers.
    pub fn worker_count(&self) -> usize {
        self.inner.runtime.workers()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.inner.store.page_size()
    }

    /// Figures of the buffer pool.
    pub fn pool(&self) -> PoolStats {
        self.inner.store.pool()
    }

    /// Pages of the file.
    pub fn page_count(&self) -> u64 {
        self.inner.store.page_counts().0.into()
    }

    /// Bytes of the log since the last checkpoint, and those that it may have.
    pub fn log_usage(&self) -> (usize, usize) {
        self.inner.store.log_usage()
    }

    /// How far the archive has come, if there is one.
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        self.inner.store.archive_status()
    }

    /// The folder of the archive, if there is one.
    pub fn archive_folder(&self) -> Option<PathBuf> {
        self.inner.store.archive_folder()
    }

    /// The line of the archive to which what is committed now belongs; 0: to none.
    pub fn archive_line(&self) -> u64 {
        self.inner.store.archive_line()
    }

    /// The end of what is synced of the archive; none while nothing is archived.
    pub fn archived_to(&self) -> Option<SegmentPlace> {
        self.inner.store.archived_to()
    }

    /// How far the database is: what is durable.
    pub fn log_position(&self) -> LogPosition {
        self.inner.store.log_position()
    }

    /// The number of the last checkpoint: it rises by one with each.
    pub fn checkpoint_number(&self) -> u64 {
        self.inner.store.checkpoint_number()
    }

    /// The share of the file's pages that lie in the buffer pool, 0 to 1.
    pub fn cached_share(&self) -> f64 {
        let store = self.store();
        let (all, free) = store.page_counts();
        // The log is never read.
        let log = (store.log_usage().1 / store.page_size()) as u64;
        let used = u64::from(all).saturating_sub(free + log).max(1);
        (store.cached_pages() as f64 / used as f64).min(1.0)
    }

    /// Evicts all pages, for cold runs; from an ordinary thread.
    pub fn drop_cache(&self) -> SqlResult<()> {
        door::wait(&self.handle(), || self.empty_cache());
        Ok(())
    }

    /// Evicts all pages; call it in a task of the database's runtime.
    pub fn empty_cache(&self) -> LocalFuture<'_, ()> {
        Box::pin(async move {
            self.store().drop_cache().await;
        })
    }

    /// Reads these bytes of the file into the buffer pool, for runs in a known state; from an ordinary thread.
    pub fn warm(&self, places: &[std::ops::Range<u64>]) {
        door::wait(&self.handle(), || Box::pin(self.store().warm(places)));
    }

    /// Whether searches overlap what they wait for: those of a batch of keys, of look-up joins and the like, and
    /// those of the clients of a worker. They do from the start. Benchmarks turn it off to compare.
    pub fn set_interleaved(&self, on: bool) {
        self.store().set_interleaved(on);
    }

    /// The name of the database: that of its file.
    pub fn name(&self) -> String {
        let stem = self.path().file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// Makes everything durable; from an ordinary thread.
    pub fn checkpoint(&self) -> SqlResult<()> {
        let wait = LockWait::default();
        door::wait(&self.handle(), || Box::pin(self.make_durable(&wait)))
    }

    /// Makes everything durable, and lets all pages be in their places.
    pub(crate) async fn make_durable(&self, wait: &LockWait) -> SqlResult<()> {
        self.inner.versions.checkpoint_beside(wait).await?;
        self.store().settled().await.map_err(fault::storage)
    }

    /// Walks every tree and the free space; the report, or what is damaged. From an ordinary thread.
    pub fn verify(&self) -> SqlResult<storage::VerifyReport> {
        let verified = door::wait(&self.handle(), || Box::pin(self.store().verify()));
        verified.map_err(fault::storage)
    }

    /// The long piece of work that runs now, or ran last.
    pub fn job(&self) -> Arc<Job> {
        lock(&self.inner.job).clone()
    }

    /// Closes the file: everything is durable, the lock is released. It waits for those who write: end
    /// transaction blocks that have written, or drop their sessions, before.
    pub fn close(self) -> SqlResult<()> {
        door::wait(&self.handle(), || {
            Box::pin(async {
                self.stop_merges().await;
                let settled = self.settle_all().await;
                self.store().clone().close().await;
                match settled {
                    // What was committed is in the log: the next start goes on from there.
                    Err(error) if error.state == SqlState::DISK_FULL && self.is_durable() => Ok(()),
                    settled => settled,
                }
            })
        })
    }

    /// Whether all that was committed is on the device.
    pub fn is_durable(&self) -> bool {
        !self.inner.versions.is_behind()
    }

    /// Waits until all that was committed is on the device, at most so long; whether that is so. From an
    /// ordinary thread.
    pub fn settle_within(&self, limit: Duration) -> bool {
        door::wait(&self.handle(), || {
            Box::pin(async {
                runtime::time::timeout(limit, self.inner.versions.settle_all(None)).await.ok();
            })
        });
        self.is_durable()
    }

    async fn settle_all(&self) -> SqlResult<()> {
        self.release_numbers().await?;
        let right = self.inner.versions.exclude(&LockWait::default()).await?;
        self.inner.versions.checkpoint(&right).await
    }

    /// What the merging of column tables in the background has done, and does.
    pub fn merge_status(&self) -> MergeStatus {
        self.inner.merges.status()
    }

    /// Ends the merge that goes on, and has no other one.
    pub(crate) async fn stop_merges(&self) {
        self.inner.merges.stop().await;
    }

    /// Has those of some column tables merged in the background for which it is time.
    pub(crate) fn look_at_columns(&self, tables: &BTreeSet<TableId>) {
        if !tables.is_empty() {
            let bounds = Bounds::of(&self.configuration(), self.page_bytes());
            self.inner.merges.look(bounds, tables);
        }
    }

    /// Live figures of the query that runs now, or ran last.
    pub fn query_progress(&self) -> Option<Arc<exec::Progress>> {
        lock(&self.inner.watched).clone()
    }

    pub(crate) fn watch(&self, progress: &Arc<exec::Progress>) {
        *lock(&self.inner.watched) = Some(progress.clone());
    }

    pub(crate) fn start_job(&self, phase: &str, total: u64) -> Arc<Job> {
        let job = Arc::new(Job { phase: phase.to_owned(), done: AtomicU64::new(0), total });
        *lock(&self.inner.job) = job.clone();
        job
    }

    /// The runtime, for programs that bring I/O of their own.
    pub fn runtime_handle(&self) -> Handle {
        self.inner.runtime.handle()
    }

    pub(crate) fn handle(&self) -> Handle {
        self.runtime_handle()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The catalog for who reads: what all see, or what its own block has done.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        match &self.block {
            Some(block) => block.snapshot(),
            None => self.seen(self.pinned.clone().unwrap_or_else(|| self.inner.versions.visible())),
        }
    }

    /// The same database for a transaction that keeps the version which is visible now, and may note what
    /// it reads of it. One that may write is a `keeper` from before it looks for the version.
    pub(crate) fn pinned(&self, notes_reads: bool, keeper: Option<Arc<Keeper>>) -> Database {
        let visible = match planted::is("stale-snapshot") {
            true => self.inner.versions.durable(),
            false => self.inner.versions.visible(),
        };
        let pinned = Some(visible.with_view(visible.read_view.pinned(notes_reads)));
        Database { pinned, _keeper: keeper, ..self.clone() }
    }

    /// The same database for the next transaction.
    pub(crate) fn unpinned(&self) -> Database {
        Database { pinned: None, _keeper: None, ..self.clone() }
    }

    /// The version that the transaction keeps.
    pub(crate) fn kept(&self) -> Option<&Arc<Snapshot>> {
        self.pinned.as_ref()
    }

    /// The catalog with all that is committed, though some of it may not be durable yet.
    pub(crate) fn newest(&self) -> Arc<Snapshot> {
        match &self.block {
            Some(block) => block.snapshot(),
            None => self.seen(self.inner.versions.newest()),
        }
    }

    fn seen(&self, all: Arc<Snapshot>) -> Arc<Snapshot> {
        all.for_session(self.seer())
    }

    /// The right to write alone, held for a whole statement; `None` in a block, which has it itself.
    ///
    /// # Errors
    /// 55P03 or 57014 when the statement waits for it no longer; 40001, 40P01 as [`Block::exclude`]; those of
    /// storage as [`Versions::exclude`].
    pub(crate) async fn writer(&self, wait: &LockWait) -> SqlResult<Option<WriteRight>> {
        match &self.block {
            Some(block) => block.exclude(wait).await.map(|()| None),
            None => self.inner.versions.exclude(wait).await.map(Some),
        }
    }

    /// Waits until what was changed is durable and gives the right to write on; nothing in a block, whose
    /// end does that.
    ///
    /// # Errors
    /// As [`Versions::settle`].
    pub(crate) async fn settle(&self, right: Option<WriteRight>) -> SqlResult<()> {
        if right.is_none() {
            return Ok(());
        }
        let version = self.inner.versions.newest().read_view.version();
        drop(right);
        self.inner.versions.settle(version, self.session_id()).await
    }

    /// The open block that writes.
    pub(crate) fn block(&self) -> Option<&Arc<Block>> {
        self.block.as_ref()
    }

    /// What is known of the device.
    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.inner.device
    }

    /// The versions of the catalog.
    pub(crate) fn versions(&self) -> &Arc<Versions> {
        &self.inner.versions
    }

    /// The same database as a block sees it.
    pub(crate) fn within(&self, block: Block) -> Database {
        let block = Some(Arc::new(block));
        Database { block, ..self.clone() }
    }

    /// Lets the temporary tables of a session go with the next change of anyone.
    pub(crate) fn forget_session(&self, session: u64) {
        if self.inner.versions.newest().has_apart(session) {
            self.inner.versions.note_ended(session);
        }
    }

    /// Where a sort may spill: each has files of its own, for one that was given up may still be there.
    pub(crate) fn sort_path(&self) -> PathBuf {
        let number = self.inner.spills.fetch_add(1, Ordering::Relaxed);
        self.inner.scratch.with_added_extension(format!("sort-{number}"))
    }

    /// Where a query may spill.
    pub(crate) fn spill_path(&self) -> PathBuf {
        let number = self.inner.spills.fetch_add(1, Ordering::Relaxed);
        self.inner.scratch.with_added_extension(format!("spill-{number}"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
