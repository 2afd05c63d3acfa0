//! The device's own limit, probed through the same kind of ring in the same run.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use engine::{Database, SqlError, SqlResult, SqlState};
use runtime::fs::{File, OpenOptions};
use runtime::{IoBuf, IoPoint};

/// Requests in flight: the device gives its most from 64 on.
pub const DEPTH: usize = 128;

/// Bytes of most requests.
const PAGE_BYTES: usize = 4096;

/// Requests of a read-through: a megabyte each, a few at once.
const READ_BYTES: usize = 1 << 20;
const READS_IN_FLIGHT: usize = 8;

/// A device has settled when nothing was written for so long; whoever measures waits no longer than the second.
const QUIET: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(30);

/// Clock ticks per second in `/proc`: the same on all machines that Linux supports.
const TICKS_PER_S: f64 = 100.0;

/// What the device gives while nothing but reading is done.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLimit {
    /// Random 4 KiB reads per second.
    pub reads_per_s: f64,
    /// Cores that this process kept busy with it, its part of the kernel's work included. When
    /// these are all, the path to the device is the limit, and a query's own work comes on top.
    pub busy_cores: f64,
}

/// The limit of the device below the database's file with `depth` reads in flight: [`DEPTH`] for what it can give,
/// one for what it gives to a reader that waits.
///
/// # Errors
/// When the file cannot be read past the page cache.
pub fn limit(db: &Database, depth: usize, duration: Duration) -> SqlResult<DeviceLimit> {
    let path = db.path().to_owned();
    let probe = move || async move { runtime::probe::device(path, depth, duration).await };
    let before_s = cpu_seconds()?;
    let report = db.runtime_handle().block_on(probe).map_err(failed)?;
    let busy_s = cpu_seconds()? - before_s;
    if !report.direct {
        return Err(failed("the page cache cannot be bypassed here: the device cannot be seen"));
    }
    let busy_cores = busy_s / report.elapsed.as_secs_f64();
    Ok(DeviceLimit { reads_per_s: report.rate(), busy_cores })
}

/// The limit of the device for these requests, in their order, at depth [`DEPTH`]: what a query's own
/// reads take when nothing but reading is done. Where caches lie below the device this is fairer
/// than other pages would be.
pub fn replay(db: &Database, requests: Arc<[IoPoint]>) -> SqlResult<DeviceLimit> {
    let (path, count) = (db.path().to_owned(), requests.len() as f64);
    let (next, workers) = (Arc::new(AtomicUsize::new(0)), db.worker_count());
    let read = move || async move {
        let parts = (0..workers).map(|worker| {
            let (path, requests, next) = (path.clone(), requests.clone(), next.clone());
            runtime::spawn_on(worker, move || one_worker(path, DEPTH / workers, requests, next))
        });
        for part in parts.collect::<Vec<_>>() {
            part.await.map_err(std::io::Error::other)??;
        }
        std::io::Result::Ok(())
    };
    let (before_s, began) = (cpu_seconds()?, Instant::now());
    db.runtime_handle().block_on(read).map_err(failed)?;
    let elapsed_s = began.elapsed().as_secs_f64();
    let busy_cores = (cpu_seconds()? - before_s) / elapsed_s;
    Ok(DeviceLimit { reads_per_s: count / elapsed_s, busy_cores })
}

/// A worker's readers, `depth` of them.
async fn one_worker(
    path: PathBuf,
    depth: usize,
    requests: Arc<[IoPoint]>,
    next: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
    let file = File::open(path, options).await?;
    let reader = |_| runtime::spawn(one_reader(file.clone(), requests.clone(), next.clone()));
    for reader in (0..depth.max(1)).map(reader).collect::<Vec<_>>() {
        reader.await.map_err(std::io::Error::other)??;
    }
    Ok(())
}

/// Reads one request after the other that no other reader has taken.
async fn one_reader(
    file: File,
    requests: Arc<[IoPoint]>,
    next: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    let mut buf = IoBuf::alloc(PAGE_BYTES);
    while let Some(request) = requests.get(next.fetch_add(1, Relaxed)) {
        let bytes = request.bytes as usize;
        if bytes != PAGE_BYTES {
            file.read_at(IoBuf::alloc(bytes), request.offset).await.0?;
            continue;
        }
        let (result, back) = file.read_at(buf, request.offset).await;
        result?;
        buf = back;
    }
    Ok(())
}

/// Has the device probed, for the prices by which the planner chooses, once it is not busy any more with what was
/// written before: a profile that was stored on another day, or beside other work, has modes run plans that are not
/// their best.
///
/// # Errors
/// When the device cannot be read; a file in which there is nothing to be probed yet keeps its profile.
pub fn probe_anew(db: &Database) -> SqlResult<()> {
    let path = db.path().to_owned();
    let settled = move || async move { runtime::probe::settled(path, QUIET, PATIENCE).await };
    db.runtime_handle().block_on(settled).map_err(failed)?;
    probe_now(db)
}

/// The same at once, where only reads went before.
///
/// # Errors
/// As [`probe_anew`].
pub fn probe_now(db: &Database) -> SqlResult<()> {
    match db.session().execute("set device_profile = 'probe'") {
        Err(error) if error.state == SqlState("55000") => Ok(()),
        probed => probed.map(drop),
    }
}

/// Reads the database's file once in sequence, so that caches below the device, which nobody here
/// can empty, treat all sides of a comparison alike.
pub fn read_through(db: &Database) -> SqlResult<()> {
    let len = std::fs::metadata(db.path()).map_err(failed)?.len();
    let starts = (0..len).step_by(READ_BYTES);
    let requests = starts.map(|start| start..len.min(start + READ_BYTES as u64)).collect();
    let path = db.path().to_owned();
    db.runtime_handle().block_on(move || read_all(path, requests)).map_err(failed)
}

/// Bytes per second of reading these places of the file in their order, with as many requests of a megabyte at once
/// as the device wants: what a scan can reach at most.
pub fn sequential(db: &Database, places: &[Range<u64>]) -> SqlResult<f64> {
    let bytes: u64 = places.iter().map(|place| place.end - place.start).sum();
    let (path, requests) = (db.path().to_owned(), joined(places));
    let began = Instant::now();
    db.runtime_handle().block_on(move || read_all(path, requests)).map_err(failed)?;
    Ok(bytes as f64 / began.elapsed().as_secs_f64())
}

/// The places as requests of at most [`READ_BYTES`]; places that adjoin share one.
fn joined(places: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut requests: Vec<Range<u64>> = vec![];
    for place in places {
        let fits = |last: &&mut Range<u64>| {
            last.end == place.start && place.end - last.start <= READ_BYTES as u64
        };
        match requests.last_mut().filter(fits) {
            Some(last) => last.end = place.end,
            None => requests.push(place.clone()),
        }
    }
    requests
}

/// Reads with [`READS_IN_FLIGHT`] requests at once.
async fn read_all(path: PathBuf, requests: Vec<Range<u64>>) -> std::io::Result<()> {
    let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
    let file = File::open(path, options).await?;
    let mut running = VecDeque::new();
    for request in requests {
        let (file, bytes) = (file.clone(), (request.end - request.start) as usize);
        running.push_back(runtime::spawn(async move {
            file.read_at(IoBuf::alloc(bytes), request.start).await.0.map(|_| ())
        }));
        if running.len() >= READS_IN_FLIGHT
            && let Some(oldest) = running.pop_front()
        {
            oldest.await.map_err(std::io::Error::other)??;
        }
    }
    for task in running {
        task.await.map_err(std::io::Error::other)??;
    }
    Ok(())
}

/// CPU time of this process so far, in user and in kernel mode.
pub(crate) fn cpu_seconds() -> SqlResult<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").map_err(failed)?;
    // The second field is the program's name, which may hold spaces: count from its end.
    let rest = stat.rsplit_once(')').ok_or_else(|| failed("/proc/self/stat"))?.1;
    let ticks = |field| rest.split_whitespace().nth(field)?.parse::<f64>().ok();
    let (user, kernel) = (ticks(11), ticks(12));
    let sum = user.zip(kernel).ok_or_else(|| failed("/proc/self/stat"))?;
    Ok((sum.0 + sum.1) / TICKS_PER_S)
}

fn failed(why: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("device probe: {why}"))
}
