//! `dovetail bench rows`: statements that change single rows by key, each a transaction of its own, with what
//! they write and how often they make it durable, beside few tables and beside many. All clients are tasks of one
//! worker.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use engine::{Database, Datum, Options, RingKind, Session, SqlError, SqlResult};
use runtime::{WorkerStats, time};

use crate::figure::Figure;
use crate::rings;

/// The databases: how many tables each has, of which statements change one, and the back end that serves it.
const DATABASES: [(usize, RingKind); 3] =
    [(10, RingKind::Auto), (10_000, RingKind::Auto), (10, RingKind::Threads)];

const CLIENT_COUNTS: [usize; 2] = [1, 16];

/// Rows that are there, and changed at random. Inserted ones come behind them, and are deleted again.
const ROW_COUNT: u64 = 100_000;

const SLICE: Duration = Duration::from_secs(1);

const PAGE_BYTES: f64 = 4096.0;

/// Tables that one statement text creates.
const CREATED_AT_ONCE: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Update,
    Insert,
    Delete,
}

/// In this order: what is inserted is deleted.
const CHANGES: [Change; 3] = [Change::Update, Change::Insert, Change::Delete];

impl Change {
    fn name(self) -> &'static str {
        match self {
            Change::Update => "update",
            Change::Insert => "insert",
            Change::Delete => "delete",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Change::Update => "update counters set v = v + 1 where k = $1",
            Change::Insert => "insert into counters values ($1, 0)",
            Change::Delete => "delete from counters where k = $1",
        }
    }
}

/// What a slice brought.
struct Outcome {
    count: f64,
    per_s: f64,
    written_bytes: f64,
    syncs: f64,
    checkpoints: u64,
    threads_made: usize,
}

/// What the clients of a slice share.
struct Shared {
    change: Change,
    stop: Cell<bool>,
    /// The next key to be inserted, and those that were and have not been deleted.
    next: Cell<u64>,
    inserted: RefCell<Vec<u64>>,
    count: Cell<u64>,
    /// When the latest statement ended: there may be nothing left to delete before time is up.
    ended: Cell<time::Instant>,
}

/// Measures everything `n` times in turn on new databases in `folder`.
///
/// # Errors
/// Those of the databases and statements; when a slice did nothing.
pub fn run(folder: &Path, n: usize, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let create = |(tables, ring): &(usize, RingKind)| create(folder, *tables, *ring);
    let databases = DATABASES.iter().map(create).collect::<SqlResult<Vec<Database>>>()?;
    for (of, db) in DATABASES.into_iter().zip(&databases) {
        eprintln!("{}: ring {}, {}", named(of), db.rings()[0].kind, db.file_backend());
    }
    for clients in CLIENT_COUNTS {
        let mut outcomes: Vec<Vec<Vec<Outcome>>> =
            CHANGES.iter().map(|_| databases.iter().map(|_| vec![]).collect()).collect();
        for round in 0..n {
            for place in 0..databases.len() {
                let database = (place + round) % databases.len();
                let outcomes_of = outcomes.iter_mut().map(|of| &mut of[database]);
                one_round(&databases[database], clients, outcomes_of)?;
            }
        }
        for (change, outcomes) in CHANGES.iter().zip(&outcomes) {
            report(*change, clients, outcomes, &mut emit);
        }
    }
    databases.into_iter().try_for_each(Database::close)
}

/// In names of figures and files.
fn named((tables, ring): (usize, RingKind)) -> String {
    match ring {
        RingKind::Threads => format!("tables{tables}_threads"),
        _ => format!("tables{tables}"),
    }
}

fn create(folder: &Path, tables: usize, ring: RingKind) -> SqlResult<Database> {
    let path = folder.join(format!("{}.dovetail", named((tables, ring))));
    let db = Database::create(&path, Options { ring, ..pg::options() })?;
    rings::must_serve(&db, ring)?;
    let mut session = db.session();
    session.execute(&format!(
        "create table counters (k bigint primary key, v int not null);
         insert into counters select i, 0 from generate_series(1, {ROW_COUNT}) as g(i);
         analyze counters"
    ))?;
    let others: Vec<String> =
        (1..tables).map(|i| format!("create table other_{i} (k int primary key)")).collect();
    for some in others.chunks(CREATED_AT_ONCE) {
        session.execute(&format!("begin; {}; commit", some.join("; ")))?;
    }
    session.execute("checkpoint")?;
    Ok(db)
}

/// A slice of each kind of change.
fn one_round<'a>(
    db: &Database,
    clients: usize,
    outcomes: impl Iterator<Item = &'a mut Vec<Outcome>>,
) -> SqlResult<()> {
    let (next, inserted) = (ROW_COUNT + 1, vec![]);
    let mut keys = (next, inserted);
    for (change, outcomes) in CHANGES.into_iter().zip(outcomes) {
        let outcome;
        (outcome, keys) = slice(db, change, clients, keys)?;
        outcomes.push(outcome);
    }
    let left = format!("delete from counters where k > {ROW_COUNT}");
    db.session().execute(&left).map(|_| ())
}

type Keys = (u64, Vec<u64>);

fn slice(db: &Database, change: Change, clients: usize, keys: Keys) -> SqlResult<(Outcome, Keys)> {
    // What others have changed is not this slice's, and what it changes is: pages are written by checkpoints.
    db.checkpoint()?;
    let (before, threads) = (totals(db), threads()?);
    let checkpoint = db.checkpoint_number();
    let own = db.clone();
    let (count, elapsed_s, keys) = db.runtime_handle().block_on(move || async move {
        let (next, inserted) = (Cell::new(keys.0), RefCell::new(keys.1));
        let (stop, count) = (Cell::new(false), Cell::new(0));
        let shared =
            Rc::new(Shared { change, stop, next, inserted, count, ended: Cell::new(time::now()) });
        let client = |seed| runtime::spawn(client(own.session(), shared.clone(), seed));
        let running: Vec<_> = (0..clients as u64).map(client).collect();
        let began = time::now();
        time::sleep(SLICE).await;
        shared.stop.set(true);
        for client in running {
            client.await.map_err(|e| SqlError::internal(e.to_string()))??;
        }
        let keys = (shared.next.get(), shared.inserted.take());
        let elapsed = shared.ended.get() - began;
        SqlResult::Ok((shared.count.get() as f64, elapsed.as_secs_f64(), keys))
    })?;
    if count == 0.0 {
        return Err(SqlError::internal(format!("{}: nothing was done", change.name())));
    }
    let made = db.checkpoint_number() - checkpoint;
    db.checkpoint()?;
    let after = totals(db);
    let outcome = Outcome {
        count,
        per_s: count / elapsed_s,
        written_bytes: (after.write_bytes - before.write_bytes) as f64,
        syncs: (after.sync_count - before.sync_count) as f64,
        checkpoints: made,
        threads_made: threads_now(&threads)?,
    };
    Ok((outcome, keys))
}

/// Changes rows, one after the other; a deletion ends when there is nothing left that was inserted.
async fn client(mut session: Session, shared: Rc<Shared>, seed: u64) -> SqlResult<()> {
    let mut random = stdx::Prng::new(seed);
    let statement = session.prepared_text(shared.change.text()).await?;
    while !shared.stop.get() {
        let key = match shared.change {
            Change::Update => random.below(ROW_COUNT) + 1,
            Change::Insert => shared.next.replace(shared.next.get() + 1),
            Change::Delete => match shared.inserted.borrow_mut().pop() {
                Some(key) => key,
                None => return Ok(()),
            },
        };
        session.run_prepared(&statement, &[Datum::Int(key as i64)]).await?;
        shared.count.set(shared.count.get() + 1);
        shared.ended.set(time::now());
        if shared.change == Change::Insert {
            shared.inserted.borrow_mut().push(key);
        }
    }
    Ok(())
}

/// The sums of all workers.
fn totals(db: &Database) -> WorkerStats {
    let mut sum = WorkerStats::default();
    for worker in db.runtime_handle().stats() {
        sum.write_bytes += worker.write_bytes;
        sum.sync_count += worker.sync_count;
    }
    sum
}

/// Numbers of this process's threads.
fn threads() -> SqlResult<BTreeSet<String>> {
    let failed = |e: std::io::Error| SqlError::internal(e.to_string());
    let entries = std::fs::read_dir("/proc/self/task").map_err(failed)?;
    entries.map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into())).collect()
}

/// Threads that were not there before.
fn threads_now(before: &BTreeSet<String>) -> SqlResult<usize> {
    Ok(threads()?.difference(before).count())
}

fn report(
    change: Change,
    clients: usize,
    outcomes: &[Vec<Outcome>],
    emit: &mut impl FnMut(Figure),
) {
    for (of, outcomes) in DATABASES.into_iter().zip(outcomes) {
        let name = |what: &str| format!("rows.{}.{clients}.{}.{what}", change.name(), named(of));
        let of = |figure: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(figure).collect::<Vec<_>>();
        let made: usize = outcomes.iter().map(|one| one.threads_made).sum();
        let checkpoints: u64 = outcomes.iter().map(|one| one.checkpoints).sum();
        let detail = format!("{checkpoints} checkpoints meanwhile, {made} new threads");
        emit(Figure::of(name("per_s"), "1/s", &of(&|one| one.per_s)).with_detail(detail));
        let pages = of(&|one| one.written_bytes / PAGE_BYTES / one.count);
        emit(
            Figure::of(name("pages"), "each", &pages)
                .with_detail("of 4 KiB, written, those of a checkpoint at the end among them"),
        );
        emit(Figure::of(name("syncs"), "each", &of(&|one| one.syncs / one.count)));
    }
    for (what, number) in [("many_over_few", 1), ("threads_over_ring", 2)] {
        let pairs = outcomes[0].iter().zip(&outcomes[number]);
        let ratios: Vec<f64> = pairs.map(|(first, other)| other.per_s / first.per_s).collect();
        let name = format!("rows.{}.{clients}.{what}", change.name());
        let detail = format!("{} over {}", named(DATABASES[number]), named(DATABASES[0]));
        emit(Figure::of(name, "x", &ratios).with_detail(detail));
    }
}
