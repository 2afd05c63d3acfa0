//! `dovetail bench tpcc`: TPC-C in SQL on the embedded engine, with the log, its isolation and its keys
//! (CoroBase, section 5.2; "io_uring for High-Performance DBMSs", section 3.4). Terminals are coroutines of a
//! worker without time to think: one after the other, many in flight, and one at a time with blocking calls
//! on threads, by turns on the same database.
//!
//! After each run the consistency conditions of the specification are asked (clause 3.3.2).

mod check;
mod drive;
mod random;
mod schema;
mod transactions;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use engine::{
    Database, Isolation, Options as DatabaseOptions, RingKind, SqlError, SqlResult, SqlState,
};

use crate::figure::Figure;
use drive::Outcome;

/// How large the tables are. The specification has 10 districts, 3,000 customers and 100,000 items.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: u64,
    /// Districts of each.
    pub districts: u64,
    /// Customers of each district, and orders that it begins with.
    pub customers: u64,
    /// Items, and stocks of each warehouse.
    pub items: u64,
}

/// A kind of transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Clause 2.4.
    NewOrder,
    /// Clause 2.5.
    Payment,
    /// Clause 2.6.
    OrderStatus,
    /// Clause 2.7.
    Delivery,
    /// Clause 2.8.
    StockLevel,
    /// The long one of TPC-CH, after query 2 of TPC-H.
    Suppliers,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::NewOrder => "new_order",
            Kind::Payment => "payment",
            Kind::OrderStatus => "order_status",
            Kind::Delivery => "delivery",
            Kind::StockLevel => "stock_level",
            Kind::Suppliers => "suppliers",
        })
    }
}

/// Which transactions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// TPC-C.
    Standard,
    /// TPC-CR: only those that read.
    Reading,
    /// TPC-CH: every tenth is a long one.
    Hybrid,
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mix::Standard => "tpcc",
            Mix::Reading => "tpccr",
            Mix::Hybrid => "tpcch",
        })
    }
}

impl Mix {
    /// Kinds, each with its part of a hundred.
    fn parts(self) -> &'static [(Kind, u64)] {
        use Kind::*;
        match self {
            Mix::Standard => {
                &[(NewOrder, 45), (Payment, 43), (OrderStatus, 4), (Delivery, 4), (StockLevel, 4)]
            }
            Mix::Reading => &[(StockLevel, 50), (OrderStatus, 50)],
            Mix::Hybrid => &[
                (Suppliers, 10),
                (NewOrder, 40),
                (Payment, 38),
                (OrderStatus, 4),
                (Delivery, 4),
                (StockLevel, 4),
            ],
        }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The size of the tables.
    pub scale: Scale,
    /// Memory of the database.
    pub memory_bytes: usize,
    /// Which transactions.
    pub mixes: Vec<Mix>,
    /// Terminals in flight.
    pub terminals: Vec<usize>,
    /// What transactions promise.
    pub isolation: Isolation,
    /// Length of each measurement.
    pub slice: Duration,
    /// Rounds; each measures every side once.
    pub rounds: usize,
    /// Whether blocking calls on threads are measured, too.
    pub blocking: bool,
    /// Whether terminals whose look-ups do not give way are measured, too.
    pub apart: bool,
}

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// So many terminals on one worker and its ring.
    Terminals(usize),
    /// The same, but no look-up gives way where it would miss the caches.
    Apart(usize),
    /// One terminal, and threads that block for it.
    Blocking,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Terminals(1) => f.write_str("sequential"),
            Side::Terminals(count) => write!(f, "terminals{count}"),
            Side::Apart(count) => write!(f, "apart{count}"),
            Side::Blocking => f.write_str("blocking"),
        }
    }
}

/// Measures in a new file in `folder`.
///
/// # Errors
/// When the options make no sense, a statement fails, or a condition is broken.
pub fn run(folder: &Path, options: &Options, emit: &mut dyn FnMut(Figure)) -> SqlResult<()> {
    check_options(options)?;
    let path = folder.join("tpcc.dovetail");
    let db = Database::create(&path, database_options(options, Side::Terminals(1), 2))?;
    schema::load(&db, options.scale)?;
    check::check(&db, options.scale)?;
    let pages = db.page_count();
    db.close()?;
    let db = Database::open(&path, database_options(options, Side::Terminals(1), 1))?;
    let frames = db.pool().frames;
    eprintln!("{} warehouses in {pages} pages, a pool of {frames}", options.scale.warehouses);
    db.close()?;
    for &mix in &options.mixes {
        measure(&path, options, mix, emit)?;
    }
    Ok(())
}

fn check_options(options: &Options) -> SqlResult<()> {
    let Scale { warehouses, districts, customers, items } = options.scale;
    let too_small = warehouses == 0 || districts == 0 || customers < 10 || items < 100;
    if too_small || options.rounds == 0 || options.terminals.contains(&0) {
        let message = "tpcc: a warehouse, a district, 10 customers, 100 items, a terminal and a round at least";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    Ok(())
}

fn database_options(options: &Options, side: Side, workers: usize) -> DatabaseOptions {
    let ring = if side == Side::Blocking { RingKind::Threads } else { RingKind::Auto };
    let memory_bytes = options.memory_bytes;
    DatabaseOptions { memory_bytes, ring, workers, ..pg::options() }
}

/// Rounds of one mix.
fn measure(
    path: &Path,
    options: &Options,
    mix: Mix,
    emit: &mut dyn FnMut(Figure),
) -> SqlResult<()> {
    let many = options.terminals.iter().copied().filter(|count| *count > 1);
    let apart = many.clone().filter(|_| options.apart).map(Side::Apart);
    let sides: Vec<Side> = std::iter::once(Side::Terminals(1))
        .chain(many.map(Side::Terminals))
        .chain(apart)
        .chain(options.blocking.then_some(Side::Blocking))
        .collect();
    let mut outcomes: Vec<Vec<Outcome>> = vec![vec![]; sides.len()];
    for round in 0..options.rounds {
        for turn in 0..sides.len() {
            let index = (turn + round) % sides.len();
            let side = sides[index];
            let db = Database::open(path, database_options(options, side, 1))?;
            db.set_interleaved(!matches!(side, Side::Apart(_)));
            outcomes[index].push(drive::run(&db, options, mix, side, round as u64)?);
            check::check(&db, options.scale)?;
            db.close()?;
        }
    }
    for (side, runs) in sides.iter().zip(&outcomes) {
        report(&format!("{mix}.{side}"), mix, runs, &outcomes[0], emit);
    }
    Ok(())
}

fn report(
    name: &str,
    mix: Mix,
    runs: &[Outcome],
    sequential: &[Outcome],
    emit: &mut dyn FnMut(Figure),
) {
    let mut figure = |what: &str, unit, values: Vec<f64>, detail: &str| {
        emit(Figure::of(format!("{name}.{what}"), unit, &values).with_detail(detail));
    };
    let each = |of: &dyn Fn(&Outcome) -> f64| runs.iter().map(of).collect::<Vec<f64>>();
    figure("transactions", "1/s", each(&Outcome::per_s), &runs[0].ring);
    let ratio = runs.iter().zip(sequential).map(|(run, base)| run.per_s() / base.per_s());
    figure("over_sequential", "x", ratio.collect(), "");
    figure("cpu", "us", each(&Outcome::cpu_us_each), "of the process, each");
    figure("again", "share", each(&Outcome::again_share), "of the transactions ran once more");
    for (kind, _) in mix.parts() {
        figure(&format!("{kind}.p50"), "ms", each(&|run| run.latency_ms(*kind, 0.5)), "");
        figure(&format!("{kind}.p99"), "ms", each(&|run| run.latency_ms(*kind, 0.99)), "");
    }
}
