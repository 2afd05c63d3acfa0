//! What streaming operators that never wait have in common.

use arrow_array::RecordBatch;
use types::SqlResult;

/// What a streaming operator made of a batch.
pub(crate) struct Applied {
    /// Rows for the next operator, in order.
    pub(crate) out: Vec<RecordBatch>,
    /// Rows not looked at yet, to be given again when `out` has been passed on.
    pub(crate) rest: Option<RecordBatch>,
}

/// A streaming operator that computes without waiting.
pub(crate) trait Map: Send + Sync {
    /// The plan node.
    fn node(&self) -> usize;
    /// Works on a batch, or a first part of it.
    fn apply(&self, batch: RecordBatch) -> SqlResult<Applied>;

    /// True if it computes expressions of which some rows may take long, or much memory.
    fn is_heavy(&self) -> bool {
        false
    }

    /// True if it makes the same of the same rows again, and has no other effect.
    fn is_repeatable(&self) -> bool {
        true
    }
}
