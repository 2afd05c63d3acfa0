//! Reads at random of one NVMe device by each way that io_uring has to it: the last rungs of
//! "io_uring for High-Performance DBMSs" (section 3.4.1), each by itself. Nothing is written.

use std::path::{Path, PathBuf};

use runtime::probe::{self, DeviceReport};
use runtime::{Config, RingChoice, Runtime};
use types::SqlResult;

use super::{DEPTH, SLICE, failed};
use crate::figure::Figure;

/// A way to a device.
struct Way {
    name: &'static str,
    passthrough: bool,
    iopoll: bool,
}

const WAYS: [Way; 4] = [
    Way { name: "block", passthrough: false, iopoll: false },
    Way { name: "block_iopoll", passthrough: false, iopoll: true },
    Way { name: "passthrough", passthrough: true, iopoll: false },
    Way { name: "passthrough_iopoll", passthrough: true, iopoll: true },
];

/// Measures each way `n` times, in turns, to the namespace with this generic device, like
/// `/dev/ng0n1`. A way that the machine has not is told on standard error.
///
/// # Errors
/// When that is no such device, no way is there, or a read fails.
pub fn run(generic: &Path, n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    let block = block_of(generic)?;
    let mut ways = vec![];
    for way in WAYS {
        let path = if way.passthrough { generic } else { &block };
        match read(&way, path) {
            Ok(_) => ways.push((way, path, vec![])),
            Err(why) => eprintln!("io.way.{}: {why}", way.name),
        }
    }
    if ways.is_empty() {
        return Err(failed(format!("{}: no way to it is there", generic.display())));
    }
    for _ in 0..n {
        for (way, path, reports) in &mut ways {
            reports.push(read(way, path)?);
        }
    }
    for (way, _, reports) in ways {
        let rates: Vec<f64> = reports.iter().map(DeviceReport::rate).collect();
        let cpu_us = |report: &DeviceReport| {
            report.cpu.as_secs_f64() * 1e6 / report.read_count.max(1) as f64
        };
        let costs: Vec<f64> = reports.iter().map(cpu_us).collect();
        let name = format!("io.way.{}", way.name);
        let detail = format!("4 KiB at random, {DEPTH} in flight by one worker");
        emit(Figure::of(format!("{name}.reads"), "1/s", &rates).with_detail(detail));
        emit(Figure::of(format!("{name}.cpu"), "us", &costs).with_detail("of the process, each"));
    }
    Ok(())
}

/// The block device of the same namespace.
fn block_of(generic: &Path) -> SqlResult<PathBuf> {
    let name = generic.file_name().and_then(|name| name.to_str()?.strip_prefix("ng"));
    match name {
        Some(rest) => Ok(generic.with_file_name(format!("nvme{rest}"))),
        None => Err(failed(format!("{}: no generic NVMe device (/dev/ngXnY)", generic.display()))),
    }
}

fn read(way: &Way, path: &Path) -> SqlResult<DeviceReport> {
    let config = Config {
        workers: 1,
        ring: RingChoice::Uring,
        attack: false,
        passthrough: way.passthrough,
        iopoll: way.iopoll,
        ..Config::default()
    };
    let (runtime, path) = (Runtime::start(config).map_err(failed)?, path.to_owned());
    let probe = move || async move { probe::device(path, DEPTH as usize, SLICE).await };
    runtime.block_on(probe).map_err(failed)
}
