//! How long a visit of a ring may take.

/// How long a visit of the ring may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Submit and collect only.
    No,
    /// Sleep until something happens, at most so many nanoseconds.
    Ns(u64),
    /// Sleep until something happens.
    Forever,
}
