//! `dovetail bench sim`: random tree operations with faults, and crashes, in the simulator; with `--sql`
//! statements of clients.

use std::fmt::Display;
use std::io::IsTerminal;
use std::ops::AddAssign;
use std::process::ExitCode;
use std::time::Instant;

use indicatif::ProgressBar;
use storage::simulation;

use crate::figure::Figure;

/// Bits flipped per page when every page is damaged in turn.
const FLIPS_PER_PAGE: u32 = 4;

/// Runs seeds `first..first + count`, and with the first of them a crash at every write and damage
/// to every page; prints a failing seed and how to replay it.
pub fn run(first: u64, count: u64, mut emit: impl FnMut(Figure)) -> ExitCode {
    let started = Instant::now();
    let begin = simulation::crash_everywhere(first).and_then(|mut report| {
        report += simulation::rot_everywhere(first, FLIPS_PER_PAGE)?;
        Ok(report)
    });
    let all = begin.and_then(|report| all(report, first, count, simulation::run));
    let report = match all {
        Ok(report) => report,
        Err(failure) => return failed(&failure, "", failure.seed),
    };
    let counts = [
        ("seeds", report.seeds),
        ("operations", report.operations),
        ("cancels", report.cancels),
        ("power_cuts", report.crashes),
        ("failed_writes", report.failed_writes),
        ("bit_flips", report.flips),
        ("bit_flips_detected", report.flips_detected),
    ];
    print("sim", &counts, report.trace_hash, started, &mut emit);
    ExitCode::SUCCESS
}

/// The same with statements of clients.
pub fn run_sql(first: u64, count: u64, mut emit: impl FnMut(Figure)) -> ExitCode {
    let started = Instant::now();
    let options = pg::options();
    let run = |seed| engine::simulation::run(&options, seed);
    let all = all(engine::simulation::Report::default(), first, count, run);
    let report = match all {
        Ok(report) => report,
        Err(failure) => return failed(&failure, "--sql ", failure.seed),
    };
    let counts = [
        ("seeds", report.seeds),
        ("statements", report.statements),
        ("refusals", report.refusals),
        ("comparisons", report.comparisons),
        ("cancels", report.cancels),
        ("cancelled_definitions", report.cancelled_definitions),
        ("cancelled_transactions", report.cancelled_transactions),
        ("drops", report.drops),
        ("power_cuts", report.crashes),
        ("faults", report.failures),
        ("disk_full", report.full),
    ];
    print("sim.sql", &counts, report.trace_hash, started, &mut emit);
    ExitCode::SUCCESS
}

fn all<R: AddAssign, F>(
    mut report: R,
    first: u64,
    count: u64,
    run: impl Fn(u64) -> Result<R, F>,
) -> Result<R, F> {
    let terminal = std::io::stderr().is_terminal();
    let bar = if terminal { ProgressBar::new(count) } else { ProgressBar::hidden() };
    for seed in first..first + count {
        report += run(seed)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(report)
}

fn failed(failure: &impl Display, option: &str, seed: u64) -> ExitCode {
    eprintln!("{failure}");
    eprintln!("replay: dovetail bench sim {option}--first {seed} --seeds 1");
    ExitCode::FAILURE
}

fn print(
    name: &str,
    counts: &[(&str, u64)],
    trace_hash: u64,
    started: Instant,
    emit: &mut impl FnMut(Figure),
) {
    for (what, count) in counts {
        emit(Figure::of(format!("{name}.{what}"), "", &[*count as f64]));
    }
    emit(
        Figure::of(format!("{name}.time"), "s", &[started.elapsed().as_secs_f64()])
            .with_detail(format!("trace {trace_hash:016x}; no defect")),
    );
}
