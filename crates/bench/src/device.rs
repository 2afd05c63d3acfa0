//! The device's own limit, probed through the same kind of ring in the same run.

use std::time::Duration;

use engine::{Database, SqlError, SqlResult, SqlState};

/// Requests in flight: the device gives its most from 64 on.
const DEPTH: usize = 128;

/// Random 4 KiB reads per second of the database's file at depth [`DEPTH`].
pub fn random_reads_per_s(db: &Database, duration: Duration) -> SqlResult<f64> {
    runtime::probe::device(db.path(), DEPTH, duration)
        .map_err(|e| SqlError::new(SqlState::IO_ERROR, format!("device probe: {e}")))
}
