//! Reads at random on each way to the device, beside each other: figures to look at, of an emulated
//! device if it is one.

use std::time::Duration;

use runtime::{Config, RingChoice, Runtime, probe};

use crate::device::with_device;

const SLICE: Duration = Duration::from_millis(500);
const DEPTH: usize = 32;

#[test]
fn every_way_reads() {
    with_device(|way, device| {
        let plain = Config { passthrough: false, ..way.config() };
        for (config, path, kind) in [
            (plain, device.block, "block device"),
            (way.config(), device.generic, "generic device"),
        ] {
            let config = Config { workers: 1, ring: RingChoice::Uring, ..config };
            let runtime = Runtime::start(config).unwrap();
            let probe = move || async move { probe::device(path, DEPTH, SLICE).await };
            let report = runtime.block_on(probe).unwrap();
            let cpu_us = report.cpu.as_secs_f64() * 1e6 / report.read_count.max(1) as f64;
            let (name, rate) = (way.name.trim_start_matches("passthrough"), report.rate());
            println!(
                "rung {kind}{name}: {rate:.0} reads a second, {cpu_us:.1} us of processor each"
            );
            assert!(report.read_count > 0 && report.direct);
        }
    });
}
