//! `dovetail bench ooo`: six selective queries in three modes, cold, with a pool of a tenth of the
//! data, beside the device's own limit (anagodb, section 3.3).

use std::sync::Arc;
use std::time::Duration;

use engine::{Database, ExecutionMode, SqlResult};
use runtime::{IoPoint, IoTrace};

use crate::device::{self, DeviceLimit};
use crate::figure::{Figure, geometric_mean};
use crate::modes::{self, ModeRun};

/// Name and text of each query.
pub const QUERIES: [(&str, &str); 6] = [
    ("promotion", include_str!("../queries/ooo/promotion.sql")),
    ("late_orders", include_str!("../queries/ooo/late_orders.sql")),
    ("part_buyers", include_str!("../queries/ooo/part_buyers.sql")),
    ("shipping", include_str!("../queries/ooo/shipping.sql")),
    ("local_supplier", include_str!("../queries/ooo/local_supplier.sql")),
    ("early_customers", include_str!("../queries/ooo/early_customers.sql")),
];

/// How long the device's limit is probed before each query.
const PROBE: Duration = Duration::from_millis(700);

/// As many partitions as the paper's machine has cores (anagodb, section 3.3), on however few here.
const MANY: usize = 24;

/// The runs of one query.
struct QueryRuns {
    serial: Vec<ModeRun>,
    partitioned: Vec<ModeRun>,
    /// With [`MANY`] partitions.
    many: Vec<ModeRun>,
    ooo: Vec<ModeRun>,
    /// Random pages of the file.
    device: Vec<DeviceLimit>,
    /// The requests of a run out of order, again.
    own_reads: Vec<DeviceLimit>,
}

/// Runs all queries `n` times in turn and gives each figure to `emit`.
pub fn run(db: &Database, n: usize, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let mut session = db.session();
    db.know_device()?;
    device::read_through(db)?;
    let (mut over_serial, mut over_static) = (vec![], vec![]);
    for (name, text) in QUERIES {
        let runs = alternate(db, &mut session, text, n)?;
        let ratio = |other: &[ModeRun]| -> Vec<f64> {
            other.iter().zip(&runs.ooo).map(|(o, r)| seconds(o) / seconds(r)).collect()
        };
        let serial = Figure::of(format!("ooo.{name}.over_serial"), "x", &ratio(&runs.serial));
        let fixed = Figure::of(format!("ooo.{name}.over_static"), "x", &ratio(&runs.partitioned));
        over_serial.push(serial.value);
        over_static.push(fixed.value);
        emit(serial);
        emit(fixed.with_detail(spread(&runs.partitioned)));
        let many = Figure::of(format!("ooo.{name}.over_static{MANY}"), "x", &ratio(&runs.many));
        emit(many.with_detail(spread(&runs.many)));
        report(name, &runs, &mut emit);
    }
    emit(Figure::of("ooo.geomean.over_serial", "x", &[geometric_mean(&over_serial)]));
    emit(Figure::of("ooo.geomean.over_static", "x", &[geometric_mean(&over_static)]));
    Ok(())
}

fn alternate(
    db: &Database,
    session: &mut engine::Session,
    text: &str,
    n: usize,
) -> SqlResult<QueryRuns> {
    let requests = requests(db, text)?;
    let (serial, partitioned, many, ooo) = (vec![], vec![], vec![], vec![]);
    let (device, own_reads) = (vec![], vec![]);
    let mut runs = QueryRuns { serial, partitioned, many, ooo, device, own_reads };
    for _ in 0..n {
        runs.device.push(device::limit(db, PROBE)?);
        runs.own_reads.push(device::replay(db, requests.clone())?);
        runs.serial.push(modes::run(session, text, ExecutionMode::Serial, true)?);
        for (partitions, to) in [(db.worker_count(), &mut runs.partitioned), (MANY, &mut runs.many)]
        {
            session.settings().static_partitions = partitions;
            to.push(modes::run(session, text, ExecutionMode::Static, true)?);
        }
        runs.ooo.push(modes::run(session, text, ExecutionMode::OutOfOrder, true)?);
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

fn seconds(run: &ModeRun) -> f64 {
    run.elapsed.as_secs_f64()
}

fn report(name: &str, runs: &QueryRuns, emit: &mut impl FnMut(Figure)) {
    let modes = [
        ("serial", &runs.serial),
        ("static", &runs.partitioned),
        ("static24", &runs.many),
        ("ooo", &runs.ooo),
    ];
    for (mode, runs) in modes {
        let ms: Vec<f64> = runs.iter().map(|r| seconds(r) * 1e3).collect();
        let last = &runs[runs.len() - 1];
        let detail = format!("reads {} tasks {} rows {}", last.reads, last.tasks, last.row_count);
        emit(Figure::of(format!("ooo.{name}.{mode}.time"), "ms", &ms).with_detail(detail));
        let cpu: Vec<f64> = runs.iter().map(|r| r.cpu.as_secs_f64() * 1e3).collect();
        emit(Figure::of(format!("ooo.{name}.{mode}.cpu"), "ms", &cpu));
    }
    for (figure, device) in [("device_share", &runs.device), ("own_reads_share", &runs.own_reads)] {
        let pairs = runs.ooo.iter().zip(device);
        let shares: Vec<f64> =
            pairs.map(|(run, limit)| run.reads_per_s() / limit.reads_per_s).collect();
        let mean =
            |of: fn(&DeviceLimit) -> f64| device.iter().map(of).sum::<f64>() / device.len() as f64;
        let (rate, cores) = (mean(|d| d.reads_per_s), mean(|d| d.busy_cores));
        let detail = format!("device: {rate:.0} reads/s, for which {cores:.2} cores are busy");
        emit(Figure::of(format!("ooo.{name}.{figure}"), "share", &shares).with_detail(detail));
    }
}

fn spread(runs: &[ModeRun]) -> String {
    let Some((min, max)) = runs.last().and_then(|r| r.spread) else { return String::new() };
    format!("partitions {:.1}-{:.1} ms", min.as_secs_f64() * 1e3, max.as_secs_f64() * 1e3)
}
