//! What the device gives, and what a request costs, probed through the same ring in the same run.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use runtime::fs::{File, OpenOptions};
use runtime::{Config, IoBuf, RingChoice, probe, time};
use types::SqlResult;

use super::{failed, started};
use crate::device::cpu_seconds;

const PAGE_BYTES: usize = 4096;

/// Pages of a batch of writes, as many as leave the pool together.
const BATCH_PAGES: usize = 64;

/// Reads in flight.
const DEPTH: usize = 128;

/// Batches of writes in flight beside reads.
const WRITES: usize = 4;

/// Pages of the file that is probed: far more than a device's own cache would hold of it in a slice.
const FILE_PAGES: u64 = 256 * 1024;

/// The name of the file that is probed, within the folder of the run.
const FILE: &str = "ladder.probe";

/// What was probed in a round.
pub(super) struct Device {
    /// A random read of 4 KiB, alone in flight.
    pub read_us: f64,
    /// A write of 4 KiB in its place, alone in flight.
    pub write_us: f64,
    /// `fdatasync` after it.
    pub sync_us: f64,
    /// Processor time of a read with many in flight.
    pub read_cpu_us: f64,
    /// Processor time of a read that is submitted by itself.
    pub single_read_cpu_us: f64,
    /// Processor time of a page that is written in a batch.
    pub write_cpu_us: f64,
    reads_per_s: f64,
    /// Reads a second with many in flight, beside as many writes as transactions have.
    pub mixed_reads_per_s: f64,
}

impl Device {
    /// How many reads are left of those that the device gives without writes beside them.
    pub fn mixed_over_alone(&self) -> f64 {
        self.mixed_reads_per_s / self.reads_per_s
    }

    pub fn probe(folder: &Path, slice: Duration) -> SqlResult<Device> {
        let path = folder.join(FILE);
        let runtime = started(config())?;
        runtime.block_on(move || async move {
            let file = open(&path).await?;
            let one = probe::device(&path, 1, slice / 2).await.map_err(failed)?;
            let many = probe::device(&path, DEPTH, slice / 2).await.map_err(failed)?;
            if !many.direct {
                return Err(failed(
                    "the page cache cannot be bypassed here: the device cannot be seen",
                ));
            }
            let durable = probe::durable(path.parent().expect("a folder")).map_err(failed)?;
            let cpu = |report: &probe::DeviceReport| {
                report.cpu.as_secs_f64() * 1e6 / report.read_count.max(1) as f64
            };
            let (_, write_cpu_us) = writes(&file, slice / 2).await?;
            Ok(Device {
                read_us: 1e6 / one.rate(),
                write_us: durable.plain.as_secs_f64() * 1e6,
                sync_us: durable.synced.saturating_sub(durable.plain).as_secs_f64() * 1e6,
                read_cpu_us: cpu(&many),
                single_read_cpu_us: cpu(&one),
                write_cpu_us,
                reads_per_s: many.rate(),
                mixed_reads_per_s: 0.0,
            })
        })
    }

    /// The reads that the device gives beside `pages` written for each of them, in batches.
    pub fn probe_mixed(&mut self, folder: &Path, pages: f64, slice: Duration) -> SqlResult<()> {
        let path = folder.join(FILE);
        let runtime = started(config())?;
        let rate =
            runtime.block_on(move || async move { mixed(open(&path).await?, pages, slice).await });
        self.mixed_reads_per_s = rate?;
        Ok(())
    }
}

fn config() -> Config {
    Config { workers: 1, ring: RingChoice::Uring, attack: false, ..Config::default() }
}

/// The file, filled when it is new.
async fn open(path: &Path) -> SqlResult<File> {
    let options = OpenOptions {
        read: true,
        write: true,
        create: true,
        direct: true,
        lock: false,
        overlay: None,
        create_new: false,
    };
    let file = File::open(path, options).await.map_err(failed)?;
    if file.len().await.map_err(failed)? < FILE_PAGES * PAGE_BYTES as u64 {
        let bytes = 256 * PAGE_BYTES;
        for at in (0..FILE_PAGES * PAGE_BYTES as u64).step_by(bytes) {
            let mut buf = IoBuf::alloc(bytes);
            buf.as_mut_slice().fill(at as u8 | 1);
            file.write_all_at(buf, at).await.0.map_err(failed)?;
        }
        file.sync_data().await.map_err(failed)?;
    }
    Ok(file)
}

/// Pages a second, and processor time of each, when nothing is done but writing batches in sequence.
async fn writes(file: &File, slice: Duration) -> SqlResult<(f64, f64)> {
    let (began, cpu, mut pages) = (time::now(), cpu_seconds()?, 0);
    while began.elapsed() < slice {
        write_batch(file, pages).await?;
        pages += BATCH_PAGES as u64;
    }
    let cpu_us = (cpu_seconds()? - cpu) * 1e6 / pages as f64;
    Ok((pages as f64 / began.elapsed().as_secs_f64(), cpu_us))
}

async fn write_batch(file: &File, pages_before: u64) -> SqlResult<()> {
    let first = pages_before % (FILE_PAGES - BATCH_PAGES as u64);
    let pages = (0..BATCH_PAGES).map(|_| IoBuf::alloc(PAGE_BYTES)).collect();
    file.write_vectored_all_at(pages, first * PAGE_BYTES as u64).await.0.map_err(failed)
}

/// Reads a second beside `pages` written for each read: of so many reads as the writes kept up with.
async fn mixed(file: File, pages: f64, slice: Duration) -> SqlResult<f64> {
    let (began, reads, written) = (time::now(), Rc::<Cell<u64>>::default(), Rc::default());
    let reader = |_| {
        let (file, reads) = (file.clone(), reads.clone());
        runtime::spawn(async move {
            let mut buf = IoBuf::alloc(PAGE_BYTES);
            while began.elapsed() < slice {
                let offset = runtime::random_u64() % FILE_PAGES * PAGE_BYTES as u64;
                let (result, back) = file.read_exact_at(buf, offset).await;
                result.map_err(failed)?;
                buf = back;
                reads.set(reads.get() + 1);
            }
            SqlResult::Ok(())
        })
    };
    let readers: Vec<_> = (0..DEPTH).map(reader).collect();
    let writer = |_| {
        let (file, reads, written) = (file.clone(), reads.clone(), Rc::clone(&written));
        runtime::spawn(write_beside(file, reads, written, pages, began, slice))
    };
    let writers: Vec<_> = (0..WRITES).map(writer).collect();
    for task in readers.into_iter().chain(writers) {
        task.await.map_err(failed)??;
    }
    let reads = (reads.get() as f64).min(written.get() as f64 / pages);
    Ok(reads / began.elapsed().as_secs_f64())
}

/// Writes batches as long as they are fewer pages than belong to the reads.
async fn write_beside(
    file: File,
    reads: Rc<Cell<u64>>,
    written: Rc<Cell<u64>>,
    pages: f64,
    began: time::Instant,
    slice: Duration,
) -> SqlResult<()> {
    while began.elapsed() < slice {
        let before = written.get();
        if (before as f64) < reads.get() as f64 * pages {
            written.set(before + BATCH_PAGES as u64);
            write_batch(&file, before).await?;
        } else {
            runtime::yield_now().await;
        }
    }
    Ok(())
}
