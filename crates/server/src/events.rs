//! What the log says of the database: who waits for locks, and what was merged.

use engine::{LockWaited, MergeEnded};

use crate::log::{Log, Severity};

/// Letters of a statement that are logged: a statement may have megabytes, and lines wait in memory.
const STATEMENT_LETTERS_MAX: usize = 10_000;

/// Somebody has waited long for a lock.
pub(crate) fn record_lock_wait(log: &Log, waited: &LockWaited) {
    let entry = log.entry(Severity::Log, waited.message()).with("pid", waited.pid);
    let entry = match waited.is_over {
        true => entry,
        false => entry.with("holders", waited.holders.clone()),
    };
    entry.with("statement", shortened(&waited.statement)).write();
}

/// A column table was merged in the background, or could not be.
pub(crate) fn record_merge(log: &Log, ended: &MergeEnded) {
    let severity = match ended.failure {
        None => Severity::Log,
        Some(_) => Severity::Warning,
    };
    log.entry(severity, ended.to_string()).write();
}

pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(STATEMENT_LETTERS_MAX) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}
