//! How a runtime is set up, and what it reports about its start.

use std::time::Duration;
use std::{fmt, io};

use crate::net::tuning::Tuning;
use crate::ring::kind::RingKind;
use crate::sim::disk::Disk;

/// Most workers of one runtime; far above the cores of one socket, it bounds per-worker arrays.
pub const WORKER_COUNT_MAX: usize = 128;

/// The settings of a runtime.
#[derive(Clone)]
pub struct Config {
    /// Kernel threads that run tasks, one per core by default.
    pub workers: usize,
    /// How workers reach the disk.
    pub ring: RingChoice,
    /// Tasks that take turns at each cache miss (CoroBase, section 3; 8 to 12 hide a miss).
    pub window: usize,
    /// Transfers in flight per worker; more wait in the worker's backlog. Waits for sockets do not
    /// count.
    pub depth: u32,
    /// Bind each worker to a core.
    pub pin: bool,
    /// The one seed of the run: random numbers, attacks, simulated schedules.
    pub seed: u64,
    /// Debug attack: ready tasks in random order, every `need_preempt` true.
    pub attack: bool,
    /// Whether a worker that is about to sleep takes tasks of [`crate::spawn_anywhere`] which
    /// another has not started; else each starts where it was spawned.
    pub migrate: bool,
    /// A kernel thread submits instead of the workers; io_uring only. Off by default.
    pub sqpoll: Option<Sqpoll>,
    /// Files opened `direct` are read and written by polling the device instead of by interrupts;
    /// io_uring only. Opening such a file is refused where its device cannot be polled. A worker
    /// with polled requests in flight does not sleep. Transfers of more than 64 KiB are not polled
    /// for. Off by default.
    pub iopoll: bool,
    /// Namespaces of NVMe devices can be opened by their generic devices (`/dev/ngXnY`) and take
    /// commands past the block layer (`IORING_OP_URING_CMD`); io_uring only. All entries of the
    /// rings have twice the size then. Off by default.
    pub passthrough: bool,
    /// io_uring looks a file up once, not at each transfer. On by default: with registered buffers
    /// 11 to 14 % less CPU time per read.
    pub registered_files: bool,
    /// io_uring pins the memory of an [`crate::Arena`] once, not at each transfer, where the limit
    /// of locked memory allows; what is pinned counts as used. On by default.
    pub registered_buffers: bool,
    /// How data in bulk goes over sockets.
    pub sockets: Tuning,
    /// When requests go to the kernel; io_uring only.
    pub submission: Submission,
}

impl Default for Config {
    fn default() -> Config {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        Config {
            workers: cores.min(WORKER_COUNT_MAX),
            ring: RingChoice::Auto,
            window: 10,
            depth: 1024,
            // Test binaries start many runtimes at once; pinned, all would share the first core.
            pin: !cfg!(debug_assertions),
            seed: 1,
            attack: cfg!(debug_assertions),
            migrate: true,
            sqpoll: None,
            iopoll: false,
            passthrough: false,
            registered_files: true,
            registered_buffers: true,
            sockets: Tuning::default(),
            submission: Submission::Adaptive,
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), StartError> {
        let bad = |what: &str| Err(StartError::Config(what.to_owned()));
        if self.workers == 0 || self.workers > WORKER_COUNT_MAX {
            return bad(&format!("workers must be 1 to {WORKER_COUNT_MAX}, not {}", self.workers));
        }
        if self.window == 0 || self.window > 1024 {
            return bad(&format!("window must be 1 to 1024, not {}", self.window));
        }
        if self.depth == 0 || self.depth > DEPTH_MAX {
            return bad(&format!("depth must be 1 to {DEPTH_MAX}, not {}", self.depth));
        }
        self.check_polling()
    }

    /// What is asked of io_uring is had or refused, never left out.
    fn check_polling(&self) -> Result<(), StartError> {
        let bad = |what: &str| Err(StartError::Config(what.to_owned()));
        let by_ring = matches!(self.ring, RingChoice::Auto | RingChoice::Uring);
        if (self.sqpoll.is_some() || self.iopoll) && !by_ring {
            return bad("SQPOLL and IOPOLL are options of io_uring: the ring must be `uring`");
        }
        if self.passthrough && !by_ring {
            return bad("passthrough is an option of io_uring: the ring must be `uring`");
        }
        if self.sqpoll.is_some() && self.iopoll {
            return bad("SQPOLL and IOPOLL cannot be combined: who submits must poll the device");
        }
        if let Some(sqpoll) = &self.sqpoll
            && !(SQPOLL_IDLE_MIN..=SQPOLL_IDLE_MAX).contains(&sqpoll.idle)
        {
            return bad("the idle time of SQPOLL must be 1 ms to 60 s");
        }
        Ok(())
    }
}

/// The idle time is a number of milliseconds to the kernel, and 0 would mean its default.
const SQPOLL_IDLE_MIN: Duration = Duration::from_millis(1);
/// Longer is a core given away for good.
const SQPOLL_IDLE_MAX: Duration = Duration::from_secs(60);

/// A kernel thread that takes submissions from memory, so that submitting costs no system call. All
/// workers share one. While it is awake it uses a whole core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sqpoll {
    /// Without work for so long it sleeps; waking it costs a system call. 1 ms to 60 s.
    pub idle: Duration,
    /// The core that it is bound to; any without.
    pub cpu: Option<u32>,
}

/// When the requests of ready tasks go to the kernel. They always do when no task is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Submission {
    /// In batches: when there are many, or the oldest has waited for about two reads of an SSD.
    #[default]
    Adaptive,
    /// When they are more than this fraction of the requests in flight, or many ("io_uring for
    /// High-Performance DBMSs", section 3.3). A control for measurements.
    Share(u32),
    /// Each by itself, a system call apiece. A control for measurements.
    AtOnce,
}

/// Most operations in flight per worker: half of the largest completion queue that Linux grants
/// (65536), so that completions never overflow.
pub const DEPTH_MAX: u32 = 32_768;

/// How workers reach the disk.
#[derive(Clone, Default)]
pub enum RingChoice {
    /// io_uring where a probe allows it, else threads; `Runtime::rings` says which and why.
    #[default]
    Auto,
    /// io_uring, or an error at start.
    Uring,
    /// A pool of threads with blocking reads and writes.
    Threads,
    /// A simulated disk, a simulated clock and a seeded schedule, all in one thread.
    Sim(Disk),
}

/// The ring of one worker, and why it is that one.
#[derive(Clone, Debug)]
pub struct RingReport {
    /// What the worker uses.
    pub kind: RingKind,
    /// For `uring` the flags obtained; for `threads` why not io_uring.
    pub reason: String,
}

/// Why a runtime did not start.
#[derive(Debug)]
pub enum StartError {
    /// A setting out of its range.
    Config(String),
    /// io_uring was demanded and is not to be had.
    Ring(String),
    /// The system refused a thread or a descriptor.
    System(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Config(what) => write!(f, "bad runtime setting: {what}"),
            StartError::Ring(why) => write!(f, "io_uring cannot be used: {why}"),
            StartError::System(error) => write!(f, "the runtime cannot start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> StartError {
        StartError::System(error)
    }
}
