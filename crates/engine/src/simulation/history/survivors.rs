//! What is left of a history that a power cut ends: a beginning of it, with all that was acknowledged as
//! durable.

use std::collections::HashSet;
use std::path::Path;

use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;

use super::graph::Transaction;
use super::{Failure, History, PATH, attempt, client, made, options, play};
use crate::database::Database;
use crate::isolation::Isolation;
use crate::options::Options;

/// How many transactions a power cut has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survivors {
    /// Transactions that have written and are there.
    pub kept: usize,
    /// Those that were acknowledged, and are not there: they did not wait for the device.
    pub lost: usize,
    /// Publications that recovery has found behind the point of a checkpoint whose header was not there.
    pub behind: u64,
}

/// Has the power fail in the midst of a history, and judges what is there afterwards. Of `given` the databases
/// have all but what the seed decides.
///
/// # Errors
/// The first defect found.
pub fn cut(
    given: &Options,
    seed: u64,
    level: Isolation,
    transactions: usize,
) -> Result<Survivors, Failure> {
    let waits = |number: usize| (number as u64 + seed).is_multiple_of(2);
    attempt(seed, || {
        let disk = Disk::new(seed);
        let db = made(given, &disk, seed)?;
        let first = disk.write_count();
        play((&db, &disk), seed, level, transactions, waits)?.check_sound()?;
        drop(db);
        // The same once more, up to one of its writes.
        let last = disk.write_count();
        let write = first + 1 + Prng::new(seed ^ 0x0ff).below((last - first).max(1));
        let disk = Disk::new(seed);
        let db = made(given, &disk, seed)?;
        disk.faults(FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() });
        let history = play((&db, &disk), seed, level, transactions, waits)?;
        drop(db);
        let (lists, behind) = lists(given, &disk.crash(seed), seed)?;
        Ok(Survivors { behind, ..judge(history, lists, level)? })
    })
}

/// The lists of a database that is opened again, and what it has found behind the point of a checkpoint.
fn lists(given: &Options, disk: &Disk, seed: u64) -> Result<(Vec<Vec<u32>>, u64), String> {
    let db = Database::open(Path::new(PATH), options(given, disk, seed));
    let db = db.map_err(|error| format!("recovery: {error}"))?;
    let problems = db.check().map_err(|error| format!("check: {error}"))?.problems;
    if let Some(problem) = problems.first() {
        return Err(format!("after recovery: {problem}"));
    }
    Ok((client::lists(&mut db.session())?, db.store().recovered_behind()))
}

/// Each transaction is there as a whole or not at all; those that were durable are; none is without those
/// that were acknowledged before it began; and what is there is a history that keeps its promise.
fn judge(history: History, lists: Vec<Vec<u32>>, level: Isolation) -> Result<Survivors, String> {
    let numbers: HashSet<u32> = lists.iter().flatten().copied().collect();
    let is_there = |transaction: &Transaction| {
        let found = transaction.added().filter(|(_, number)| numbers.contains(number)).count();
        found > 0 && found == transaction.added().count()
    };
    let writes = |transaction: &Transaction| transaction.added().next().is_some();
    let (kept, lost): (Vec<_>, Vec<_>) =
        history.committed.into_iter().filter(writes).partition(is_there);
    if let Some(durable) = lost.iter().find(|transaction| transaction.is_durable) {
        return Err(format!("it was durable, and is not there as a whole: {durable:?}"));
    }
    let unknown = history.unknown.into_iter().filter(is_there);
    let committed: Vec<Transaction> = kept.into_iter().chain(unknown).collect();
    for later in &committed {
        if let Some(hole) = lost.iter().find(|earlier| earlier.acknowledged < later.began) {
            return Err(format!("{later:?} is there without {hole:?}"));
        }
    }
    let (kept, lost) = (committed.len(), lost.len());
    // What is there of a transaction that is not whole was not committed.
    History { committed, lists, ..History::default() }.check(level)?;
    Ok(Survivors { kept, lost, behind: 0 })
}
