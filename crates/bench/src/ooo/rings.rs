//! The six queries out of order by both I/O back ends: io_uring, and threads that wait in system calls.

use engine::{Database, RingKind, SqlError, SqlResult};

use super::{QUERIES, Rows, Side};
use crate::device;
use crate::figure::{Figure, geometric_mean};
use crate::modes::ModeRun;
use crate::rings;

/// The runs of one query, by io_uring and by threads.
type Runs = [Vec<ModeRun>; 2];

/// Opens the database by each back end in turn, `n` times, and runs all queries out of order.
///
/// # Errors
/// As [`super::run`]; when another back end serves than the one that was asked for.
pub fn run(
    open: impl Fn(RingKind) -> SqlResult<Database>,
    n: usize,
    mut emit: impl FnMut(Figure),
) -> SqlResult<()> {
    let mut all: Vec<Runs> = QUERIES.iter().map(|_| [vec![], vec![]]).collect();
    let mut expected = QUERIES.map(|_| None);
    for round in 0..n {
        for ring in rings::in_turn(round) {
            let db = open(rings::RINGS[ring])?;
            rings::must_serve(&db, rings::RINGS[ring])?;
            device::probe_now(&db)?;
            for (number, runs) in all.iter_mut().enumerate() {
                runs[ring].push(one(&db, number, &mut expected[number])?);
            }
            db.close()?;
        }
    }
    let ratios = QUERIES.iter().zip(&all).map(|((name, _), runs)| report(name, runs, &mut emit));
    let ratios: Vec<f64> = ratios.collect();
    emit(Figure::of("ooo.geomean.over_threads", "x", &[geometric_mean(&ratios)]));
    Ok(())
}

fn one(db: &Database, number: usize, expected: &mut Option<Rows>) -> SqlResult<ModeRun> {
    let (name, text) = QUERIES[number];
    let (run, rows) = Side::OutOfOrder.run(&mut db.session(), text)?;
    if *expected.get_or_insert_with(|| rows.clone()) != rows {
        return Err(SqlError::internal(format!("{name}: the rows of another back end are others")));
    }
    Ok(run)
}

/// The median of the ratios, round by round.
fn report(name: &str, [uring, threads]: &Runs, emit: &mut impl FnMut(Figure)) -> f64 {
    let ms = |run: &ModeRun| run.elapsed.as_secs_f64() * 1e3;
    let pairs = threads.iter().zip(uring);
    let ratios: Vec<f64> = pairs.map(|(threads, uring)| ms(threads) / ms(uring)).collect();
    for (ring, runs) in rings::RINGS.iter().zip([uring, threads]) {
        let (last, times) = (&runs[runs.len() - 1], runs.iter().map(ms).collect::<Vec<_>>());
        let cpu_us = last.cpu.as_secs_f64() * 1e6 / last.reads.max(1) as f64;
        let detail = format!("reads {}, {cpu_us:.1} us of the workers each", last.reads);
        let name = format!("ooo.{name}.by_{}.time", ring.name());
        emit(Figure::of(name, "ms", &times).with_detail(detail));
    }
    let figure = Figure::of(format!("ooo.{name}.over_threads"), "x", &ratios);
    let ratio = figure.value;
    emit(figure);
    ratio
}
