//! `dovetail bench io`: the micro-benchmarks of "io_uring for High-Performance DBMSs" on this machine, each
//! with the paper's figure beside it. The paper had eight SSDs of 2.45 million reads a second each, and no
//! virtual machine: compare shapes, not sizes.

pub mod ways;

use std::path::Path;
use std::time::Duration;

use runtime::fs::Durability;
use runtime::fs::{File, OpenOptions};
use runtime::probe::{self, TaskWork};
use runtime::{Config, IoBuf, RingChoice, Runtime};
use types::{SqlError, SqlResult, SqlState};

use crate::figure::Figure;

/// Length of one measurement.
const SLICE: Duration = Duration::from_millis(300);

/// Bytes of the file: more than a device's own cache holds of it for long.
const FILE_BYTES: u64 = 1 << 30;

/// Bytes of a request while the file is made.
const CHUNK_BYTES: usize = 1 << 20;

/// Requests of a batch.
const BATCHES: [u32; 6] = [1, 4, 16, 32, 64, 128];

/// Reads in flight where their number is not the subject.
const DEPTH: u32 = 64;

/// Writes a second of table 2: below what the device gives.
const WRITES_PER_S: f64 = 8_000.0;

/// Batches of table 2, and the paper's mean latencies in microseconds.
const TABLE_2: [(u32, f64); 6] =
    [(1, 11.51), (8, 24.22), (32, 60.62), (64, 116.40), (128, 200.85), (256, 317.51)];

/// Sizes of requests, from a page to beyond what the kernel gives to a device at once.
const BLOCK_KIB: [usize; 7] = [4, 16, 64, 128, 256, 512, 2048];

/// Writes of each kind that become durable.
const DURABLE_COUNT: u32 = 40;

fn failed(what: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("io: {what}"))
}

/// Measures everything `n` times, on a new file in `folder`.
///
/// # Errors
/// When io_uring or direct I/O cannot be had, or the file not be made.
pub fn run(folder: &Path, n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    let path = folder.join("io.probe");
    fill(&path)?;
    batching(n, emit)?;
    reads(&path, n, emit)?;
    latencies(&path, n, emit)?;
    block_sizes(&path, n, emit)?;
    rings(&path, n, emit)?;
    durability(&path, n, emit)
}

/// The figure of `n` measurements.
fn figure(
    name: String,
    unit: &'static str,
    n: usize,
    detail: &str,
    emit: &mut dyn FnMut(Figure),
    mut measure: impl FnMut() -> SqlResult<f64>,
) -> SqlResult<()> {
    let values = (0..n).map(|_| measure()).collect::<SqlResult<Vec<f64>>>()?;
    emit(Figure::of(format!("io.{name}"), unit, &values).with_detail(detail));
    Ok(())
}

fn started(workers: usize) -> SqlResult<Runtime> {
    let config = Config { workers, ring: RingChoice::Uring, attack: false, ..Config::default() };
    Runtime::start(config).map_err(failed)
}

fn fill(path: &Path) -> SqlResult<()> {
    let path = path.to_owned();
    started(1)?.block_on(move || async move {
        let options =
            OpenOptions { write: true, create: true, direct: true, ..OpenOptions::default() };
        let file = File::open(path, options).await.map_err(failed)?;
        if !file.backend().direct {
            return Err(failed(
                "the page cache cannot be bypassed here: the device cannot be seen",
            ));
        }
        let mut buf = IoBuf::alloc(CHUNK_BYTES);
        for offset in (0..FILE_BYTES).step_by(CHUNK_BYTES) {
            buf.as_mut_slice().fill((offset >> 20) as u8 | 1);
            let (written, back) = file.write_all_at(buf, offset).await;
            written.map_err(failed)?;
            buf = back;
        }
        file.sync_data().await.map_err(failed)
    })
}

/// Section 2.1: what a request costs beside others of its system call; section 2.2: by a thread of the kernel.
fn batching(n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    for batch in BATCHES {
        let detail = "each; in the paper 5 to 6 times less with 16 at a time than with one";
        figure(format!("nop.batch{batch}"), "ns", n, detail, emit, || {
            probe::nops(batch, false, SLICE).map(|each| each.as_nanos() as f64).map_err(failed)
        })?;
    }
    let detail = "more than inline, each alone; in the paper 7.3 us";
    figure("nop.by_worker".into(), "us", n, detail, emit, || {
        let inline = probe::nops(1, false, SLICE).map_err(failed)?;
        let by_worker = probe::nops(1, true, SLICE).map_err(failed)?;
        Ok(by_worker.saturating_sub(inline).as_nanos() as f64 / 1e3)
    })
}

/// Table 1: processor time of a read alone and in batches; section 2.2: by the mode of task work.
fn reads(path: &Path, n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    for batch in BATCHES.into_iter().filter(|batch| *batch <= DEPTH) {
        let detail = "of the process, each; in the paper 10,200 cycles alone, 5,400 in batches";
        figure(format!("read.batch{batch}.cpu"), "ns", n, detail, emit, || {
            probe::batched_reads(path, TaskWork::Deferred, DEPTH, batch, SLICE)
                .map(|costs| costs.cpu_ns)
                .map_err(failed)
        })?;
    }
    for (mode, name) in [
        (TaskWork::Default, "default"),
        (TaskWork::Cooperative, "cooperative"),
        (TaskWork::Deferred, "deferred"),
    ] {
        let detail = format!("{DEPTH} in flight; the paper takes deferred for all that follows");
        for (what, unit) in [("reads", "1/s"), ("cpu", "ns")] {
            figure(format!("task_work.{name}.{what}"), unit, n, &detail, emit, || {
                let costs = probe::batched_reads(path, mode, DEPTH, 1, SLICE).map_err(failed)?;
                Ok(if what == "cpu" { costs.cpu_ns } else { costs.per_s })
            })?;
        }
    }
    Ok(())
}

/// Table 2: how long a write takes that comes with others, at the same rate.
fn latencies(path: &Path, n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    for (batch, paper_us) in TABLE_2 {
        let (mut means, mut deviations) = (vec![], vec![]);
        for _ in 0..n {
            let (mean, deviation) =
                probe::batched_writes(path, batch, WRITES_PER_S, SLICE).map_err(failed)?;
            means.push(mean.as_secs_f64() * 1e6);
            deviations.push(deviation.as_secs_f64() * 1e6);
        }
        let detail = format!("{WRITES_PER_S} writes a second; in the paper {paper_us} us");
        let name = format!("io.write.batch{batch}");
        emit(Figure::of(format!("{name}.latency"), "us", &means).with_detail(detail));
        emit(Figure::of(format!("{name}.deviation"), "us", &deviations));
    }
    Ok(())
}

/// Figure 8: bytes a second, and processor time of each, by the size of a read; and from which size on threads
/// of the kernel serve them.
fn block_sizes(path: &Path, n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    for kib in BLOCK_KIB {
        let (mut rates, mut costs, mut threads) = (vec![], vec![], vec![]);
        for _ in 0..n {
            let (runtime, path) = (started(1)?, path.to_owned());
            let probe = move || async move { probe::reads(path, kib << 10, 8, SLICE).await };
            let report = runtime.block_on(probe).map_err(failed)?;
            let gib = (report.read_count * kib as u64 * 1024) as f64 / (1u64 << 30) as f64;
            rates.push(gib / report.elapsed.as_secs_f64());
            costs.push(report.cpu.as_secs_f64() / gib.max(1e-9));
            threads.push(report.kernel_workers as f64);
        }
        let name = format!("io.block{kib}k");
        let detail = "8 in flight; the paper reads 90 GiB/s by one core from 256 KiB on";
        emit(Figure::of(format!("{name}.rate"), "GiB/s", &rates).with_detail(detail));
        emit(Figure::of(format!("{name}.cpu"), "s/GiB", &costs));
        let detail = "threads of the kernel; in the paper beyond max_hw_sectors_kb and 512 KiB";
        emit(Figure::of(format!("{name}.workers"), "1", &threads).with_detail(detail));
    }
    Ok(())
}

/// Figure 7: a ring for each thread.
fn rings(path: &Path, n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    for workers in 1..=cores {
        let detail = "128 reads in flight over all; in the paper it grows with the cores";
        figure(format!("rings{workers}.reads"), "1/s", n, detail, emit, || {
            let (runtime, path) = (started(workers)?, path.to_owned());
            let probe = move || async move { probe::device(path, 128, SLICE).await };
            Ok(runtime.block_on(probe).map_err(failed)?.rate())
        })?;
    }
    Ok(())
}

/// Figure 9: how long a write takes until it is durable.
fn durability(path: &Path, n: usize, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    for (how, name, paper) in [
        (Durability::None, "none", "enough where the device's cache survives a power cut"),
        (Durability::Sync, "write_then_sync", "the sync by a thread of the kernel"),
        (Durability::Linked, "linked", "no better than one after the other"),
        (Durability::Flag, "dsync", "O_SYNC takes more than twice as long"),
    ] {
        let once = || probe::durable_by_ring(path, how, DURABLE_COUNT).map_err(failed);
        if once()?.is_none() {
            eprintln!("io.durable.{name}: the kernel does not know it for this file");
            continue;
        }
        let detail = format!("4 KiB, alone; in the paper: {paper}");
        figure(format!("durable.{name}"), "us", n, &detail, emit, || {
            let took = once()?.unwrap_or_default();
            Ok(took.as_secs_f64() * 1e6)
        })?;
    }
    Ok(())
}
