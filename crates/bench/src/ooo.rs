//! `dovetail bench ooo`: six selective queries in three modes, cold, with a pool of a tenth of the
//! data, beside the device's own limits for one reader and for many (anagodb, section 3.3).

mod report;
pub mod rings;

use std::sync::Arc;
use std::time::Duration;

use engine::{Database, ExecutionMode, Session, SqlError, SqlResult};
use runtime::{IoPoint, IoTrace};

use crate::answers::Rows;
use crate::device::{self, DeviceLimit};
use crate::figure::{Figure, geometric_mean};
use crate::modes::{self, ModeRun};
use crate::tpch::as_text;

/// Name and text of each query.
pub const QUERIES: [(&str, &str); 6] = [
    ("promotion", include_str!("../queries/ooo/promotion.sql")),
    ("late_orders", include_str!("../queries/ooo/late_orders.sql")),
    ("part_buyers", include_str!("../queries/ooo/part_buyers.sql")),
    ("shipping", include_str!("../queries/ooo/shipping.sql")),
    ("local_supplier", include_str!("../queries/ooo/local_supplier.sql")),
    ("early_customers", include_str!("../queries/ooo/early_customers.sql")),
];

/// How long the device's limit is probed before each round, with many readers and with one.
const PROBE: Duration = Duration::from_millis(700);

/// Partitions of `static`, beside one for each worker: each is a task with one read at a time. The paper's machine
/// has 24 cores; more than it has are tried, too, and the best is what the others are compared with.
const PARTITIONS: [usize; 4] = [8, 24, 96, 256];

/// The numbers of partitions that `static` is tried with.
pub fn partitions(workers: usize) -> Vec<usize> {
    let others = PARTITIONS.into_iter().filter(|count| *count != workers);
    [workers].into_iter().chain(others).collect()
}

/// One way to run a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Serial,
    Static(usize),
    OutOfOrder,
}

impl Side {
    /// All of them; the first is what is always compared with, the last out of order.
    fn all(workers: usize) -> Vec<Side> {
        let partitioned = partitions(workers).into_iter().map(Side::Static);
        [Side::Serial].into_iter().chain(partitioned).chain([Side::OutOfOrder]).collect()
    }

    fn name(self) -> String {
        match self {
            Side::Serial => "serial".into(),
            Side::Static(partitions) => format!("static{partitions}"),
            Side::OutOfOrder => "ooo".into(),
        }
    }

    fn run(self, session: &mut Session, text: &str) -> SqlResult<(ModeRun, Rows)> {
        let mode = match self {
            Side::Serial => ExecutionMode::Serial,
            Side::Static(partitions) => {
                session.settings().static_partitions = partitions;
                ExecutionMode::Static
            }
            Side::OutOfOrder => ExecutionMode::OutOfOrder,
        };
        let (run, result) = modes::run_for_rows(session, text, mode, true)?;
        let mut rows = as_text(&result);
        rows.rows.sort();
        Ok((run, rows))
    }
}

/// The runs of one query.
struct QueryRuns {
    /// Those of each side, in the order of [`Side::all`].
    sides: Vec<(Side, Vec<ModeRun>)>,
    /// Random pages of the file, many at once and one at a time.
    device: Vec<DeviceLimit>,
    device_one: Vec<DeviceLimit>,
    /// The requests of a run out of order, again.
    own_reads: Vec<DeviceLimit>,
}

/// Runs all queries `n` times in turn and gives each figure to `emit`.
///
/// # Errors
/// When a query fails or its rows differ between two ways to run it.
pub fn run(db: &Database, n: usize, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    device::read_through(db)?;
    device::probe_anew(db)?;
    let mut session = db.session();
    let (mut over_serial, mut over_static, mut device_over_one) = (vec![], vec![], vec![]);
    for (name, text) in QUERIES {
        let runs = alternate(db, &mut session, text, n)?;
        let ratios = report::query(name, &runs, &mut emit);
        over_serial.push(ratios.over_serial);
        over_static.push(ratios.over_best_static);
        device_over_one.push(ratios.device_over_one);
    }
    emit(Figure::of("ooo.geomean.over_serial", "x", &[geometric_mean(&over_serial)]));
    let device =
        Figure::of("ooo.geomean.device_over_one", "x", &[geometric_mean(&device_over_one)]);
    emit(device.with_detail("random reads, many at once over one at a time: what serial leaves"));
    emit(Figure::of("ooo.geomean.over_best_static", "x", &[geometric_mean(&over_static)]));
    Ok(())
}

/// Each round begins with another side.
fn alternate(db: &Database, session: &mut Session, text: &str, n: usize) -> SqlResult<QueryRuns> {
    let requests = requests(db, text)?;
    let sides = Side::all(db.worker_count());
    let mut runs = QueryRuns {
        sides: sides.iter().map(|side| (*side, vec![])).collect(),
        device: vec![],
        device_one: vec![],
        own_reads: vec![],
    };
    let mut expected: Option<Rows> = None;
    for round in 0..n {
        runs.device.push(device::limit(db, device::DEPTH, PROBE)?);
        runs.device_one.push(device::limit(db, 1, PROBE)?);
        runs.own_reads.push(device::replay(db, requests.clone())?);
        for place in 0..sides.len() {
            let side = (place + round) % sides.len();
            let (run, rows) = sides[side].run(session, text)?;
            if *expected.get_or_insert_with(|| rows.clone()) != rows {
                let name = sides[side].name();
                return Err(SqlError::internal(format!("the rows of {name} are others")));
            }
            runs.sides[side].1.push(run);
        }
    }
    Ok(runs)
}

/// The reads of a run out of order, or an even sample of them. The run is not counted.
fn requests(db: &Database, text: &str) -> SqlResult<Arc<[IoPoint]>> {
    let (mut session, trace) = (db.session(), Arc::new(IoTrace::new()));
    session.activity().trace_io(trace.clone());
    modes::run(&mut session, text, ExecutionMode::OutOfOrder, true)?;
    Ok(trace.after(0).points.into_iter().filter(|request| !request.write).collect())
}
