//! Runtimes of each kind.

use runtime::{Config, RingChoice, Runtime};

/// A runtime of the machine with `workers` workers; `None` if this machine refuses io_uring.
pub fn start(ring: RingChoice, workers: usize) -> Option<Runtime> {
    let uring = matches!(ring, RingChoice::Uring);
    match Runtime::start(Config { ring, workers, seed: 7, ..Config::default() }) {
        Ok(runtime) => Some(runtime),
        Err(error) if uring => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test on both ways to the real disk.
pub fn on_both(workers: usize, test: impl Fn(&Runtime)) {
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        if let Some(runtime) = start(ring, workers) {
            test(&runtime);
        }
    }
}
