//! `dovetail bench degrade`: what a query loses when less and less of what it reads lies in memory, with one read at
//! a time and with many ("Asynchronous I/O and coroutines", sections 3.1 and 3.2, Figures 5 to 8).
//!
//! Of the pages that a query reads a random share is brought into the pool before each run, as the paper does with
//! its static buffer manager. Beside it the device is read in sequence, in the same round, with as many reads as it
//! wants and by one reader.

mod chart;
mod pages;

use engine::{Database, ExecutionMode, Session, SqlError, SqlResult, TableStorage};

use crate::device;
use crate::figure::Figure;
use crate::modes::{self, ModeRun};
use crate::tpch;
use pages::Pages;

pub use chart::svg;

/// Bytes in a GB.
const GB: f64 = 1e9;

/// A query and how it is run.
struct Query {
    name: &'static str,
    number: u8,
    /// Operators that are not to be used.
    without: &'static [&'static str],
    /// Pages that are cached or absent together: the paper's 64 KiB for scans, one for look-ups.
    unit_bytes: u64,
}

/// Two scans, and a join by an index (the paper's Q14).
const QUERIES: [Query; 3] = [
    Query { name: "q1", number: 1, without: &[], unit_bytes: 64 << 10 },
    Query { name: "q6", number: 6, without: &["enable_indexscan"], unit_bytes: 64 << 10 },
    Query { name: "q14", number: 14, without: &["enable_hashjoin"], unit_bytes: 4 << 10 },
];

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// TPC-H's scale factor.
    pub scale: f64,
    /// Percentages of the pages that are cached, rising.
    pub shares: Vec<u32>,
    /// Runs of each.
    pub runs: usize,
}

/// How a query is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A reader for each worker, who waits for each read.
    Sync,
    /// Coroutines: many reads at once.
    Async,
}

impl Side {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Side::Sync => "sync",
            Side::Async => "async",
        }
    }
}

/// The runs of a query with one share of its pages cached.
#[derive(Clone, Debug)]
pub struct Point {
    /// Name of the query.
    pub query: &'static str,
    /// Workers of the database.
    pub workers: usize,
    /// The share in percent.
    pub share: u32,
    /// Bytes of all pages that the query reads.
    pub bytes: u64,
    /// Runs of each side, in the same rounds.
    pub sync: Vec<ModeRun>,
    /// The same, out of order.
    pub many: Vec<ModeRun>,
}

impl Point {
    /// The throughput of a side in the median run, in GB/s of the query's pages.
    pub fn throughput(&self, side: Side) -> f64 {
        self.figure(side).value
    }

    fn figure(&self, side: Side) -> Figure {
        let name =
            format!("degrade.{}.{}.{}.at_{}", self.query, self.workers, side.name(), self.share);
        let runs = match side {
            Side::Sync => &self.sync,
            Side::Async => &self.many,
        };
        let rate = |run: &ModeRun| self.bytes as f64 / GB / run.elapsed.as_secs_f64();
        let last = &runs[runs.len() - 1];
        let cpu: f64 =
            runs.iter().map(|run| run.cpu.as_secs_f64()).sum::<f64>() / runs.len() as f64;
        let detail = format!(
            "{:.0} ms, {:.2} CPU s/GB, reads {} of {:.0} KiB",
            last.elapsed.as_secs_f64() * 1e3,
            cpu / (self.bytes as f64 / GB),
            last.reads,
            last.read_bytes as f64 / 1024.0 / last.reads.max(1) as f64,
        );
        let rates: Vec<f64> = runs.iter().map(rate).collect();
        Figure::of(name, "GB/s", &rates).with_detail(detail)
    }

    /// Asynchronous over synchronous, of runs of one round.
    fn over_sync(&self) -> Figure {
        let pairs = self.sync.iter().zip(&self.many);
        let ratios: Vec<f64> = pairs
            .map(|(one, many)| one.elapsed.as_secs_f64() / many.elapsed.as_secs_f64())
            .collect();
        let name = format!("degrade.{}.{}.over_sync.at_{}", self.query, self.workers, self.share);
        Figure::of(name, "x", &ratios)
    }
}

/// Measures all queries on `db`, whose pool must hold everything, and gives figures and points to `emit`.
///
/// # Errors
/// When a query fails, or reads a page though all of them were cached: the pool is too small.
pub fn run(
    db: &Database,
    storage: TableStorage,
    options: &Options,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<Vec<Point>> {
    device::probe_anew(db)?;
    device::read_through(db)?;
    let mut points = vec![];
    // Column tables have no key by which `part` could be looked up.
    let is_run = |query: &&Query| storage == TableStorage::Row || query.name != "q14";
    for query in QUERIES.iter().filter(is_run) {
        let text = tpch::query(query.number, options.scale)
            .ok_or_else(|| SqlError::internal("TPC-H has no such query"))?;
        let mut session = db.session();
        for operator in query.without {
            session.settings().set(operator, "off")?;
        }
        let pages = Pages::of(&mut session, &text, query.unit_bytes)?;
        let of_query = sweep(&mut session, query.name, &text, &pages, options, emit)?;
        summary(&of_query, emit);
        points.extend(of_query);
    }
    Ok(points)
}

/// All shares of one query.
fn sweep(
    session: &mut Session,
    name: &'static str,
    text: &str,
    pages: &Pages,
    options: &Options,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<Vec<Point>> {
    let workers = session.database().worker_count();
    let mut points = vec![];
    for &share in &options.shares {
        let (sync, many) = (vec![], vec![]);
        let mut point = Point { query: name, workers, share, bytes: pages.bytes(), sync, many };
        let mut device = vec![];
        for round in 0..options.runs {
            if share == 0 {
                device.push(device::sequential(session.database(), &pages.places())?);
            }
            for side in in_turn(round) {
                session.database().drop_cache()?;
                session.database().warm(&pages.share(share, round as u64));
                let run = one(session, text, side)?;
                if share == 100 && run.reads > 0 {
                    let message = format!("{} reads with all pages cached", run.reads);
                    return Err(SqlError::internal(message));
                }
                match side {
                    Side::Sync => point.sync.push(run),
                    Side::Async => point.many.push(run),
                }
            }
        }
        emit(point.figure(Side::Sync));
        emit(point.figure(Side::Async));
        emit(point.over_sync());
        shares_of_device(&point, &device, emit);
        points.push(point);
    }
    Ok(points)
}

/// Who goes first changes from round to round.
fn in_turn(round: usize) -> [Side; 2] {
    match round % 2 {
        0 => [Side::Sync, Side::Async],
        _ => [Side::Async, Side::Sync],
    }
}

fn one(session: &mut Session, text: &str, side: Side) -> SqlResult<ModeRun> {
    let workers = session.database().worker_count();
    session.settings().static_partitions = workers;
    let mode = match side {
        Side::Sync if workers == 1 => ExecutionMode::Serial,
        Side::Sync => ExecutionMode::Static,
        Side::Async => ExecutionMode::OutOfOrder,
    };
    modes::run(session, text, mode, false)
}

/// What part of the device's sequential limit both sides reach with nothing cached.
fn shares_of_device(point: &Point, device: &[f64], emit: &mut impl FnMut(Figure)) {
    if device.is_empty() {
        return;
    }
    let name = |what: &str| format!("degrade.{}.{}.{what}", point.query, point.workers);
    let rates: Vec<f64> = device.iter().map(|rate| rate / GB).collect();
    emit(Figure::of(name("device"), "GB/s", &rates).with_detail("the same pages, in sequence"));
    let share =
        |(run, rate): (&ModeRun, &f64)| run.read_bytes as f64 / run.elapsed.as_secs_f64() / rate;
    let shares: Vec<f64> = point.many.iter().zip(device).map(share).collect();
    emit(Figure::of(name("device_share"), "share", &shares));
}

/// What is kept of the throughput in memory when 80 % and 60 % are cached.
fn summary(points: &[Point], emit: &mut impl FnMut(Figure)) {
    let Some(whole) = points.iter().find(|point| point.share == 100) else { return };
    for point in points.iter().filter(|point| [80, 60].contains(&point.share)) {
        for side in [Side::Sync, Side::Async] {
            let kept = point.throughput(side) / whole.throughput(side);
            let (query, workers) = (point.query, point.workers);
            let name = format!("degrade.{query}.{workers}.{}.kept_at_{}", side.name(), point.share);
            emit(Figure::of(name, "share", &[kept]));
        }
    }
}
