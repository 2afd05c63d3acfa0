//! Statements of all sessions, counted by mode, by how they ended and by how long they took.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use types::SqlError;

use crate::settings::ExecutionMode;

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Done,
    /// With an error.
    Failed,
    /// By 57014.
    Cancelled,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 3] = [Outcome::Done, Outcome::Failed, Outcome::Cancelled];

    /// As metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// Upper bounds of the histograms' buckets, in seconds; the last one has none.
pub const DURATION_BOUNDS: [f64; 12] =
    [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// Durations of statements.
#[derive(Default)]
pub struct Histogram {
    buckets: [AtomicU64; DURATION_BOUNDS.len() + 1],
    sum_ns: AtomicU64,
}

impl Histogram {
    fn count(&self, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        let bucket = DURATION_BOUNDS.partition_point(|bound| *bound < seconds);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(elapsed.as_nanos() as u64, Relaxed);
    }

    /// Statements per bucket; the last one is unbounded.
    pub fn buckets(&self) -> Vec<u64> {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect()
    }

    /// The sum of all durations.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns.load(Relaxed))
    }
}

/// What ran in one way: a mode, or no query at all.
#[derive(Default)]
struct Kind {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    durations: Histogram,
}

/// How transactions ended.
#[derive(Default)]
pub struct TransactionTotals {
    commits: AtomicU64,
    rollbacks: AtomicU64,
    deadlocks: AtomicU64,
    conflicts: AtomicU64,
}

impl TransactionTotals {
    pub(crate) fn count(&self, is_committed: bool) {
        let count = if is_committed { &self.commits } else { &self.rollbacks };
        count.fetch_add(1, Relaxed);
    }

    /// Counts an error that others are the reason of.
    pub(crate) fn count_error(&self, error: &SqlError) {
        match error.state.0 {
            "40P01" => self.deadlocks.fetch_add(1, Relaxed),
            "40001" => self.conflicts.fetch_add(1, Relaxed),
            _ => 0,
        };
    }

    /// Those that committed; single statements are transactions, too.
    pub fn commits(&self) -> u64 {
        self.commits.load(Relaxed)
    }

    /// Those that did not.
    pub fn rollbacks(&self) -> u64 {
        self.rollbacks.load(Relaxed)
    }

    /// Statements that would have waited for each other (40P01).
    pub fn deadlocks(&self) -> u64 {
        self.deadlocks.load(Relaxed)
    }

    /// Statements and commits that others were in the way of (40001).
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Relaxed)
    }
}

/// Plans of few rows that row programs have run.
#[derive(Default)]
pub struct ProgramTotals {
    done: AtomicU64,
    given_up: AtomicU64,
}

impl ProgramTotals {
    pub(crate) fn count(&self, is_done: bool) {
        let count = if is_done { &self.done } else { &self.given_up };
        count.fetch_add(1, Relaxed);
    }

    /// Programs that ran to their end, or to an error.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Those that came to more rows than a program has, and were run again as pipelines.
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Relaxed)
    }
}

/// Counts over all sessions.
#[derive(Default)]
pub struct Totals {
    /// Row programs.
    pub programs: ProgramTotals,
    /// How transactions ended.
    pub transactions: TransactionTotals,
    modes: [Kind; ExecutionMode::ALL.len()],
    /// Statements that are no queries, and queries that could not be planned.
    other: Kind,
}

impl Totals {
    fn kind(&self, mode: Option<ExecutionMode>) -> &Kind {
        let index = mode.and_then(|mode| ExecutionMode::ALL.iter().position(|m| *m == mode));
        index.map_or(&self.other, |index| &self.modes[index])
    }

    pub(crate) fn count(&self, mode: Option<ExecutionMode>, outcome: Outcome, elapsed: Duration) {
        let kind = self.kind(mode);
        kind.outcomes[outcome as usize].fetch_add(1, Relaxed);
        kind.durations.count(elapsed);
    }

    /// Statements that ended so; `None` are those that ran in no mode.
    pub fn statements(&self, mode: Option<ExecutionMode>, outcome: Outcome) -> u64 {
        self.kind(mode).outcomes[outcome as usize].load(Relaxed)
    }

    /// How long they took.
    pub fn durations(&self, mode: Option<ExecutionMode>) -> &Histogram {
        &self.kind(mode).durations
    }
}
