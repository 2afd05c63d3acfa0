//! `dovetail bench cached`: what out-of-order execution costs when there is nothing to wait for.
//! Everything lies in the pool; on one core against `serial`, and on two.

use engine::{Database, ExecutionMode, Session, SqlError, SqlResult};

use crate::device;
use crate::figure::{Figure, geometric_mean};
use crate::modes::{self, ModeRun};
use crate::{ooo, tpch};

/// TPC-H queries beside the selective ones: two scans, and a join of large tables.
const TPCH: [u8; 3] = [1, 3, 6];

/// Runs all queries `n` times in turn on `db`, whose pool must hold everything, and gives each
/// figure to `emit`: CPU time and elapsed time of `ooo` relative to `serial`.
///
/// # Errors
/// When a query fails, or reads a page after it has been run once: the pool is too small.
pub fn run(db: &Database, scale: f64, n: usize, emit: &mut impl FnMut(Figure)) -> SqlResult<()> {
    device::probe_anew(db)?;
    let mut session = db.session();
    let cores = db.worker_count();
    let (mut speedups, mut costs) = (vec![], vec![]);
    for (name, text) in queries(scale) {
        let (serial, ooo) = alternate(&mut session, &text, n)?;
        let ratio = |of: fn(&ModeRun) -> f64| -> Vec<f64> {
            serial.iter().zip(&ooo).map(|(s, o)| of(s) / of(o)).collect()
        };
        let speedup = ratio(|run| run.elapsed.as_secs_f64());
        let cost: Vec<f64> = ratio(|run| run.cpu.as_secs_f64()).iter().map(|r| 1.0 / r).collect();
        let ms: Vec<f64> = serial.iter().map(|run| run.elapsed.as_secs_f64() * 1e3).collect();
        emit(Figure::of(format!("cached.{cores}.{name}.serial"), "ms", &ms));
        let speedup = Figure::of(format!("cached.{cores}.{name}.over_serial"), "x", &speedup);
        let cost = Figure::of(format!("cached.{cores}.{name}.cpu"), "x", &cost);
        speedups.push(speedup.value);
        costs.push(cost.value);
        emit(speedup);
        emit(cost);
    }
    let detail = format!("{cores} cores, geometric mean");
    let mean = |name, values: &[f64]| {
        Figure::of(format!("cached.{cores}.geomean.{name}"), "x", &[geometric_mean(values)])
            .with_detail(&detail)
    };
    emit(mean("over_serial", &speedups));
    emit(mean("cpu", &costs));
    Ok(())
}

fn queries(scale: f64) -> Vec<(String, String)> {
    let selective = ooo::QUERIES.iter().map(|(name, text)| ((*name).into(), (*text).into()));
    let tpch = TPCH.iter().filter_map(|&q| Some((format!("q{q}"), tpch::query(q, scale)?)));
    selective.chain(tpch).collect()
}

fn alternate(
    session: &mut Session,
    text: &str,
    n: usize,
) -> SqlResult<(Vec<ModeRun>, Vec<ModeRun>)> {
    // The first runs bring everything in.
    for mode in [ExecutionMode::Serial, ExecutionMode::OutOfOrder] {
        modes::run(session, text, mode, false)?;
    }
    let (mut serial, mut ooo) = (vec![], vec![]);
    for round in 0..n {
        let mut sides =
            [(ExecutionMode::Serial, &mut serial), (ExecutionMode::OutOfOrder, &mut ooo)];
        sides.rotate_left(round % 2);
        for (mode, runs) in sides {
            runs.push(cached(session, text, mode)?);
        }
    }
    Ok((serial, ooo))
}

fn cached(session: &mut Session, text: &str, mode: ExecutionMode) -> SqlResult<ModeRun> {
    let run = modes::run(session, text, mode, false)?;
    if run.reads > 0 {
        return Err(SqlError::internal(format!("{} reads: the pool is too small", run.reads)));
    }
    Ok(run)
}
