//! Runtimes of each kind.

use std::time::Duration;

use runtime::{Config, RingChoice, Runtime, Sqpoll};

/// A runtime of the machine with `workers` workers; `None` if this machine refuses io_uring.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn start(ring: RingChoice, workers: usize) -> Option<Runtime> {
    start_as(Config { ring, workers, ..Config::default() })
}

fn start_as(config: Config) -> Option<Runtime> {
    let uring = matches!(config.ring, RingChoice::Uring);
    match Runtime::start(Config { seed: 7, ..config }) {
        Ok(runtime) => Some(runtime),
        Err(error) if uring => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test on each way to the real disk, options included.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn on_each(workers: usize, test: impl Fn(&Runtime)) {
    let sqpoll = Some(Sqpoll { idle: Duration::from_millis(1), cpu: None });
    let ways = [
        Config { ring: RingChoice::Uring, ..Config::default() },
        Config {
            ring: RingChoice::Uring,
            registered_files: false,
            registered_buffers: false,
            ..Config::default()
        },
        Config { ring: RingChoice::Threads, ..Config::default() },
        Config { ring: RingChoice::Uring, sqpoll, ..Config::default() },
        Config { ring: RingChoice::Uring, passthrough: true, ..Config::default() },
    ];
    for way in ways {
        if let Some(runtime) = start_as(Config { workers, ..way }) {
            test(&runtime);
        }
    }
}
