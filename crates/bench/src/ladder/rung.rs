//! The rungs: what each adds to the one below it.

use std::fmt;
use std::time::Duration;

use runtime::{Config, RingChoice, Sqpoll, Submission};

/// Transactions in flight, the paper's.
const IN_FLIGHT: usize = 128;

/// Pages that leave the pool together, the store's own number.
const WRITE_BATCH: usize = 64;

/// The kernel's thread goes to sleep after so long without work.
const POLLER_IDLE: Duration = Duration::from_millis(10);

/// A rung of the ladder, or a control beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// One transaction, which waits for each read and each write.
    Synchronous,
    /// Pages leave the pool in batches.
    Batched,
    /// Many transactions; each request is a system call.
    Coroutines,
    /// Requests go to the kernel together.
    Adaptive,
    /// Files and memory are registered with the ring: what Dovetail does by default.
    Registered,
    /// A thread of the kernel takes the requests.
    Polled,
    /// A control: as `Registered` with half as many transactions in flight.
    Half,
    /// A control: as `Registered` with twice as many.
    Double,
    /// A control: threads with blocking calls in the place of the ring.
    Threads,
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rung::Synchronous => "1_synchronous",
            Rung::Batched => "2_batched_eviction",
            Rung::Coroutines => "3_coroutines",
            Rung::Adaptive => "4_adaptive_submission",
            Rung::Registered => "5_registered",
            Rung::Polled => "6_sqpoll",
            Rung::Half => "half_in_flight",
            Rung::Double => "double_in_flight",
            Rung::Threads => "threads",
        })
    }
}

impl Rung {
    /// All of them, from below.
    pub const ALL: [Rung; 9] = [
        Rung::Synchronous,
        Rung::Batched,
        Rung::Coroutines,
        Rung::Adaptive,
        Rung::Registered,
        Rung::Polled,
        Rung::Half,
        Rung::Double,
        Rung::Threads,
    ];

    /// How the runtime is set up.
    pub(super) fn config(self) -> Config {
        let registered =
            !matches!(self, Rung::Synchronous | Rung::Batched | Rung::Coroutines | Rung::Adaptive);
        let at_once = matches!(self, Rung::Synchronous | Rung::Batched | Rung::Coroutines);
        Config {
            workers: 1,
            ring: if self == Rung::Threads { RingChoice::Threads } else { RingChoice::Uring },
            attack: false,
            registered_files: registered,
            registered_buffers: registered,
            submission: if at_once { Submission::AtOnce } else { Submission::Adaptive },
            sqpoll: (self == Rung::Polled).then_some(Sqpoll { idle: POLLER_IDLE, cpu: None }),
            ..Config::default()
        }
    }

    /// Transactions in flight.
    pub(super) fn in_flight(self) -> usize {
        match self {
            Rung::Synchronous | Rung::Batched => 1,
            Rung::Half => IN_FLIGHT / 2,
            Rung::Double => IN_FLIGHT * 2,
            _ => IN_FLIGHT,
        }
    }

    /// Pages that leave the pool together.
    pub(super) fn write_batch(self) -> usize {
        if self == Rung::Synchronous { 1 } else { WRITE_BATCH }
    }
}
