//! What statements took, by their shape and by who ran them: the rows of `pg_stat_statements`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sql::Shape;
use stdx::HashMap;

/// Shapes that are kept; each takes its text of 4 KiB at most. When there are more, those that ran
/// least are forgotten.
const SHAPE_COUNT_MAX: usize = 1000;

/// Of a full table so much is forgotten at once, as in PostgreSQL.
const FORGOTTEN_PART: usize = 20;

/// Times of many runs, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Runs.
    pub count: u64,
    /// All together.
    pub total: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// Sum of squares of distances from the mean (Welford 1962).
    squares: f64,
}

impl Times {
    fn add(&mut self, time: Duration) {
        let ms = time.as_secs_f64() * 1e3;
        self.min = if self.count == 0 { ms } else { self.min.min(ms) };
        self.max = self.max.max(ms);
        self.count += 1;
        self.total += ms;
        let distance = ms - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (ms - self.mean);
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).sqrt() }
    }
}

/// One run of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunFigures {
    pub(crate) execution: Duration,
    /// `None` when its plan was there already.
    pub(crate) planning: Option<Duration>,
    pub(crate) rows: u64,
    pub(crate) reads: u64,
}

/// All runs of a shape by one role.
#[derive(Clone, Debug)]
pub struct StatementStatistics {
    /// The role.
    pub user: Arc<str>,
    /// The shape.
    pub shape: Arc<Shape>,
    /// Execution.
    pub execution: Times,
    /// Planning.
    pub planning: Times,
    /// Rows given or changed.
    pub rows: u64,
    /// Pages read from the device.
    pub reads: u64,
}

/// The statistics of all shapes.
#[derive(Debug)]
pub struct Statistics(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    shapes: HashMap<(Arc<str>, i64), StatementStatistics>,
    forgotten_count: u64,
    since_us: i64,
}

impl Default for Statistics {
    fn default() -> Statistics {
        let (shapes, since_us) = (HashMap::default(), runtime::time::unix_us());
        Statistics(Mutex::new(Kept { shapes, forgotten_count: 0, since_us }))
    }
}

impl Statistics {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self, user: &Arc<str>, shape: &Arc<Shape>, run: RunFigures) {
        let mut kept = self.kept();
        let key = (user.clone(), shape.id);
        if kept.shapes.len() >= SHAPE_COUNT_MAX && !kept.shapes.contains_key(&key) {
            kept.forget_some();
        }
        let entry = kept.shapes.entry(key).or_insert_with(|| StatementStatistics {
            user: user.clone(),
            shape: shape.clone(),
            execution: Times::default(),
            planning: Times::default(),
            rows: 0,
            reads: 0,
        });
        entry.execution.add(run.execution);
        if let Some(planning) = run.planning {
            entry.planning.add(planning);
        }
        entry.rows += run.rows;
        entry.reads += run.reads;
    }

    /// All of them, in no order.
    pub fn all(&self) -> Vec<StatementStatistics> {
        self.kept().shapes.values().cloned().collect()
    }

    /// How often there was no room, and since when is counted, in microseconds since 1970.
    pub fn info(&self) -> (u64, i64) {
        let kept = self.kept();
        (kept.forgotten_count, kept.since_us)
    }

    /// Forgets what is counted of a role, of a shape, or of all.
    pub fn reset(&self, user: Option<&str>, shape: Option<i64>) {
        let mut kept = self.kept();
        kept.shapes.retain(|(of, id), _| {
            let meant = user.is_none_or(|user| user == &**of) && shape.is_none_or(|s| s == *id);
            !meant
        });
        if user.is_none() && shape.is_none() {
            (kept.forgotten_count, kept.since_us) = (0, runtime::time::unix_us());
        }
    }
}

impl Kept {
    fn forget_some(&mut self) {
        let mut calls: Vec<u64> = self.shapes.values().map(|s| s.execution.count).collect();
        calls.sort_unstable();
        let mut left = (calls.len() / FORGOTTEN_PART).max(1);
        let limit = calls[left - 1];
        self.shapes.retain(|_, statistics| {
            let goes = left > 0 && statistics.execution.count <= limit;
            left -= usize::from(goes);
            !goes
        });
        self.forgotten_count += 1;
    }
}

#[cfg(test)]
mod tests;
