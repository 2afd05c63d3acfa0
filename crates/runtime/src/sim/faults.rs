//! What goes wrong, and how long things take.

use std::ops::Range;

/// Faults of a simulated disk. The default has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// Probability that a read fails with EIO.
    pub read_error: f64,
    /// Probability that a write fails with EIO; some of its sectors may have been written.
    pub write_error: f64,
    /// Probability that a sync fails with EIO. As on Linux the pending pages then count as clean:
    /// whatever of them was not written is lost, though it can still be read until the crash.
    pub sync_error: f64,
    /// Probability that opening, renaming and so on fails with EIO.
    pub meta_error: f64,
    /// Probability that a read or write moves only some of its bytes (whole sectors).
    pub short: f64,
    /// Probability that an operation takes `late_ns` longer.
    pub late: f64,
    /// How much longer, nanoseconds.
    pub late_ns: u64,
    /// The operation with this number (from 1, of all operations) fails with this error code.
    pub fail_op: Option<(u64, i32)>,
    /// The machine dies at the write with this number (from 1): it may be torn, and every later
    /// operation fails.
    pub crash_at_write: Option<u64>,
    /// The machine dies before the operation with this number (from 1, of all operations).
    pub crash_at_op: Option<u64>,
    /// The disk is full: writes and reservations with these numbers (from 1, of both together, see
    /// `Disk::space_op_count`) fail with ENOSPC; some sectors of a write may have been written.
    pub no_space: Option<Range<u64>>,
    /// Bytes that all files together may have: what would make one longer fails with ENOSPC.
    pub capacity: Option<u64>,
}

impl FaultPlan {
    /// Nothing fails, but transfers may be short and operations late: every program must bear it.
    pub fn short_and_late() -> FaultPlan {
        FaultPlan { short: 0.1, late: 0.05, late_ns: 20_000_000, ..FaultPlan::default() }
    }
}

/// How long operations take: between half and twice these figures, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// A read.
    pub read_ns: u64,
    /// A write.
    pub write_ns: u64,
    /// A sync.
    pub sync_ns: u64,
    /// Anything else.
    pub meta_ns: u64,
}

impl Default for Latency {
    /// A common NVMe drive without power-loss protection.
    fn default() -> Latency {
        Latency { read_ns: 90_000, write_ns: 25_000, sync_ns: 1_000_000, meta_ns: 20_000 }
    }
}
