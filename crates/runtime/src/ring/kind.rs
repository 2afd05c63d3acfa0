//! Kinds of rings.

use std::fmt;

/// What a worker or a file got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// io_uring.
    Uring,
    /// Blocking system calls on a pool of threads.
    Threads,
    /// The simulation.
    Sim,
}

impl fmt::Display for RingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RingKind::Uring => "uring",
            RingKind::Threads => "threads",
            RingKind::Sim => "sim",
        })
    }
}
