//! Places in what a database has committed.

/// How far a database is: its last checkpoint, and the bytes of commits in the log behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition {
    /// Number of the checkpoint.
    pub checkpoint: u64,
    /// Bytes of frames behind it.
    pub bytes: u64,
}

/// Where a segment goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentPlace {
    /// The line, by its number.
    pub line: u64,
    /// Number of the segment's checkpoint.
    pub checkpoint: u64,
    /// Bytes of it that are there.
    pub offset: u64,
}
