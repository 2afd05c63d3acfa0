//! What follows from what was measured, by the guidelines of "io_uring for High-Performance DBMSs" (sections
//! 3.4, 3.6 and 5.1). Each piece says from what it follows, and where the paper speaks of it.

use std::time::Duration;

use runtime::RingKind;
use runtime::probe::DeviceReport;

use super::measure::Measured;

/// A thing to decide, what to do, and why.
pub struct Advice {
    pub topic: &'static str,
    pub what: String,
    pub why: String,
    pub section: &'static str,
}

/// A durable write that takes no longer than this has met no flash and no disk: a cache that keeps its contents
/// without power, or a host that says so.
const BY_CACHE: Duration = Duration::from_micros(200);
/// Cores below which none is given away to poll.
const CORES_TO_POLL: usize = 8;

/// All advice, in the order of the paper.
pub fn advise(measured: &Measured) -> Vec<Advice> {
    let mut all = vec![depth(measured), block(measured), workers(measured), cache(measured)];
    all.extend([durability(measured), sqpoll(measured), iopoll(measured), passthrough(measured)]);
    all
}

fn depth(measured: &Measured) -> Advice {
    let (few, many) = (&measured.steps[0], &measured.steps[1]);
    let requests = measured.queue.as_ref().and_then(|queue| queue.requests_max);
    let what = match requests {
        Some(requests) => format!("at most {requests} requests in flight"),
        None => "as deep as the device gains from".to_owned(),
    };
    let rates = format!(
        "{:.0} reads of 4 KiB a second with {} in flight, {:.0} with {}",
        few.1.rate(),
        few.0.1,
        many.1.rate(),
        many.0.1
    );
    let why = match requests {
        Some(requests) => {
            format!("nr_requests is {requests}, and beyond it submitting waits; {rates}")
        }
        None => format!("the kernel shows no queue here; {rates}"),
    };
    Advice { topic: "depth", what, why, section: "3.6, Figure 8" }
}

/// Bytes a second.
fn throughput(bytes: usize, report: &DeviceReport) -> f64 {
    report.rate() * bytes as f64
}

fn block(measured: &Measured) -> Advice {
    let best =
        measured.steps.iter().map(|((bytes, _), r)| throughput(*bytes, r)).fold(0.0, f64::max);
    let is_good = |((bytes, _), r): &&((usize, usize), DeviceReport)| {
        r.kernel_workers == 0 && throughput(*bytes, r) >= 0.9 * best
    };
    let largest =
        |((bytes, _), r): &&((usize, usize), DeviceReport)| *bytes > 4096 && r.kernel_workers == 0;
    let chosen = measured.steps.iter().find(is_good);
    let chosen = chosen.or_else(|| measured.steps.iter().rev().find(largest));
    let ((bytes, depth), report) = chosen.unwrap_or(&measured.steps[0]);
    let gib = throughput(*bytes, report) / f64::from(1 << 30);
    let why = format!(
        "{depth} in flight give {gib:.2} GiB/s; {:.2} us of processor time for each MiB{}",
        cpu_us(report) / (*bytes as f64 / f64::from(1 << 20)),
        limits(measured)
    );
    let what = format!("scans read {} at a time", stdx::format_bytes(*bytes as u64));
    Advice { topic: "block size", what, why, section: "3.6, Figure 8" }
}

/// What the queue says of the size of requests.
fn limits(measured: &Measured) -> String {
    let Some(queue) = &measured.queue else { return String::new() };
    let size = |name: &str, bytes: Option<u64>| {
        let bytes = bytes.filter(|bytes| *bytes < 1 << 40)?;
        Some(format!("; {name}: {}", stdx::format_bytes(bytes)))
    };
    let segments = queue.segments_max.map(|count| format!("; max_segments: {count}"));
    let hardware = size("max_hw_sectors_kb", queue.hardware_bytes_max);
    let kernel = size("max_sectors_kb", queue.request_bytes_max);
    [hardware, kernel, segments].into_iter().flatten().collect()
}

/// Processor time of a read in microseconds.
fn cpu_us(report: &DeviceReport) -> f64 {
    report.cpu.as_secs_f64() * 1e6 / report.read_count.max(1) as f64
}

fn workers(measured: &Measured) -> Advice {
    let is_slow = |step: &&((usize, usize), DeviceReport)| step.1.kernel_workers > 0;
    let served: Vec<String> = measured
        .steps
        .iter()
        .filter(is_slow)
        .map(|((bytes, depth), r)| {
            let bytes = stdx::format_bytes(*bytes as u64);
            format!("{bytes} with {depth} in flight: {}", r.kernel_workers)
        })
        .collect();
    let is_uring = measured.steps[0].1.kind == RingKind::Uring;
    let (what, why) = match (is_uring, served.as_slice()) {
        (false, _) => {
            ("none: there is no io_uring".to_owned(), "a pool of threads reads".to_owned())
        }
        (true, []) => {
            let why = "no request needed a thread of the kernel (iou-wrk)".to_owned();
            ("nothing to avoid".to_owned(), why)
        }
        (true, served) => {
            let why = format!("threads of the kernel (iou-wrk) served {}", served.join("; "));
            ("stay below these sizes and depths".to_owned(), why)
        }
    };
    Advice { topic: "fall-back", what, why, section: "2.2 and 3.6" }
}

fn cache(measured: &Measured) -> Advice {
    let told = measured.queue.as_ref().and_then(|queue| queue.is_cache_volatile);
    let synced = measured.durable.synced;
    let (what, why) = match told {
        Some(false) => (
            "there is power-loss protection, or no cache",
            "write_cache is \"write through\": what is written is durable".to_owned(),
        ),
        Some(true) if synced <= BY_CACHE => (
            "volatile, it says, but a flush costs next to nothing",
            format!(
                "write_cache is \"write back\", and a flushed write takes {synced:.0?}: a host or a controller keeps it; ask whether it survives a loss of power"
            ),
        ),
        Some(true) => (
            "volatile: a commit has to flush it",
            format!(
                "write_cache is \"write back\"; a flushed write takes {synced:.0?}, one without a flush {:.0?}",
                measured.durable.plain
            ),
        ),
        None => ("unknown: commits flush it", "the kernel shows no queue here".to_owned()),
    };
    Advice { topic: "write cache", what: what.to_owned(), why, section: "3.6, Figure 9" }
}

fn durability(measured: &Measured) -> Advice {
    let durable = &measured.durable;
    let synced = format!("write and fdatasync {:.0?}", durable.synced);
    // A tenth more is within what a busy machine adds.
    let (what, why) = match durable.dsync {
        None => ("write, then fdatasync", format!("{synced}; RWF_DSYNC is refused")),
        Some(dsync) if dsync > durable.synced.mul_f64(1.1) => (
            "worth a trial: wal_sync_method = fdatasync",
            format!("{synced}, RWF_DSYNC {dsync:.0?}"),
        ),
        Some(dsync) => ("one write with RWF_DSYNC", format!("{dsync:.0?} with it, {synced}")),
    };
    let why =
        format!("{why}; a plain write {:.0?}; group commit shares each of them", durable.plain);
    Advice { topic: "durable writes", what: what.to_owned(), why, section: "3.6, Figure 9" }
}

fn sqpoll(measured: &Measured) -> Advice {
    let plain = &measured.steps[0].1;
    let topic = "SQPOLL";
    let section = "3.4.1 and 5.1 (3)";
    let Some(polled) = &measured.polled else {
        let why = "a ring with a polling thread is refused".to_owned();
        return Advice { topic, what: "no".to_owned(), why, section };
    };
    let gain = polled.rate() / plain.rate().max(1.0);
    let pays = measured.cores >= CORES_TO_POLL && gain >= 1.1;
    let what = if pays { "worth a trial: sqpoll = on" } else { "no" };
    let why = format!(
        "{gain:.2} times the reads a second for {:.1} instead of {:.1} us of processor time each; the thread takes one of {} cores while it is awake",
        cpu_us(polled),
        cpu_us(plain),
        measured.cores
    );
    Advice { topic, what: what.to_owned(), why, section }
}

fn iopoll(measured: &Measured) -> Advice {
    let can_poll = measured.queue.as_ref().and_then(|queue| queue.can_poll);
    let (what, why) = match can_poll {
        Some(true) => ("possible", "io_poll is 1; commits need a ring without it, for they flush"),
        Some(false) => ("no", "io_poll is 0: the driver has no queues to poll (NVMe: poll_queues)"),
        None => ("no", "the kernel shows no queue here"),
    };
    Advice { topic: "IOPOLL", what: what.to_owned(), why: why.to_owned(), section: "3.4.1" }
}

fn passthrough(measured: &Measured) -> Advice {
    let device = measured.queue.as_ref().and_then(|queue| queue.passthrough.as_ref());
    let (what, why) = match device {
        Some(device) => (
            format!("possible, at {}", device.display()),
            "without a file system: not for databases, but for `dovetail bench io --device`",
        ),
        None => ("no".to_owned(), "there is no generic device of an NVMe namespace (/dev/ngXnY)"),
    };
    Advice { topic: "passthrough", what, why: why.to_owned(), section: "3.4.1" }
}

#[cfg(test)]
mod tests;
