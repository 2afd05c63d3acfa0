//! How a database is opened.

#[cfg(test)]
mod few;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use runtime::fs::Durability;
use runtime::sim::Disk;
use storage::{ArchiveOptions, PAGE_SIZE_MAX, PAGE_SIZE_MIN, StoreOptions, VolumeOptions};
use types::{SqlError, SqlResult, SqlState};

use crate::device::DeviceChoice;
use crate::device::probing::{DEVICE_PROFILE, Opening, asks_to_probe};
use crate::recovery::RecoveryWatch;
use crate::settings::configuration::Configuration;
use crate::system::schemas::SystemSchemas;

/// Page size of new databases, unless they want another: the best of SSDs for random reads
/// (DESIGN, section 4).
const PAGE_BYTES: u32 = 4096;

/// Options of [`crate::database::Database::create`] and [`crate::database::Database::open`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory of the database, in bytes: pool, operators, tasks and the program itself.
    pub memory_bytes: usize,
    /// Memory of the buffer pool alone; `None` is half of `memory_bytes`.
    pub pool_bytes: Option<usize>,
    /// Bytes of a page: 4096, 8192, 16384 or 32768. It is chosen when a database is created, 4096
    /// when nothing is said; a database of other pages is not opened.
    pub page_bytes: Option<u32>,
    /// Which ring does the I/O.
    pub ring: RingKind,
    /// A kernel thread submits what io_uring is asked for (SQPOLL). While it is awake it takes a
    /// core.
    pub sqpoll: bool,
    /// The device of the database file is polled for what it has done (IOPOLL); opening it is refused
    /// where that cannot be had.
    pub iopoll: bool,
    /// Worker threads; by default one per core.
    pub workers: usize,
    /// Bypass the operating system's page cache.
    pub direct: bool,
    /// How the log becomes durable: what a commit waits for. `None` is `RWF_DSYNC` where the file is direct and on
    /// a file system that is known to heed it, else a sync.
    pub log_durability: Option<Durability>,
    /// What sessions begin with, and what they can ask about the server.
    pub configuration: Arc<Configuration>,
    /// Where what becomes of the database is archived, so that a backup leads to any later moment.
    pub archive: Option<ArchiveOptions>,
    /// Which files or devices the database lies on besides the one that it is opened by.
    pub volume: VolumeOptions,
    /// The database file is only read, and stays as it is: what is written, recovery included, is
    /// gone with the process.
    pub unchanged: bool,
    /// Who is told how far recovery has come, if it takes long.
    pub recovery_watch: Option<RecoveryWatch>,
    /// Where the planner's profile of the device comes from.
    pub device: DeviceChoice,
    /// The system's relations and functions.
    pub system: Arc<dyn SystemSchemas>,
    /// Runs in a simulated machine; `ring` says nothing then.
    pub simulation: Option<Simulation>,
}

/// A simulated machine: its disk, and the seed of its schedule. The clock is simulated too.
#[derive(Clone)]
pub struct Simulation {
    /// The disk.
    pub disk: Disk,
    /// What decides all that is chance.
    pub seed: u64,
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulation({})", self.seed)
    }
}

/// The I/O back end that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// `uring` where the kernel allows it, else `threads`; the choice is reported.
    Auto,
    /// io_uring, or an error.
    Uring,
    /// A pool of threads that read and write.
    Threads,
}

/// The default memory: small enough for a laptop, its pool large enough for the inner nodes of 100 GB.
const MEMORY_BYTES: usize = 1 << 30;

impl Options {
    /// Those of the store, whose pool has so many bytes.
    ///
    /// # Errors
    /// 22023 for pages of a size that there is not.
    pub(crate) fn of_store(&self, pool_bytes: usize) -> SqlResult<StoreOptions> {
        Ok(StoreOptions {
            page_size: page_size(self)?,
            pool_bytes,
            direct: self.direct,
            log: true,
            log_durability: self.log_durability,
            archive: self.archive.clone(),
            volume: self.volume.clone(),
            unchanged: self.unchanged,
            reserve: true,
            ..StoreOptions::default()
        })
    }

    /// The defaults, for a database with these system relations and functions. Those of PostgreSQL are in the crate
    /// `pg`, and so are options with them: `pg::options()`.
    pub fn new(system: Arc<dyn SystemSchemas>) -> Options {
        Options {
            memory_bytes: MEMORY_BYTES,
            pool_bytes: None,
            page_bytes: None,
            ring: RingKind::Auto,
            sqpoll: false,
            iopoll: false,
            workers: runtime::Config::default().workers,
            direct: true,
            log_durability: None,
            configuration: Arc::default(),
            archive: None,
            volume: VolumeOptions::default(),
            unchanged: false,
            recovery_watch: None,
            device: DeviceChoice::Probed,
            system,
            simulation: None,
        }
    }

    /// How a file is opened, as far as its device is concerned.
    pub(crate) fn device_of<'a>(&'a self, path: &'a Path) -> Opening<'a> {
        let given = self.configuration.text(DEVICE_PROFILE).unwrap_or_default();
        Opening {
            path,
            choice: &self.device,
            is_simulated: self.simulation.is_some(),
            sqpoll: self.sqpoll,
            again: asks_to_probe(DEVICE_PROFILE, &given),
        }
    }
}

impl RingKind {
    /// As flags take it.
    pub fn name(self) -> &'static str {
        match self {
            RingKind::Auto => "auto",
            RingKind::Uring => "uring",
            RingKind::Threads => "threads",
        }
    }
}

impl std::str::FromStr for RingKind {
    type Err = String;

    fn from_str(text: &str) -> Result<RingKind, String> {
        match text {
            "auto" => Ok(RingKind::Auto),
            "uring" => Ok(RingKind::Uring),
            "threads" => Ok(RingKind::Threads),
            _ => Err(format!("ring must be auto, uring or threads, not \"{text}\"")),
        }
    }
}

/// The page size of a database that is created with these options.
fn page_size(options: &Options) -> SqlResult<u32> {
    let bytes = options.page_bytes.unwrap_or(PAGE_BYTES);
    if bytes.is_power_of_two() && (PAGE_SIZE_MIN..=PAGE_SIZE_MAX).contains(&bytes) {
        return Ok(bytes);
    }
    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, format!("no page has {bytes} bytes"))
        .with_hint("Pages have 4kB, 8kB, 16kB or 32kB."))
}
