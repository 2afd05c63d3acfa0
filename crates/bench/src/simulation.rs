//! `dovetail bench sim`: random tree operations with faults, and crashes, in the simulator.

use std::process::ExitCode;
use std::time::Instant;

use crate::figure::Figure;

/// Runs seeds `first..first + count`; prints the first failing seed and how to replay it.
pub fn run(first: u64, count: u64, mut emit: impl FnMut(Figure)) -> ExitCode {
    let started = Instant::now();
    for seed in first..first + count {
        if let Err(failure) = storage::simulation::run(seed) {
            eprintln!("seed {seed} failed: {failure}");
            eprintln!("replay: dovetail bench sim --first {seed} --seeds 1");
            return ExitCode::FAILURE;
        }
    }
    let per_s = count as f64 / started.elapsed().as_secs_f64();
    emit(Figure::of("sim.seeds_passed", "", &[count as f64]));
    emit(Figure::of("sim.seeds_per_s", "1/s", &[per_s]));
    ExitCode::SUCCESS
}
