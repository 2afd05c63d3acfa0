//! Which sequence is meant.

/// Where the number of a sequence is on disk: by the id of what it belongs to, and within a table by the
/// ordinal of the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SequenceKey(pub u32, pub u16);
