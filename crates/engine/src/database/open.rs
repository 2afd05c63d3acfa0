//! How a database is opened: the runtime, the store, the catalog.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use exec::Governor;
use runtime::{RingChoice, Runtime};
use storage::Store;
use types::{SqlError, SqlResult, SqlState};

use super::{Database, Inner};
use crate::activity::Activities;
use crate::beside::Beside;
use crate::catalog::snapshot::Snapshot;
use crate::memory::Shares;
use crate::objects::stores::Stores;
use crate::options::{Options, RingKind, Simulation};
use crate::parts::merge::Merges;
use crate::plans::Plans;
use crate::settings::configuration::Configuration;
use crate::succession::Standing;
use crate::texts::Texts;
use crate::versions::chain::Versions;
use crate::{catalog, door, fault, recovery, replication};

/// A store with the catalog that is in it.
pub(crate) type Opened = (Store, Snapshot);

impl Database {
    pub(super) fn start(path: &Path, options: Options, create: bool) -> SqlResult<Database> {
        let shares = Shares::of(&options)?;
        let runtime = started(&options)?;
        let store_options = options.of_store(shares.pool)?;
        let (page_size, is_wanted) = (store_options.page_size, options.page_bytes.is_some());
        let (is_unchanged, stores) = (store_options.unchanged, stores_of(&options.configuration));
        let (file, watch) = (path.to_owned(), options.recovery_watch.clone());
        let opened = door::wait(&runtime.handle(), || {
            Box::pin(async {
                let store = match create {
                    true => Store::create(&file, store_options).await,
                    false => {
                        if !is_unchanged {
                            replication::check_own(&file).await?;
                        }
                        let progress = Arc::default();
                        let opening = Store::open_watched(&file, store_options, &progress);
                        let step = || progress.step();
                        recovery::watched(opening, step, watch.as_ref(), recovery::EVERY).await
                    }
                };
                let store = store.map_err(|error| fault::of_file(error, &file))?;
                if is_wanted {
                    has_pages_of(&store, page_size)?;
                }
                let scratch = recovery::scratch_of(&file, &store, is_unchanged).await;
                let mut snapshot = catalog::persist::load(&store).await?;
                snapshot.stores = stores;
                SqlResult::Ok((scratch, (store, snapshot)))
            })
        });
        let (scratch, opened) = opened?;
        let paths = (path, scratch);
        let inner = Inner::first(paths, &options, shares, opened, runtime, None);
        Ok(Database::of(Arc::new(inner)))
    }

    /// As all see it.
    pub(super) fn of(inner: Arc<Inner>) -> Database {
        Database { inner, block: None, seer: None, pinned: None, _keeper: None }
    }
}

impl Inner {
    /// The state in which a database is opened.
    pub(super) fn first(
        (path, scratch): (&Path, PathBuf),
        options: &Options,
        shares: Shares,
        (store, snapshot): Opened,
        runtime: Arc<Runtime>,
        standing: Option<Standing<Inner>>,
    ) -> Inner {
        let mut configuration = Configuration::clone(&options.configuration);
        configuration.know("block_size", store.page_size() as i64);
        let device = Arc::new(options.device_of(path).found(&store, &snapshot.profiles));
        configuration.device = Some(device.clone());
        let versions = Arc::new(Versions::new(store.clone(), snapshot, device.clone()));
        let activities = Arc::<Activities>::default();
        let told = activities.merges.clone();
        let merges = Merges::new(store.clone(), versions.clone(), shares.sort(), told);
        Inner {
            path: path.to_owned(),
            scratch,
            store,
            system: options.system.clone(),
            shares,
            governor: Governor::new(shares.operators),
            session_memory: Governor::new(shares.sessions()),
            versions,
            merges: Arc::new(merges),
            device,
            beside: Arc::new(Beside::new(runtime.stats().len())),
            plans: Arc::new(Plans::new(shares.total)),
            texts: Arc::new(Texts::new(shares.total)),
            configuration: Arc::new(RwLock::new(Arc::new(configuration))),
            configuration_count: Arc::default(),
            spills: Arc::new(AtomicU64::new(0)),
            job: Mutex::default(),
            activities,
            watched: Mutex::default(),
            standing,
            runtime,
        }
    }

    /// The same database in a later state. What sessions know of definitions is checked against the
    /// catalog before each use, so they share it.
    pub(super) fn next(&self, (store, mut snapshot): Opened, standing: Standing<Inner>) -> Inner {
        snapshot.stores = self.versions.visible().stores.clone();
        let device = self.device.clone();
        let versions = Arc::new(Versions::new(store.clone(), snapshot, device.clone()));
        let told = self.activities.merges.clone();
        let merges = Merges::new(store.clone(), versions.clone(), self.shares.sort(), told);
        Inner {
            path: self.path.clone(),
            scratch: self.scratch.clone(),
            store,
            system: self.system.clone(),
            shares: self.shares,
            governor: self.governor.clone(),
            session_memory: self.session_memory.clone(),
            versions,
            merges: Arc::new(merges),
            device,
            beside: self.beside.clone(),
            plans: self.plans.clone(),
            texts: self.texts.clone(),
            configuration: self.configuration.clone(),
            configuration_count: self.configuration_count.clone(),
            spills: self.spills.clone(),
            job: Mutex::default(),
            activities: self.activities.clone(),
            watched: Mutex::default(),
            standing: Some(standing),
            runtime: self.runtime.clone(),
        }
    }
}

/// The runtime of a database that is opened with these options.
///
/// # Errors
/// 58030
pub(crate) fn started(options: &Options) -> SqlResult<Arc<Runtime>> {
    let runtime = Runtime::start(runtime_config(options));
    let runtime = runtime.map_err(|error| SqlError::new(SqlState::IO_ERROR, error.to_string()))?;
    Ok(Arc::new(runtime))
}

/// Without work for so long the kernel thread of SQPOLL gives its core back.
const SQPOLL_IDLE: Duration = Duration::from_millis(50);

/// The runtime of a database that is opened with these options.
fn runtime_config(options: &Options) -> runtime::Config {
    if let Some(Simulation { disk, seed }) = &options.simulation {
        return runtime::Config {
            workers: options.workers,
            ring: RingChoice::Sim(disk.clone()),
            seed: *seed,
            attack: seed.is_multiple_of(2),
            pin: false,
            ..runtime::Config::default()
        };
    }
    let ring = match options.ring {
        RingKind::Auto => RingChoice::Auto,
        RingKind::Uring => RingChoice::Uring,
        RingKind::Threads => RingChoice::Threads,
    };
    let sqpoll = options.sqpoll.then_some(runtime::Sqpoll { idle: SQPOLL_IDLE, cpu: None });
    let (workers, iopoll) = (options.workers, options.iopoll);
    runtime::Config { workers, ring, sqpoll, iopoll, ..runtime::Config::default() }
}

/// Refuses a file whose pages are not those that were asked for.
fn has_pages_of(store: &Store, wanted: u32) -> SqlResult<()> {
    let found = store.page_size();
    if found == wanted as usize {
        return Ok(());
    }
    let message = format!("the database has pages of {}kB, not {}kB", found >> 10, wanted >> 10);
    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(
        "The size of pages is chosen when a database is created; leave it out to open this one.",
    ))
}

/// The connections to object stores that a configuration allows.
pub(crate) fn stores_of(configuration: &Configuration) -> Stores {
    let snapshots = configuration.count("object_store_snapshots");
    Stores::new(configuration.list("object_store_hosts"), snapshots)
}
