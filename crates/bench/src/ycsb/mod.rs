//! `dovetail bench ycsb`: transactions at the speed of memory (CoroBase, section 5), on the engine's
//! own trees, everything in the pool.
//!
//! A worker has a window of transactions; each is a coroutine that prefetches and gives way where it
//! would miss the caches, and the next one begins as soon as one ends. The other side is the same
//! code without giving way, one transaction after the other, in turns within one run.
//!
//! What is measured is `storage`: no isolation, no log, no SQL. The same over SQL is in `sql`.

mod drive;
mod keys;
mod mix;
mod sql;
mod table;

use std::path::Path;

use runtime::{Config, RingChoice, Runtime};
use types::{SqlError, SqlResult, SqlState};

use crate::figure::Figure;
use drive::{Outcome, Plan, Side};
pub use keys::{Distribution, KeyForm};
pub use mix::{Core, Mix};
pub use sql::run as run_sql;
use table::Table;

/// The largest window that is measured; the runtime's own is as large.
const WINDOW_MAX: usize = 32;

/// Upper bounds for look-ups: the scheduler left out, and coroutines left out.
const BOUNDS: [Side; 3] = [Side::Flat(12), Side::ByHand(128), Side::Amac(16)];

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of the table.
    pub rows: u64,
    /// How the rows are keyed; each way is a tree of its own, and ratios are over the first.
    pub key_forms: Vec<KeyForm>,
    /// Which rows transactions want.
    pub distribution: Distribution,
    /// What a transaction does.
    pub mixes: Vec<Mix>,
    /// Numbers of workers.
    pub workers: Vec<usize>,
    /// Transactions that take turns on a worker.
    pub windows: Vec<usize>,
    /// Look-ups and changes of one measurement, on each worker.
    pub operations: u64,
    /// Rounds.
    pub rounds: usize,
}

impl Options {
    /// Rows that all rounds add, at most: a tenth of the operations is twice what is expected.
    fn inserted_rows(&self) -> u64 {
        let mixes = self.mixes.iter().filter(|mix| mix.inserts()).count() as u64;
        let workers = self.workers.iter().sum::<usize>() as u64;
        let runs = 1 + (self.windows.len() + 1) as u64 * self.rounds as u64;
        mixes * workers * runs * self.operations / 10
    }
}

pub(super) fn failed(what: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("ycsb: {what}"))
}

/// Measures in a new file in `folder`.
///
/// # Errors
/// When an option makes no sense, the file cannot be made, or a row is missing.
pub fn run(folder: &Path, options: &Options, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    if let Some(window) = options.windows.iter().find(|w| !(1..=WINDOW_MAX).contains(*w)) {
        return Err(failed(format!("a window of {window} is not between 1 and {WINDOW_MAX}")));
    }
    if options.key_forms.contains(&KeyForm::Hashed) && options.mixes.iter().any(|m| m.is_scan()) {
        return Err(failed("a hash index has no order to scan"));
    }
    let workers = options.workers.iter().copied().max().unwrap_or(1);
    let config = Config {
        workers,
        ring: RingChoice::Auto,
        window: WINDOW_MAX,
        attack: false,
        ..Config::default()
    };
    let runtime = Runtime::start(config).map_err(failed)?;
    for report in runtime.rings() {
        eprintln!("ring {:?}: {}", report.kind, report.reason);
    }
    let (forms, more_rows) = (options.key_forms.clone(), options.inserted_rows());
    let table = Table::make(&runtime, folder, options.rows, more_rows, forms)?;
    eprintln!("{}", table.describe());
    for &workers in &options.workers {
        for &mix in &options.mixes {
            measure(&runtime, &table, options, workers, mix, emit)?;
        }
    }
    table.close(&runtime);
    Ok(())
}

/// Rounds of one mix: sequential, then each window, by turns.
fn measure(
    runtime: &Runtime,
    table: &Table,
    options: &Options,
    workers: usize,
    mix: Mix,
    emit: &mut dyn FnMut(Figure),
) -> SqlResult<()> {
    let (distribution, operations) = (options.distribution, options.operations);
    let mut sides: Vec<(Plan, Side)> = vec![];
    for form in table.forms() {
        let plan = Plan::new(table, form, mix, distribution, operations, workers);
        // The first run brings in what the load has left out.
        drive::run(runtime, &plan, Side::Sequential)?;
        // There are no batches of look-ups by hash.
        let bounds = BOUNDS.into_iter().filter(|bound| {
            mix.is_probe() && (form != KeyForm::Hashed || matches!(bound, Side::Flat(_)))
        });
        let windows = options.windows.iter().map(|window| Side::Window(*window));
        let all = std::iter::once(Side::Sequential).chain(windows).chain(bounds);
        sides.extend(all.map(|side| (plan.clone(), side)));
    }
    let mut outcomes: Vec<Vec<Outcome>> = vec![vec![]; sides.len()];
    for round in 0..options.rounds {
        for turn in 0..sides.len() {
            let index = (turn + round) % sides.len();
            let (plan, side) = &sides[index];
            outcomes[index].push(drive::run(runtime, plan, *side)?);
        }
    }
    let name = format!("ycsb.{}.{mix}.{}w", options.distribution, workers);
    for ((plan, side), runs) in sides.iter().zip(&outcomes) {
        let index = if plan.form == KeyForm::Hashed { "hash." } else { "" };
        report(&format!("{name}.{index}{side}"), runs, &outcomes[0], emit);
    }
    Ok(())
}

fn report(name: &str, runs: &[Outcome], sequential: &[Outcome], emit: &mut dyn FnMut(Figure)) {
    let mut figure = |what: &str, unit, of: &dyn Fn(&Outcome) -> f64| {
        let values: Vec<f64> = runs.iter().map(of).collect();
        emit(Figure::of(format!("{name}.{what}"), unit, &values));
    };
    figure("operations", "1/s", &|run| run.operations_per_s());
    figure("cpu", "ns", &|run| run.cpu_ns_per_operation());
    figure("p50", "ns", &|run| run.latency_ns(0.5));
    figure("p99", "ns", &|run| run.latency_ns(0.99));
    let ratios: Vec<f64> = runs
        .iter()
        .zip(sequential)
        .map(|(run, base)| run.operations_per_s() / base.operations_per_s())
        .collect();
    let detail = format!("over one after the other; frame of {} bytes", runs[0].frame_bytes);
    emit(Figure::of(format!("{name}.ratio"), "x", &ratios).with_detail(detail));
}
