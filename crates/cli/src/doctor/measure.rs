//! What the device below a folder gives, in the ways that the advice chooses between.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runtime::probe::{self, DeviceReport, DurableReport, QueueReport};
use runtime::{Config, RingChoice, RingKind, Runtime, Sqpoll};

/// Bytes of the file that is read: more than a disk's own cache of a moment ago, and written in a second.
const FILE_BYTES: usize = 64 << 20;
/// How long each kind of reads is measured.
const STEP: Duration = Duration::from_millis(150);
/// How long the kernel's thread for submissions stays awake.
const SQPOLL_IDLE: Duration = Duration::from_millis(50);

/// Reads of so many bytes, so many in flight.
pub type Shape = (usize, usize);

/// The shapes that are looked at, by size. The last of 4 KiB asks for more at once than most queues hold.
const SHAPES: [Shape; 7] = [
    (4 << 10, 64),
    (4 << 10, 1024),
    (64 << 10, 16),
    (256 << 10, 8),
    (512 << 10, 8),
    (1 << 20, 8),
    (4 << 20, 4),
];

/// All that was measured.
pub struct Measured {
    pub queue: Option<QueueReport>,
    pub cores: usize,
    /// Each shape with what it gave.
    pub steps: Vec<(Shape, DeviceReport)>,
    /// The first shape with a thread of the kernel that takes submissions; `None` where that is refused.
    pub polled: Option<DeviceReport>,
    pub durable: DurableReport,
}

/// Measures beside a file or in a folder, which takes two seconds and 64 MiB for as long.
pub fn measure(path: &Path) -> io::Result<Measured> {
    let queue = probe::queue(path)?;
    let folder = match path.is_dir() {
        true => path.to_owned(),
        false => {
            path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
        }
    };
    let durable = probe::durable(&folder)?;
    let trial = Trial::new(&folder)?;
    let plain = |shape| Ok((shape, reads(&trial.0, shape, None)?));
    let steps = SHAPES.into_iter().map(plain).collect::<io::Result<Vec<_>>>()?;
    let sqpoll = Sqpoll { idle: SQPOLL_IDLE, cpu: None };
    let polled = reads(&trial.0, SHAPES[0], Some(sqpoll)).ok();
    let polled = polled.filter(|report| report.kind == RingKind::Uring);
    let cores = probe::system().cpu_count;
    Ok(Measured { queue, cores, steps, polled, durable })
}

/// Reads on one worker of its own, whose end takes the kernel's threads for it along.
fn reads(path: &Path, (bytes, depth): Shape, sqpoll: Option<Sqpoll>) -> io::Result<DeviceReport> {
    let ring = if sqpoll.is_some() { RingChoice::Uring } else { RingChoice::Auto };
    let config = Config { workers: 1, ring, sqpoll, pin: false, ..Config::default() };
    let runtime = Runtime::start(config).map_err(io::Error::other)?;
    let path = path.to_owned();
    runtime.block_on(move || async move { probe::reads(path, bytes, depth, STEP).await })
}

/// A file of random bytes that is gone in the end.
struct Trial(PathBuf);

impl Trial {
    fn new(folder: &Path) -> io::Result<Trial> {
        let trial = Trial(folder.join(format!(".dovetail-trial-{}", std::process::id())));
        let numbers = std::iter::successors(Some(1u64), |x| {
            Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        });
        let bytes: Vec<u8> = numbers.take(FILE_BYTES / 8).flat_map(u64::to_le_bytes).collect();
        fs::write(&trial.0, bytes)?;
        fs::File::open(&trial.0)?.sync_all()?;
        Ok(trial)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}
