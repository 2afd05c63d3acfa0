//! Runs of one query in an execution mode, with what they cost.

use std::time::Duration;

use engine::{ExecutionMode, ResultSet, Session, SqlError, SqlResult, StatementResult};

/// What one run of a query took.
#[derive(Clone, Debug)]
pub struct ModeRun {
    /// Execution, planning apart.
    pub elapsed: Duration,
    /// CPU time of all workers.
    pub cpu: Duration,
    /// Pages read from the device.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Tasks created.
    pub tasks: u64,
    /// Rows of the result.
    pub row_count: usize,
    /// Fastest and slowest partition of a static run.
    pub spread: Option<(Duration, Duration)>,
}

impl ModeRun {
    /// Read requests per second.
    pub fn reads_per_s(&self) -> f64 {
        self.reads as f64 / self.elapsed.as_secs_f64()
    }
}

/// The rows of the last statement in `text`.
pub fn rows(session: &mut Session, text: &str) -> SqlResult<ResultSet> {
    match session.execute(text)?.pop() {
        Some(StatementResult::Rows(result)) => Ok(result),
        _ => Err(SqlError::internal("the statement has no rows")),
    }
}

/// Runs a query; `cold` empties the buffer pool first.
///
/// # Errors
/// Those of the query.
pub fn run(
    session: &mut Session,
    text: &str,
    mode: ExecutionMode,
    cold: bool,
) -> SqlResult<ModeRun> {
    run_for_rows(session, text, mode, cold).map(|(run, _)| run)
}

/// The same, with the rows.
///
/// # Errors
/// Those of the query.
pub fn run_for_rows(
    session: &mut Session,
    text: &str,
    mode: ExecutionMode,
    cold: bool,
) -> SqlResult<(ModeRun, ResultSet)> {
    session.settings().execution_mode = mode;
    if cold {
        session.database().drop_cache()?;
    }
    let result = rows(session, text)?;
    let row_count = result.row_count();
    let figures = result.figures.as_ref();
    let figures = figures.ok_or_else(|| SqlError::internal("a query has figures"))?;
    let run = ModeRun {
        elapsed: figures.elapsed,
        cpu: Duration::from_nanos(figures.account.cpu_ns),
        reads: figures.reads(),
        read_bytes: figures.read_bytes(),
        tasks: figures.progress.tasks.created,
        row_count,
        spread: figures.static_spread().map(|s| (s.min, s.max)),
    };
    Ok((run, result))
}
