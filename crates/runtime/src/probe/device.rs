//! The device's own limit: reads at random, so that a workload can be set against it in the same run.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::buf::IoBuf;
use crate::clock;
use crate::fs::file::File;
use crate::fs::options::OpenOptions;
use crate::ring::kind::RingKind;
use crate::task::join::spawn;
use crate::task::remote::spawn_on;
use crate::time::now;
use crate::yielding::{random_u64, worker_count};

/// The size of a read in bytes: the unit that SSDs serve best at random.
const READ_BYTES: usize = 4096;

/// What a device gave.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceReport {
    /// Reads completed.
    pub read_count: u64,
    /// From the first submission to the last completion.
    pub elapsed: Duration,
    /// Processor time that the process used meanwhile.
    pub cpu: Duration,
    /// Reads in flight at once, over all workers.
    pub depth: usize,
    /// The median of a read's latency.
    pub latency_median: Duration,
    /// 99 of 100 reads were faster.
    pub latency_p99: Duration,
    /// How the requests travelled.
    pub kind: RingKind,
    /// Whether they went past the page cache; otherwise this is no figure of the device.
    pub direct: bool,
    /// Threads of the kernel that served requests of this process in its place: io_uring has them do what it
    /// cannot begin without waiting ("io_uring for High-Performance DBMSs", section 2.2). They stay for some
    /// seconds: those of earlier requests of the same threads count.
    pub kernel_workers: usize,
}

impl DeviceReport {
    /// Reads per second.
    pub fn rate(&self) -> f64 {
        self.read_count as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Reads 4 KiB pages of a file at random for about `duration`, with `depth` reads in flight spread
/// over all workers. To be called inside of a task.
pub async fn device(
    path: impl AsRef<Path>,
    depth: usize,
    duration: Duration,
) -> io::Result<DeviceReport> {
    reads(path, READ_BYTES, depth, duration).await
}

/// The same with reads of `bytes`, a power of two of at least 512.
///
/// # Errors
/// Those of the file system; `InvalidInput` for a file that is shorter than one read.
pub async fn reads(
    path: impl AsRef<Path>,
    bytes: usize,
    depth: usize,
    duration: Duration,
) -> io::Result<DeviceReport> {
    reads_within(path, u64::MAX, bytes, depth, duration).await
}

/// The same within the first `len` bytes of the file.
pub(super) async fn reads_within(
    path: impl AsRef<Path>,
    len: u64,
    bytes: usize,
    depth: usize,
    duration: Duration,
) -> io::Result<DeviceReport> {
    assert!(bytes >= 512 && bytes.is_power_of_two(), "reads are of whole blocks");
    let workers = worker_count().min(depth.max(1));
    let depth = depth.max(1);
    let (begin, cpu) = (now(), clock::process());
    let part = |index: usize| {
        let path = path.as_ref().to_owned();
        let share = depth / workers + usize::from(index < depth % workers);
        spawn_on(index, move || on_one_worker(path, len, bytes, share, duration))
    };
    let parts: Vec<_> = (0..workers).map(part).collect();
    let mut latencies_ns = Vec::new();
    let mut backend = None;
    for part in parts {
        let (latencies, file) = part.await.map_err(io::Error::other)??;
        latencies_ns.extend(latencies);
        backend = Some(file.backend().clone());
    }
    let (elapsed, cpu) = (begin.elapsed(), clock::process() - cpu);
    let backend = backend.expect("there is at least one worker");
    latencies_ns.sort_unstable();
    Ok(DeviceReport {
        read_count: latencies_ns.len() as u64,
        elapsed,
        cpu,
        depth,
        latency_median: quantile(&latencies_ns, 50),
        latency_p99: quantile(&latencies_ns, 99),
        kind: backend.kind,
        direct: backend.direct,
        kernel_workers: kernel_workers(),
    })
}

/// Threads of this process that are the kernel's workers for io_uring.
fn kernel_workers() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let names = threads.filter_map(|thread| std::fs::read(thread.path().join("comm")).ok());
    names.filter(|name| name.starts_with(b"iou-wrk")).count()
}

fn quantile(sorted_ns: &[u64], percent: usize) -> Duration {
    let index = (sorted_ns.len() * percent / 100).min(sorted_ns.len().saturating_sub(1));
    Duration::from_nanos(sorted_ns.get(index).copied().unwrap_or(0))
}

async fn on_one_worker(
    path: PathBuf,
    len: u64,
    bytes: usize,
    depth: usize,
    duration: Duration,
) -> io::Result<(Vec<u64>, File)> {
    let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
    let file = File::open(path, options).await?;
    let pages = file.len().await?.min(len) / bytes as u64;
    if pages == 0 {
        let message = format!("the file is shorter than one read of {bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let deadline = now() + duration;
    let reader = |mut buf: IoBuf| {
        let file = file.clone();
        spawn(async move {
            let mut latencies_ns = Vec::new();
            while now() < deadline {
                let begin = now();
                let offset = random_u64() % pages * bytes as u64;
                let (result, back) = file.read_exact_at(buf, offset).await;
                result?;
                buf = back;
                latencies_ns.push(begin.elapsed().as_nanos() as u64);
            }
            io::Result::Ok(latencies_ns)
        })
    };
    let buffers = IoBuf::alloc_many(depth, bytes);
    let readers: Vec<_> = buffers.into_iter().map(reader).collect();
    let mut all = Vec::new();
    for reader in readers {
        all.extend(reader.await.map_err(io::Error::other)??);
    }
    Ok((all, file))
}
