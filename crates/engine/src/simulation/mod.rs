//! SQL under attack, in the runtime's simulation: one seed, one run, the same every time.
//!
//! Several clients run random statements, each on a table of its own, which a model follows: changes of
//! rows, definitions, both in one transaction, sequences, transactions with savepoints, `REORGANIZE`, `COPY`, tables
//! that a foreign key joins, temporary tables, queries in between; column tables are merged in the background. Statements are
//! cancelled and dropped at random suspensions. [`run`] takes a seed through four scenarios: a machine
//! in which nothing fails (`calm`); a power cut at one write of the same run (`crash`), with a cut of
//! the recovery as well; failing writes and syncs (`failing`); a full disk (`full`). Afterwards the
//! database is opened again: it is sound, and each table is what the model says after the last
//! statement that was acknowledged, or after the one that was on its way. Some clients do not wait for the
//! device: theirs may be what it was after an earlier statement. What transactions do to each other is
//! [`history`]'s.

pub(crate) mod client;
mod copied;
pub(crate) mod defined;
mod family;
pub mod history;
pub(crate) mod interrupted;
pub(crate) mod migration;
pub(crate) mod model;
pub(crate) mod scenarios;
pub(crate) mod transaction;

use std::ops::AddAssign;

pub use storage::simulation::Failure;
use storage::simulation::attempt;

use crate::options::Options;

/// What the runs of some seeds have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Seeds.
    pub seeds: u64,
    /// Statements and transactions that were done.
    pub statements: u64,
    /// Those that were refused, as they had to be: duplicate keys and such.
    pub refusals: u64,
    /// Tables that were compared with the model.
    pub comparisons: u64,
    /// Statements that a cancel ended.
    pub cancels: u64,
    /// Those of them that change definitions.
    pub cancelled_definitions: u64,
    /// Those of them that were parts of a transaction.
    pub cancelled_transactions: u64,
    /// Statements dropped at a suspension.
    pub drops: u64,
    /// Power cuts, those inside recovery included.
    pub crashes: u64,
    /// Disks as they may be after a power cut, each opened and compared.
    pub images: u64,
    /// Those whose recovery was cut short three times, at a write of its own each time.
    pub chains: u64,
    /// Calls of the system that failed, one in a run.
    pub calls: u64,
    /// Statements that a fault of the disk ended.
    pub failures: u64,
    /// Statements that found the disk full.
    pub full: u64,
    /// Fingerprint of all decisions of the disk: equal for equal seeds.
    pub trace_hash: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.seeds += other.seeds;
        self.statements += other.statements;
        self.refusals += other.refusals;
        self.comparisons += other.comparisons;
        self.cancels += other.cancels;
        self.cancelled_definitions += other.cancelled_definitions;
        self.cancelled_transactions += other.cancelled_transactions;
        self.drops += other.drops;
        self.crashes += other.crashes;
        self.images += other.images;
        self.chains += other.chains;
        self.calls += other.calls;
        self.failures += other.failures;
        self.full += other.full;
        self.trace_hash = self.trace_hash.rotate_left(7) ^ other.trace_hash;
    }
}

/// Runs all scenarios with one seed. Of `options` the databases have all but what the seed decides.
///
/// # Errors
/// The first defect found.
pub fn run(options: &Options, seed: u64) -> Result<Report, Failure> {
    let mut report = Report { seeds: 1, ..Report::default() };
    let all = [
        ("calm", scenarios::calm as fn(&Options, u64) -> Result<Report, String>),
        ("crash", scenarios::crash),
        ("failing", scenarios::failing),
        ("full", scenarios::full),
    ];
    for (name, scenario) in all {
        let named = |failure: Failure| Failure { what: format!("{name}: {}", failure.what), seed };
        report += attempt(seed, || scenario(options, seed)).map_err(named)?;
    }
    Ok(report)
}

/// Cuts the power at one write of a run, and opens so many disks that may be left of it: each has another part of
/// what was not synced, and by turns the recovery is cut short not at all, once, twice and three times.
///
/// # Errors
/// The first defect found.
pub fn crash_images(options: &Options, seed: u64, images: u64) -> Result<Report, Failure> {
    attempt(seed, || scenarios::crash_images(options, seed, images))
}

/// Runs a script of so many steps again and again, and lets one call of the system fail each time: each call of the
/// script in turn, or `calls` of them, spread evenly.
///
/// # Errors
/// The first defect found.
pub fn failing_calls(
    options: &Options,
    seed: u64,
    steps: usize,
    calls: u64,
) -> Result<Report, Failure> {
    attempt(seed, || scenarios::failing_calls(options, seed, steps, calls))
}
