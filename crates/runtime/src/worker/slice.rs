//! How long a slice and a poll may take.

/// A task that runs longer than this should give way, so that completions, which the ring
/// delivers only when asked (DEFER_TASKRUN), are not left lying. About one SSD read.
pub(crate) const SLICE_NS: u64 = 100_000;

/// Polls, and calls of `need_preempt`, that are further apart than this are worth a look at the
/// clock each.
pub(crate) const LONG_NS: u64 = 2_000;
