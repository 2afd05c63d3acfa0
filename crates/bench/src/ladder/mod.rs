//! `dovetail bench ladder`: the storage engine beyond memory, step by step ("io_uring for High-Performance
//! DBMSs", section 3 and figure 5). Transactions that each change one row at random, in a pool for a share
//! of the data, on one core; each rung adds one thing to the rung below it, in one binary and one run.
//!
//! Each rung runs without the log and with it. With it each transaction is durable before it is counted
//! (group commit), and checkpoints are made beside the transactions, as the engine does. The paper's
//! engine has neither; here pages that the last checkpoint reaches go to a double-write buffer first in both cases.
//!
//! What the device and the processor give is probed in each round, and the paper's model of section 3 is
//! printed beside each rung.

mod commits;
mod device;
mod drive;
mod model;
mod rung;

use std::path::Path;
use std::time::Duration;

use runtime::Runtime;
pub use storage::Layout;
use types::{SqlError, SqlResult, SqlState};

use crate::figure::{Figure, median_of};
use device::Device;
use drive::{Outcome, Table};
use model::Costs;
pub use rung::Rung;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rows of 8 bytes of key and 128 of value, the paper's.
    pub rows: u64,
    /// How many percent of the pages the pool holds, 1 to 90.
    pub pool_percent: u64,
    /// Length of each measurement.
    pub slice: Duration,
    /// Where the pages of the file lie.
    pub layout: Layout,
    /// Rounds; each measures every rung once, without the log and with it.
    pub rounds: usize,
}

fn failed(what: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("ladder: {what}"))
}

/// The runs of one rung.
struct Runs {
    rung: Rung,
    log: bool,
    outcomes: Vec<Outcome>,
}

/// Measures on a new file in `folder`.
///
/// # Errors
/// When the options make no sense, io_uring or direct I/O cannot be had, or the file cannot be made.
pub fn run(folder: &Path, options: &Options, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    if !(1..=90).contains(&options.pool_percent) || options.rows < 10_000 || options.rounds == 0 {
        return Err(failed("a pool of 1 to 90 percent, 10,000 rows and a round at least"));
    }
    let table = Table::make(folder, options)?;
    eprintln!("{}", table.describe());
    let base_ns = drive::in_memory(&table)?;
    let mut all: Vec<Runs> = Rung::ALL
        .into_iter()
        .flat_map(|rung| [false, true].map(|log| Runs { rung, log, outcomes: vec![] }))
        .collect();
    let mut costs = vec![];
    for round in 0..options.rounds {
        let mut device = Device::probe(folder, options.slice)?;
        for turn in 0..all.len() {
            let at = (turn + round) % all.len();
            let Runs { rung, log, outcomes } = &mut all[at];
            outcomes.push(drive::run(&table, *rung, *log, options.slice)?);
        }
        let (reads, pages) = per_transaction(&all, round);
        device.probe_mixed(folder, pages / reads, options.slice)?;
        costs.push(Costs { base_ns, device });
    }
    report_device(&costs, emit);
    for runs in &all {
        report(runs, &all, &costs, emit);
    }
    Ok(())
}

/// Reads and pages written for each transaction of the best rung in a round.
fn per_transaction(all: &[Runs], round: usize) -> (f64, f64) {
    let runs = all.iter().find(|runs| runs.rung == Rung::Registered && !runs.log);
    let outcome = &runs.expect("all rungs are measured").outcomes[round];
    (outcome.reads_each().max(0.01), outcome.pages_written_each())
}

fn report_device(costs: &[Costs], emit: &mut dyn FnMut(Figure)) {
    let mut figure = |name: &str, unit, of: &dyn Fn(&Costs) -> f64| {
        let values: Vec<f64> = costs.iter().map(of).collect();
        emit(Figure::of(format!("ladder.device.{name}"), unit, &values));
    };
    figure("read_latency", "us", &|c| c.device.read_us);
    figure("write_latency", "us", &|c| c.device.write_us);
    figure("sync_latency", "us", &|c| c.device.sync_us);
    figure("read_cpu", "us", &|c| c.device.read_cpu_us);
    figure("write_cpu", "us", &|c| c.device.write_cpu_us);
    figure("mixed_reads", "1/s", &|c| c.device.mixed_reads_per_s);
    figure("mixed_over_alone", "x", &|c| c.device.mixed_over_alone());
    figure("transaction_cpu", "us", &|c| c.base_ns / 1e3);
}

fn report(runs: &Runs, all: &[Runs], costs: &[Costs], emit: &mut dyn FnMut(Figure)) {
    let Runs { rung, log, outcomes } = runs;
    let name = format!("ladder.{rung}.{}", if *log { "log" } else { "bare" });
    let of = |rung, log| {
        let found = all.iter().find(|other| other.rung == rung && other.log == log);
        &found.expect("all rungs are measured").outcomes
    };
    let mut figure = |what: &str, unit, values: &[f64], detail: &str| {
        emit(Figure::of(format!("{name}.{what}"), unit, values).with_detail(detail));
    };
    let rates: Vec<f64> = outcomes.iter().map(Outcome::per_s).collect();
    let first = &outcomes[0];
    let detail = format!(
        "{} reads, {} pages and {} bytes written each; {}",
        short(median_of(&each(outcomes, Outcome::reads_each))),
        short(median_of(&each(outcomes, Outcome::pages_written_each))),
        median_of(&each(outcomes, Outcome::bytes_written_each)).round(),
        first.ring,
    );
    figure("transactions", "1/s", &rates, &detail);
    let ratios = against(outcomes, of(Rung::Synchronous, *log));
    figure("over_synchronous", "x", &ratios, "");
    figure("cpu", "us", &each(outcomes, Outcome::cpu_us_each), "of the process, each");
    let shares: Vec<f64> =
        outcomes.iter().zip(costs).map(|(run, c)| run.reads_per_s() / c.limit(*rung)).collect();
    figure(
        "device_share",
        "share",
        &shares,
        "of the reads that the device gave beside as many writes",
    );
    let model: Vec<f64> = outcomes
        .iter()
        .zip(costs)
        .map(|(run, c)| run.per_s() / c.transactions_per_s(*rung, *log, run))
        .collect();
    figure("over_model", "x", &model, "");
    if *log {
        figure("over_bare", "x", &against(outcomes, of(*rung, false)), "");
    }
}

fn each(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> Vec<f64> {
    outcomes.iter().map(of).collect()
}

fn against(runs: &[Outcome], base: &[Outcome]) -> Vec<f64> {
    runs.iter().zip(base).map(|(run, base)| run.per_s() / base.per_s()).collect()
}

fn short(value: f64) -> String {
    format!("{value:.2}")
}

/// A runtime of one worker.
fn started(config: runtime::Config) -> SqlResult<Runtime> {
    Runtime::start(config).map_err(failed)
}
