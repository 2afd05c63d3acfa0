//! What a planner wants to know of a device: one read alone, many reads at once, and reads in sequence.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::device::{DeviceReport, reads_within};
use crate::buf::IoBuf;
use crate::fs::file::File;
use crate::fs::options::OpenOptions;
use crate::task::join::spawn;
use crate::task::remote::spawn_on;
use crate::time::now;
use crate::yielding::{random_u64, worker_count};

/// Reads in flight where there are many.
pub const MANY_DEPTH: usize = 128;

/// Bytes of a random read.
const READ_BYTES: usize = 4096;
/// Bytes of a read in sequence, and how many are in flight: as a scan reads.
const RUN_BYTES: usize = 256 << 10;
const RUNS_IN_FLIGHT: usize = 8;

/// How long each of the three is measured, so that the whole takes a quarter of a second. One read alone
/// needs few samples for its mean.
const ALONE: Duration = Duration::from_millis(50);
const MANY: Duration = Duration::from_millis(100);
const SEQUENCE: Duration = Duration::from_millis(100);

/// What a device gave through the ring of the runtime that asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileReport {
    /// Random reads of 4 KiB, one after the other.
    pub alone: DeviceReport,
    /// The same with [`MANY_DEPTH`] in flight.
    pub many: DeviceReport,
    /// Bytes per second of reads of 256 KiB in sequence, eight in flight.
    pub bytes_per_s: f64,
}

/// Reads from the first `len` bytes of a file, for a quarter of a second. To be called inside of a task.
///
/// # Errors
/// Those of the file system; `InvalidInput` for less than 256 KiB.
pub async fn profile(path: impl AsRef<Path>, len: u64) -> io::Result<ProfileReport> {
    let path = path.as_ref();
    let bytes_per_s = sequence(path, len).await?;
    let alone = reads_within(path, len, READ_BYTES, 1, ALONE).await?;
    let many = reads_within(path, len, READ_BYTES, MANY_DEPTH, MANY).await?;
    Ok(ProfileReport { alone, many, bytes_per_s })
}

/// Bytes per second of reads in sequence.
async fn sequence(path: &Path, len: u64) -> io::Result<f64> {
    let workers = worker_count().min(RUNS_IN_FLIGHT);
    let (begin, next) = (now(), Arc::new(AtomicU64::new(random_u64() >> 1)));
    let part = |index: usize| {
        let (path, next) = (path.to_owned(), next.clone());
        let share = RUNS_IN_FLIGHT / workers + usize::from(index < RUNS_IN_FLIGHT % workers);
        spawn_on(index, move || runs(path, len, share, next))
    };
    let parts: Vec<_> = (0..workers).map(part).collect();
    let mut count = 0;
    for part in parts {
        count += part.await.map_err(io::Error::other)??;
    }
    Ok((count * RUN_BYTES as u64) as f64 / begin.elapsed().as_secs_f64().max(1e-9))
}

/// What one worker reads, `share` runs in flight: each takes the next one of all workers. Their count.
async fn runs(path: PathBuf, len: u64, share: usize, next: Arc<AtomicU64>) -> io::Result<u64> {
    let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
    let file = File::open(path, options).await?;
    let count = file.len().await?.min(len) / RUN_BYTES as u64;
    if count == 0 {
        let message = format!("the file is shorter than one read of {RUN_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let deadline = now() + SEQUENCE;
    let reader = |mut buf: IoBuf| {
        let (file, next) = (file.clone(), next.clone());
        spawn(async move {
            let mut done = 0;
            while now() < deadline {
                let offset = next.fetch_add(1, Relaxed) % count * RUN_BYTES as u64;
                let (result, back) = file.read_exact_at(buf, offset).await;
                result?;
                buf = back;
                done += 1;
            }
            io::Result::Ok(done)
        })
    };
    let readers: Vec<_> = IoBuf::alloc_many(share, RUN_BYTES).into_iter().map(reader).collect();
    let mut done = 0;
    for reader in readers {
        done += reader.await.map_err(io::Error::other)??;
    }
    Ok(done)
}
