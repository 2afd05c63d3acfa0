//! The machines in which the clients run, and what has to be true when they have ended.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use plan::catalog::TableStorage;
use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;
use types::SqlState;

use super::client::{Client, Known, Machine, Notes, Stop};
use super::defined::Defined;
use super::family::Family;
use super::model::Rows;
use super::{Report, model};
use crate::database::Database;
use crate::door;
use crate::options::{Options, Simulation};
use crate::settings::configuration::{Configuration, Origin};

/// Name of the database in each simulated machine.
const PATH: &str = "/db";

/// Numbers of errors of the system.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Steps of a client.
const STEPS: usize = 25;

/// Times that a recovery is cut short, at most.
const CUT_RECOVERIES: u64 = 3;

/// A small memory: loads spill, pages leave the pool.
const MEMORY_BYTES: usize = 12 << 20;

/// Rows of a delta that become a part: what a client has written after a few steps.
const MERGE_ROWS: &str = "24";

fn options(given: &Options, disk: &Disk, seed: u64) -> Options {
    let mut configuration = Configuration::clone(&given.configuration);
    let is_given = configuration.give("column_merge_rows", MERGE_ROWS, Origin::Flag);
    is_given.expect("the setting takes numbers");
    Options {
        configuration: Arc::new(configuration),
        memory_bytes: MEMORY_BYTES,
        workers: 1 + (seed % 3) as usize,
        simulation: Some(Simulation { disk: disk.clone(), seed }),
        ..given.clone()
    }
}

/// Lets the clients of a seed play in a new database; what they knew at their ends.
fn play(
    given: &Options,
    seed: u64,
    plan: FaultPlan,
    machine: Machine,
) -> Result<(Disk, Vec<Known>, Report), String> {
    play_as(given, seed, plan, machine, (1 + (seed / 4 % 3) as usize, STEPS))
}

/// The same with so many clients, of so many steps each.
fn play_as(
    given: &Options,
    seed: u64,
    plan: FaultPlan,
    machine: Machine,
    (clients, steps): (usize, usize),
) -> Result<(Disk, Vec<Known>, Report), String> {
    let disk = Disk::new(seed);
    let notes: Vec<Notes> = (0..clients).map(|_| Notes::default()).collect();
    // The file is there before anything fails.
    let db = Database::create(Path::new(PATH), options(given, &disk, seed));
    let db = db.map_err(|error| format!("create: {error}"))?;
    disk.faults(plan);
    let (mut report, mut defect) = (Report::default(), None);
    for (played, ended) in run_clients(&db, seed, &notes, (machine, steps)) {
        report += played;
        if let Err(Stop::Defect(what)) = ended {
            defect.get_or_insert(what);
        }
    }
    drop(db);
    report.trace_hash = disk.trace_hash();
    let known = notes.iter().map(|n| n.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let known = known.collect();
    defect.map_or(Ok((disk, known, report)), Err)
}

/// Clients that wait for the device stand beside others that do not.
fn waits(seed: u64, number: usize) -> bool {
    (seed / 2 + number as u64).is_multiple_of(2)
}

/// Tables of both kinds stand side by side.
fn storage_of(seed: u64, number: usize) -> TableStorage {
    match (seed + number as u64).is_multiple_of(2) {
        true => TableStorage::Row,
        false => TableStorage::Column,
    }
}

type Played = (Report, Result<(), Stop>);

fn run_clients(
    db: &Database,
    seed: u64,
    notes: &[Notes],
    (machine, steps): (Machine, usize),
) -> Vec<Played> {
    let mut prng = Prng::new(seed);
    let client = |(number, notes): (usize, &Notes)| {
        let client = Client::new(db.clone(), number, prng.next_u64(), notes.clone(), machine);
        client.of(storage_of(seed, number)).waiting(waits(seed, number))
    };
    let clients: Vec<Client> = notes.iter().enumerate().map(client).collect();
    door::wait(&db.handle(), || {
        Box::pin(async {
            let mut running = vec![];
            for (number, client) in clients.into_iter().enumerate() {
                let worker = number % runtime::worker_count();
                running.push(runtime::spawn_on(worker, move || client.play(steps)));
            }
            let mut played = vec![];
            for client in running {
                let crashed = |aborted| {
                    (Report::default(), Err(Stop::Defect(format!("a client: {aborted}"))))
                };
                played.push(client.await.unwrap_or_else(crashed));
            }
            played
        })
    })
}

/// Opens the database again and compares it with what the clients knew. `false`: it cannot be opened,
/// because the machine has died once more.
fn recovered(given: &Options, disk: &Disk, seed: u64, known: &[Known]) -> Result<Report, String> {
    let db = Database::open(Path::new(PATH), options(given, disk, seed));
    let db = db.map_err(|error| format!("recovery: {error}"))?;
    let problems = db.check().map_err(|error| format!("check: {error}"))?.problems;
    if let Some(problem) = problems.first() {
        return Err(format!("after recovery: {problem}"));
    }
    let mut report = Report::default();
    for (number, known) in known.iter().enumerate() {
        report.comparisons += compare(&db, number, known)?;
    }
    // With the first change goes what nobody knows, and statements leave no trees behind.
    let made = db.session().execute("create table last (k int primary key); truncate last");
    made.map_err(|error| format!("after recovery: {error}"))?;
    db.checkpoint().map_err(|error| format!("after recovery: {error}"))?;
    let (known, catalog) = (db.newest().trees(), db.store().catalog().id());
    let is_orphan = |id: &storage::TreeId| !known.contains(id) && *id != catalog;
    if let Some(orphan) = db.store().tree_ids().into_iter().find(is_orphan) {
        return Err(format!("after recovery: nobody knows tree {orphan}"));
    }
    db.close().map_err(|error| format!("close: {error}"))?;
    Ok(report)
}

/// Compares a table and a sequence with what their client knew; how many tables were compared.
fn compare(db: &Database, number: usize, known: &Known) -> Result<u64, String> {
    let mut client = Client::new(db.clone(), number, 0, Notes::default(), Machine::Sound);
    let (found, copy, family, next) = door::wait(&db.handle(), || {
        Box::pin(async {
            let found = client.rows(&model::all_rows(number)).await;
            let next = client.numbers(&format!("select nextval('q{number}')")).await;
            (found, client.copy().await, client.family().await, next)
        })
    });
    let found = match found {
        Ok(found) => found,
        Err(_) if !known.exists => return Ok(0),
        Err(Stop::Defect(what)) => return Err(format!("after recovery: {what}")),
        Err(Stop::Machine) => return Err("after recovery: the disk failed".to_owned()),
    };
    if known.exists {
        compare_tables(number, known, &found, family)?;
    }
    if known.exists && !copy.is_ok_and(|copy| known.allows_copy(&copy, &found)) {
        return Err(format!("c{number} after recovery is not what t{number} says"));
    }
    let defined = Defined::found(&db.newest(), number);
    if known.exists && !defined.as_ref().is_some_and(|found| known.defined.contains(found)) {
        return Err(format!("t{number} is {defined:?} instead of {:?}", known.defined));
    }
    match next {
        Ok(next) if next[0][0] <= known.durable_number => {
            Err(format!("q{number} gave {} after {}", next[0][0], known.durable_number))
        }
        Ok(_) => Ok(1),
        Err(error) if !known.exists && error.state == SqlState::UNDEFINED_TABLE => Ok(1),
        Err(error) => Err(format!("after recovery: {error}")),
    }
}

/// Compares the rows of a client's tables with what it knew, all of them as of one moment.
fn compare_tables(
    number: usize,
    known: &Known,
    rows: &Rows,
    family: Result<Family, Stop>,
) -> Result<(), String> {
    let family = family.map_err(|stop| match stop {
        Stop::Defect(what) => format!("after recovery: {what}"),
        Stop::Machine => "after recovery: the disk failed".to_owned(),
    })?;
    if let Some(child) = family.orphans().first() {
        return Err(format!("f{number} after recovery: {child} has no parent"));
    }
    if known.allows(rows, &family) {
        return Ok(());
    }
    let sizes = (rows.len(), known.certain.len(), known.possible.as_ref().map(|p| p.len()));
    Err(format!("t{number} after recovery: {sizes:?} rows, f{number}: {family:?}"))
}

/// Nothing fails.
pub(super) fn calm(given: &Options, seed: u64) -> Result<Report, String> {
    let (disk, known, mut report) = play(given, seed, FaultPlan::short_and_late(), Machine::Sound)?;
    let hash = report.trace_hash;
    report += recovered(given, &disk.crash(seed), seed, &known)?;
    report.trace_hash = hash;
    Ok(report)
}

/// The power fails at one write, and once more while the database recovers.
pub(super) fn crash(given: &Options, seed: u64) -> Result<Report, String> {
    let (whole, ..) = play(given, seed, FaultPlan::default(), Machine::Sound)?;
    let mut prng = Prng::new(seed ^ 0x0ff);
    let write = 1 + prng.below(whole.write_count());
    let plan = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
    let (disk, known, mut report) = play(given, seed, plan, Machine::Failing)?;
    let hash = report.trace_hash;
    let cut = disk.crash(seed);
    cut.faults(FaultPlan {
        crash_at_write: Some(1 + prng.below(8)),
        ..FaultPlan::short_and_late()
    });
    drop(Database::open(Path::new(PATH), options(given, &cut, seed)));
    for left in [disk.crash(seed), cut.crash(seed)] {
        report += recovered(given, &left, seed, &known)?;
        report.crashes += 1;
    }
    report.trace_hash = hash;
    Ok(report)
}

/// The power fails at one write, and many disks may be left of that.
pub(super) fn crash_images(given: &Options, seed: u64, images: u64) -> Result<Report, String> {
    let (whole, ..) = play(given, seed, FaultPlan::default(), Machine::Sound)?;
    let mut prng = Prng::new(seed ^ 0x1ff);
    let write = 1 + prng.below(whole.write_count());
    let plan = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
    let (disk, known, mut report) = play(given, seed, plan, Machine::Failing)?;
    for number in 0..images {
        let (mut left, mut cuts) = (disk.crash(prng.next_u64()), 0);
        for _ in 0..number % (CUT_RECOVERIES + 1) {
            let is_cut;
            (left, is_cut) = cut_recovery(given, &left, seed, &mut prng);
            cuts += u64::from(is_cut);
        }
        let what = |what| format!("image {number} of a power cut at write {write}: {what}");
        report += recovered(given, &left, seed, &known).map_err(what)?;
        report.images += 1;
        report.crashes += 1 + cuts;
        report.chains += u64::from(cuts == CUT_RECOVERIES);
    }
    Ok(report)
}

/// Opens the database and lets the power fail on the way, if anything is written there; what is left, and whether
/// it did.
fn cut_recovery(given: &Options, disk: &Disk, seed: u64, prng: &mut Prng) -> (Disk, bool) {
    let open = |disk: &Disk| drop(Database::open(Path::new(PATH), options(given, disk, seed)));
    // Nothing of it is unsynced, so this is the same disk.
    let whole = disk.crash(seed);
    open(&whole);
    let write = 1 + prng.below(whole.write_count().max(1));
    disk.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::short_and_late() });
    open(disk);
    (disk.crash(prng.next_u64()), disk.is_crashed())
}

/// Calls before the script: the file is made.
fn calls_of_creation(given: &Options, seed: u64) -> Result<u64, String> {
    let disk = Disk::new(seed);
    let db = Database::create(Path::new(PATH), options(given, &disk, seed));
    let _open = db.map_err(|error| format!("create: {error}"))?;
    Ok(disk.op_count())
}

/// One call of the system fails in each run of a script.
pub(super) fn failing_calls(
    given: &Options,
    seed: u64,
    steps: usize,
    calls: u64,
) -> Result<Report, String> {
    let (one, sound) = ((1, steps), Machine::Sound);
    let (whole, _, mut report) = play_as(given, seed, FaultPlan::default(), sound, one)?;
    let (first, last) = (calls_of_creation(given, seed)? + 1, whole.op_count());
    let count = calls.min(last + 1 - first).max(1);
    for number in 0..count {
        let call = first + number * (last + 1 - first) / count;
        // Both kinds of a failure that a disk knows.
        let error = if number % 2 == 0 { EIO } else { ENOSPC };
        let plan = FaultPlan { fail_op: Some((call, error)), ..FaultPlan::default() };
        let what = |what| format!("call {call} of {first} to {last} fails with {error}: {what}");
        let (disk, known, played) =
            play_as(given, seed, plan, Machine::Failing, one).map_err(what)?;
        report += played;
        report += recovered(given, &disk.crash(seed ^ call), seed, &known).map_err(what)?;
        report.calls += 1;
    }
    Ok(report)
}

/// Writes and syncs fail now and then.
pub(super) fn failing(given: &Options, seed: u64) -> Result<Report, String> {
    let plan = FaultPlan { write_error: 0.002, sync_error: 0.004, ..FaultPlan::default() };
    let (disk, known, mut report) = play(given, seed, plan, Machine::Failing)?;
    let hash = report.trace_hash;
    report += recovered(given, &disk.crash(seed), seed, &known)?;
    report.trace_hash = hash;
    Ok(report)
}

/// The disk is full for a while.
pub(super) fn full(given: &Options, seed: u64) -> Result<Report, String> {
    let mut prng = Prng::new(seed ^ 0xf011);
    let begin = 40 + prng.below(400);
    let plan =
        FaultPlan { no_space: Some(begin..begin + 1 + prng.below(60)), ..FaultPlan::default() };
    let (disk, known, mut report) = play(given, seed, plan, Machine::Failing)?;
    let hash = report.trace_hash;
    report += recovered(given, &disk.crash(seed), seed, &known)?;
    report.trace_hash = hash;
    Ok(report)
}
