//! What is told of merges: to who asks what runs, and to the log.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// Tables have been merged, or could not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeEnded {
    /// The table.
    pub table: String,
    /// Times that rows of its delta became a part.
    pub deltas: u64,
    /// Parts that were written anew, or dropped.
    pub parts: u64,
    /// Rows that were written.
    pub rows: u64,
    /// How long all of that took.
    pub took: Duration,
    /// The error with which it ended.
    pub failure: Option<String>,
}

impl fmt::Display for MergeEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.took.as_micros() as f64 / 1e3;
        let MergeEnded { table, deltas, parts, rows, failure, .. } = self;
        match failure {
            Some(failure) => {
                write!(f, "merge of table \"{table}\" failed after {ms:.3} ms: {failure}")
            }
            None => write!(
                f,
                "merge of table \"{table}\": {deltas} times rows of the delta, \
                 {parts} parts with deleted rows, {rows} rows written, {ms:.3} ms"
            ),
        }
    }
}

/// Is told of merges that have ended. It must not block.
pub type MergeLog = Arc<dyn Fn(&MergeEnded) + Send + Sync>;

/// What is told of the merges of a database.
#[derive(Default)]
pub(crate) struct MergesTold {
    table: Mutex<Option<String>>,
    log: RwLock<Option<MergeLog>>,
}

impl MergesTold {
    /// The table that is merged now.
    pub(crate) fn table(&self) -> Option<String> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_table(&self, table: Option<String>) {
        *self.table.lock().unwrap_or_else(PoisonError::into_inner) = table;
    }

    /// Tells of merges from now on.
    pub(crate) fn set_log(&self, log: MergeLog) {
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = Some(log);
    }

    pub(crate) fn tell(&self, ended: &MergeEnded) {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(log) = log {
            log(ended);
        }
    }
}
