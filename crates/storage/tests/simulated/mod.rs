//! A runtime over a simulated disk.

use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime};

/// Runs tasks in a simulated runtime without faults.
pub fn simulated<T: Send + 'static, F: Future<Output = T> + 'static>(
    disk: &Disk,
    make: impl FnOnce() -> F + Send + 'static,
) -> T {
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { workers: 1, ring, attack: false, ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(make)
}
