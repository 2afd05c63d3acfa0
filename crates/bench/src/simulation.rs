//! `dovetail bench sim`: random tree operations with faults, and crashes, in the simulator.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Instant;

use indicatif::ProgressBar;
use storage::simulation::{self, Failure, Report};

use crate::figure::Figure;

/// Bits flipped per page when every page is damaged in turn.
const FLIPS_PER_PAGE: u32 = 4;

/// Runs seeds `first..first + count`, and with the first of them a crash at every write and damage
/// to every page; prints a failing seed and how to replay it.
pub fn run(first: u64, count: u64, emit: impl FnMut(Figure)) -> ExitCode {
    let started = Instant::now();
    match all(first, count) {
        Ok(report) => {
            print(&report, started.elapsed().as_secs_f64(), emit);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            eprintln!("replay: dovetail bench sim --first {} --seeds 1", failure.seed);
            ExitCode::FAILURE
        }
    }
}

fn all(first: u64, count: u64) -> Result<Report, Failure> {
    let terminal = std::io::stderr().is_terminal();
    let bar = if terminal { ProgressBar::new(count) } else { ProgressBar::hidden() };
    let mut report = simulation::crash_everywhere(first)?;
    report += simulation::rot_everywhere(first, FLIPS_PER_PAGE)?;
    for seed in first..first + count {
        report += simulation::run(seed)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(report)
}

fn print(report: &Report, elapsed_s: f64, mut emit: impl FnMut(Figure)) {
    let counts = [
        ("seeds", report.seeds),
        ("operations", report.operations),
        ("cancels", report.cancels),
        ("power_cuts", report.crashes),
        ("failed_writes", report.failed_writes),
        ("bit_flips", report.flips),
        ("bit_flips_detected", report.flips_detected),
    ];
    for (name, count) in counts {
        emit(Figure::of(format!("sim.{name}"), "", &[count as f64]));
    }
    emit(
        Figure::of("sim.time", "s", &[elapsed_s])
            .with_detail(format!("trace {:016x}; no defect", report.trace_hash)),
    );
}
