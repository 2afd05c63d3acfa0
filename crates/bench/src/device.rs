//! The device's own limit, probed through the same kind of ring in the same run.

use std::time::Duration;

use engine::{Database, SqlError, SqlResult, SqlState};

/// Requests in flight: the device gives its most from 64 on.
const DEPTH: usize = 128;

/// Random 4 KiB reads per second of the database's file at depth [`DEPTH`].
pub fn random_reads_per_s(db: &Database, duration: Duration) -> SqlResult<f64> {
    let failed = |why: String| SqlError::new(SqlState::IO_ERROR, format!("device probe: {why}"));
    let path = db.path().to_owned();
    let probe = move || async move { runtime::probe::device(path, DEPTH, duration).await };
    let report = db.runtime_handle().block_on(probe).map_err(|e| failed(e.to_string()))?;
    if report.direct {
        return Ok(report.rate());
    }
    Err(failed("the page cache cannot be bypassed here, so the device cannot be seen".to_owned()))
}
