//! TPC-H remote, local and through DuckDB, in turns.

use std::collections::BTreeMap;
use std::time::Instant;

use engine::{QueryFigures, Session, SqlError, SqlResult};

use super::duck::Duck;
use super::sides::Sides;
use super::{Wish, lines, wrong};
use crate::figure::{Figure, geometric_mean};
use crate::{modes, tpch};

/// Those that read much and compute little: they show how much of the cap is used.
const WIDE: [u8; 2] = [1, 6];

/// Those that compute much.
const HEAVY: [u8; 2] = [9, 18];

/// What one run of a query took and asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    pub(super) ms: f64,
    pub(super) cpu_s: f64,
    pub(super) requests: u64,
    pub(super) retries: u64,
    pub(super) hedges: u64,
    pub(super) received: u64,
    pub(super) cost_ndollars: u64,
    /// Pages read of the file.
    reads: u64,
}

impl Run {
    fn of(figures: &QueryFigures, ms: f64) -> Run {
        let sum = |figure: fn(&engine::NodeSnapshot) -> u64| {
            figures.progress.nodes.iter().map(figure).sum::<u64>()
        };
        Run {
            ms,
            cpu_s: figures.account.cpu_ns as f64 / 1e9,
            requests: sum(|node| node.requests),
            retries: sum(|node| node.retries),
            hedges: sum(|node| node.hedges),
            received: sum(|node| node.received_bytes),
            cost_ndollars: sum(|node| node.cost_ndollars),
            reads: figures.reads(),
        }
    }

    fn bytes_per_s(&self) -> f64 {
        self.received as f64 / (self.ms / 1e3)
    }

    pub(super) fn text(&self) -> String {
        format!(
            "{} requests, {} retries, {} hedges, {:.1} MB, {:.0} MiB/s, {:.2} CPU s/GB, ${:.7}",
            self.requests,
            self.retries,
            self.hedges,
            self.received as f64 / 1e6,
            self.bytes_per_s() / f64::from(1 << 20),
            self.cpu_s / (self.received.max(1) as f64 / 1e9),
            self.cost_ndollars as f64 / 1e9,
        )
    }
}

/// Runs after which the tables of a query are in memory, if there is room for them.
const IN_MEMORY_TRIES: usize = 8;

/// All runs of one query; those of a round stand at the same place.
#[derive(Default)]
struct Runs {
    local: Vec<Run>,
    remote: Vec<Run>,
    /// Milliseconds and CPU seconds.
    duck: Vec<(f64, f64)>,
}

/// Whether all rows were those of the local tables.
pub(super) fn run(
    wish: &Wish,
    sides: &mut Sides,
    mut duck: Option<&mut Duck>,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<bool> {
    let (mut all, mut right) = (BTreeMap::new(), true);
    for &number in &wish.queries {
        let text = tpch::query(number, wish.scale);
        let text = text.ok_or_else(|| SqlError::internal("the query exists"))?;
        let mut runs = Runs::default();
        // The first turn is not counted: it makes connections.
        for turn in 0..=wish.runs {
            let (expected, local) = in_memory(&mut sides.local.session, &text)?;
            let (found, remote) = timed(&mut sides.remote.session, &text)?;
            let of_duck = duck.as_mut().map(|duck| duck.run(&text)).transpose().map_err(wrong)?;
            right &= judge(number, found == expected, "its rows are those of the local tables");
            if let Some(of_duck) = &of_duck {
                let is_same = of_duck.rows == expected.len();
                right &= judge(number, is_same, "DuckDB finds as many rows");
            }
            if turn > 0 {
                runs.local.push(local);
                runs.remote.push(remote);
                runs.duck.extend(of_duck.map(|run| (run.ms, run.cpu_s)));
            }
        }
        tell(number, &runs, wish, emit);
        all.insert(number, runs);
    }
    summary(&all, emit);
    Ok(right)
}

type Lines = Vec<Vec<Option<String>>>;

/// The rows of a query, in order, and what it took.
pub(super) type Timed = (Lines, Run);

/// Runs a query until a run has read nothing: what filters of joins leave out is not the same each time.
fn in_memory(session: &mut Session, text: &str) -> SqlResult<Timed> {
    for _ in 0..IN_MEMORY_TRIES {
        let (lines, run) = timed(session, text)?;
        if run.reads == 0 {
            return Ok((lines, run));
        }
    }
    Err(wrong("the local tables are not in memory: raise --memory".to_owned()))
}

/// Runs a query once.
pub(super) fn timed(session: &mut Session, text: &str) -> SqlResult<Timed> {
    let begun = Instant::now();
    let result = modes::rows(session, text)?;
    // With planning, as it is with DuckDB.
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    let figures = result.figures.as_ref().ok_or_else(|| SqlError::internal("no figures"))?;
    Ok((lines(&result), Run::of(figures, ms)))
}

/// Says what is wrong.
fn judge(number: u8, is_right: bool, what: &str) -> bool {
    if !is_right {
        eprintln!("FAILED  q{number:02}: not so: {what}");
    }
    is_right
}

fn ms(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.ms).collect()
}

/// Of each round, how many times as long as the other side a side took.
pub(super) fn ratios(of: &[f64], over: &[f64]) -> Vec<f64> {
    of.iter().zip(over).map(|(of, over)| of / over).collect()
}

fn tell(number: u8, runs: &Runs, wish: &Wish, emit: &mut impl FnMut(Figure)) {
    let named = |name: &str, unit, values: &[f64]| {
        Figure::of(format!("remote.q{number:02}.{name}"), unit, values)
    };
    let (local, remote) = (ms(&runs.local), ms(&runs.remote));
    emit(named("local", "ms", &local));
    let last = runs.remote.last().copied().unwrap_or_default();
    emit(named("remote", "ms", &remote).with_detail(format!("last: {}", last.text())));
    emit(named("over_local", "x", &ratios(&remote, &local)));
    if WIDE.contains(&number) && wish.speed.cap > 0 {
        let cap = wish.speed.cap as f64;
        let shares: Vec<f64> = runs.remote.iter().map(|run| run.bytes_per_s() / cap).collect();
        emit(named("bandwidth", "share", &shares).with_detail("of the cap, bound 0.9"));
    }
    if !runs.duck.is_empty() {
        let (duck, cpu): (Vec<f64>, Vec<f64>) = runs.duck.iter().copied().unzip();
        let own: Vec<f64> = runs.remote.iter().map(|run| run.cpu_s).collect();
        emit(named("duckdb", "ms", &duck));
        emit(named("duckdb_over_remote", "x", &ratios(&duck, &remote)));
        emit(named("duckdb_cpu_over_remote", "x", &ratios(&cpu, &own)));
    }
}

fn median(values: &[f64]) -> f64 {
    crate::figure::median_of(values)
}

/// Means over all queries.
fn summary(all: &BTreeMap<u8, Runs>, emit: &mut impl FnMut(Figure)) {
    let over = |runs: &Runs| median(&ratios(&ms(&runs.remote), &ms(&runs.local)));
    let overs: Vec<f64> = all.values().map(over).collect();
    if overs.is_empty() {
        return;
    }
    let mean = |name: &str, values: &[f64]| {
        Figure::of(format!("remote.geomean.{name}"), "x", &[geometric_mean(values)])
    };
    emit(mean("over_local", &overs).with_detail(format!("{} queries, bound 2.4", all.len())));
    let heavy: Vec<f64> = HEAVY.iter().filter_map(|number| all.get(number)).map(over).collect();
    if !heavy.is_empty() {
        let worst = heavy.iter().copied().fold(0.0, f64::max);
        let detail = "the worse of queries 9 and 18, bound 1.3";
        emit(Figure::of("remote.heavy.over_local", "x", &[worst]).with_detail(detail));
    }
    let cpu = |runs: &Runs| median(&runs.remote.iter().map(|run| run.cpu_s).collect::<Vec<_>>());
    let seconds = all.values().map(cpu).sum();
    emit(Figure::of("remote.cpu", "s", &[seconds]).with_detail("all queries, sum of medians"));
    if all.values().all(|runs| !runs.duck.is_empty()) {
        let side = |pick: fn(&(f64, f64)) -> f64, own: fn(&Run) -> f64| -> Vec<f64> {
            let one = |runs: &Runs| {
                let of = |values: Vec<f64>| median(&values);
                of(runs.duck.iter().map(pick).collect()) / of(runs.remote.iter().map(own).collect())
            };
            all.values().map(one).collect()
        };
        emit(mean("duckdb_over_remote", &side(|run| run.0, |run| run.ms)));
        emit(mean("duckdb_cpu_over_remote", &side(|run| run.1, |run| run.cpu_s)));
    }
}
