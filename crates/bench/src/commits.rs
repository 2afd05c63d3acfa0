//! `dovetail bench commits`: what a commit costs by each way in which the log becomes durable
//! ("io_uring for High-Performance DBMSs", section 3.4.2), alone and beside checkpoints.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use engine::{Database, Datum, Options, RingKind, Session, SqlError, SqlResult};
use runtime::fs::Durability;
use runtime::time;
use stdx::Prng;

use crate::figure::Figure;
use crate::rings;

/// Rows of the table; each commit changes one of them.
const ROW_COUNT: u64 = 100_000;

/// Rows of another table that are changed between two checkpoints, each on a page of its own or nearly so.
const CHANGED_COUNT: u64 = 2_000;

const SLICE: Duration = Duration::from_secs(2);

/// How the log becomes durable, and by which back end. The first is what the others are compared with.
const WAYS: [Way; 4] = [
    Way { durability: Durability::Sync, ring: RingKind::Auto },
    Way { durability: Durability::Linked, ring: RingKind::Auto },
    Way { durability: Durability::Flag, ring: RingKind::Auto },
    Way { durability: Durability::Sync, ring: RingKind::Threads },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    durability: Durability,
    ring: RingKind,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ring {
            RingKind::Threads => write!(f, "threads_{}", self.durability),
            _ => write!(f, "{}", self.durability),
        }
    }
}

/// What happens at the same time, and how many clients commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Alone(usize),
    /// Beside one that changes rows of another table and makes checkpoints.
    BesideCheckpoints(usize),
}

const LOADS: [Load; 3] = [Load::Alone(1), Load::Alone(16), Load::BesideCheckpoints(1)];

/// What a slice brought.
struct Outcome {
    per_s: f64,
    p99_ms: f64,
    /// Made meanwhile.
    checkpoints: u64,
}

/// Measures all ways in turn, `n` times, on new databases in `folder`.
///
/// # Errors
/// Those of the databases; when no checkpoint was made beside commits.
pub fn run(folder: &Path, n: usize, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let databases: Vec<Database> =
        WAYS.iter().map(|way| create(folder, *way)).collect::<SqlResult<_>>()?;
    for (way, db) in WAYS.iter().zip(&databases) {
        eprintln!("{way}: ring {}, {}", db.rings()[0].kind, db.file_backend());
    }
    let mut outcomes: Vec<Vec<Vec<Outcome>>> =
        LOADS.iter().map(|_| WAYS.iter().map(|_| vec![]).collect()).collect();
    for round in 0..n {
        for (load, outcomes) in LOADS.iter().zip(&mut outcomes) {
            for place in 0..WAYS.len() {
                let way = (place + round) % WAYS.len();
                outcomes[way].push(slice(&databases[way], *load)?);
            }
        }
    }
    for (load, outcomes) in LOADS.iter().zip(&outcomes) {
        report(*load, outcomes, &mut emit);
    }
    report_moved(&outcomes, &mut emit);
    databases.into_iter().try_for_each(Database::close)
}

fn create(folder: &Path, way: Way) -> SqlResult<Database> {
    let Way { durability, ring } = way;
    let options = Options { log_durability: Some(durability), ring, ..pg::options() };
    let db = Database::create(&folder.join(format!("{way}.dovetail")), options)?;
    rings::must_serve(&db, ring)?;
    db.session().execute(&format!(
        "create table counters (k int primary key, v int not null);
         insert into counters select i, 0 from generate_series(1, {ROW_COUNT}) as g(i);
         create table others (k int primary key, v int not null, filler text);
         insert into others select i, 0, repeat('x', 500) from generate_series(1, {ROW_COUNT}) as g(i);
         analyze counters; checkpoint"
    ))?;
    Ok(db)
}

/// What the clients of a slice share.
struct Shared {
    stop: Cell<bool>,
    latencies_ns: RefCell<Vec<u64>>,
    checkpoints: Cell<u64>,
}

fn slice(db: &Database, load: Load) -> SqlResult<Outcome> {
    let own = db.clone();
    db.runtime_handle().block_on(move || async move {
        let (stop, checkpoints) = (Cell::new(false), Cell::new(0));
        let shared = Rc::new(Shared { stop, latencies_ns: RefCell::default(), checkpoints });
        let (Load::Alone(clients) | Load::BesideCheckpoints(clients)) = load;
        let mut running = vec![];
        for client in 0..clients {
            let (session, shared) = (own.session(), shared.clone());
            running.push(runtime::spawn(commit(session, shared, client as u64)));
        }
        if let Load::BesideCheckpoints(_) = load {
            running.push(runtime::spawn(checkpoint(own.session(), shared.clone())));
        }
        let began = time::now();
        time::sleep(SLICE).await;
        let elapsed = began.elapsed();
        let mut latencies = shared.latencies_ns.take();
        shared.stop.set(true);
        for client in running {
            client.await.map_err(|e| SqlError::internal(e.to_string()))??;
        }
        latencies.sort_unstable();
        let checkpoints = shared.checkpoints.get();
        if latencies.is_empty() || (checkpoints == 0 && matches!(load, Load::BesideCheckpoints(_)))
        {
            return Err(SqlError::internal("nothing was committed or no checkpoint was made"));
        }
        let p99 = latencies[(latencies.len() - 1) * 99 / 100];
        let per_s = latencies.len() as f64 / elapsed.as_secs_f64();
        Ok(Outcome { per_s, p99_ms: p99 as f64 / 1e6, checkpoints })
    })
}

/// Changes single rows, each by a transaction of its own.
async fn commit(mut session: Session, shared: Rc<Shared>, seed: u64) -> SqlResult<()> {
    let mut random = Prng::new(seed);
    let change = session.prepared_text("update counters set v = v + 1 where k = $1").await?;
    while !shared.stop.get() {
        let key = Datum::Int((random.below(ROW_COUNT) + 1) as i64);
        let began = time::now();
        session.run_prepared(&change, &[key]).await?;
        shared.latencies_ns.borrow_mut().push(began.elapsed().as_nanos() as u64);
    }
    Ok(())
}

/// Changes rows, so that a checkpoint has something to write, and makes it.
async fn checkpoint(mut session: Session, shared: Rc<Shared>) -> SqlResult<()> {
    let mut random = Prng::new(u64::MAX);
    while !shared.stop.get() {
        let keys: Vec<String> =
            (0..CHANGED_COUNT).map(|_| (random.below(ROW_COUNT) + 1).to_string()).collect();
        let change = format!("update others set v = v + 1 where k in ({})", keys.join(", "));
        session.run_all(&change).await?;
        session.run_all("checkpoint").await?;
        shared.checkpoints.set(shared.checkpoints.get() + 1);
    }
    Ok(())
}

fn name(load: Load) -> String {
    match load {
        Load::Alone(clients) => format!("commits.{clients}"),
        Load::BesideCheckpoints(clients) => format!("commits.{clients}.beside"),
    }
}

fn report(load: Load, outcomes: &[Vec<Outcome>], emit: &mut impl FnMut(Figure)) {
    let name = name(load);
    let first: Vec<f64> = outcomes[0].iter().map(|outcome| outcome.per_s).collect();
    for (way, outcomes) in WAYS.iter().zip(outcomes) {
        let of =
            |figure: fn(&Outcome) -> f64| -> Vec<f64> { outcomes.iter().map(figure).collect() };
        let per_s = of(|outcome| outcome.per_s);
        let ratios: Vec<f64> = per_s.iter().zip(&first).map(|(one, first)| one / first).collect();
        emit(Figure::of(format!("{name}.{way}"), "1/s", &per_s));
        if *way != WAYS[0] {
            emit(Figure::of(format!("{name}.{way}.over_{}", WAYS[0]), "x", &ratios));
        }
        let checkpoints: u64 = outcomes.iter().map(|outcome| outcome.checkpoints).sum();
        let detail = format!("{checkpoints} checkpoints meanwhile");
        emit(Figure::of(format!("{name}.{way}.p99"), "ms", &of(|o| o.p99_ms)).with_detail(detail));
    }
}

/// How far checkpoints move the latency of commits, round by round.
fn report_moved(outcomes: &[Vec<Vec<Outcome>>], emit: &mut impl FnMut(Figure)) {
    for (number, way) in WAYS.iter().enumerate() {
        let (alone, beside) = (&outcomes[0][number], &outcomes[2][number]);
        let moved: Vec<f64> =
            alone.iter().zip(beside).map(|(alone, beside)| beside.p99_ms / alone.p99_ms).collect();
        let detail = "99th percentile beside checkpoints over that alone, bound 2";
        let name = format!("commits.1.{way}.p99_moved");
        emit(Figure::of(name, "x", &moved).with_detail(detail));
    }
}
