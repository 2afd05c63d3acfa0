//! What is shown of the merges of a table.

/// What the merging of column tables in the background has done since the database was opened, and does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeStatus {
    /// The table that is merged now.
    pub table: Option<String>,
    /// Times that rows of a delta became a part.
    pub deltas: u64,
    /// Parts that were written anew, or dropped, because many of their rows were deleted.
    pub parts: u64,
    /// Rows that were written.
    pub rows: u64,
    /// Times that others were in the way: it was tried again, or left to a later commit.
    pub put_off: u64,
    /// Merges that ended with an error.
    pub failures: u64,
    /// The last one.
    pub last_failure: Option<String>,
}
