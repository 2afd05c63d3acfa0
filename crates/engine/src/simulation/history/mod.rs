//! What transactions do to each other, judged by what they have seen (Adya's graph of dependencies;
//! the way to recover it from lists is that of Elle, Kingsbury and Alvaro, VLDB 2021).
//!
//! Clients append numbers that no other transaction appends to lists in one table, and read lists: by
//! key, by the group of a key through an index, and all. The lists that are there at the end tell in
//! which order transactions have written each key; what each has read tells after whose writes it came
//! and before whose. A key that is not there is an empty list, so a read of a group is a predicate read:
//! who has not seen a key is before who has made it.
//!
//! Lists are also locked, read, and written as they were read and a number more. In some histories checkpoints
//! are made beside the transactions; in some the lists are in a column table, which is merged beside them.
//!
//! Some clients do not wait until their commits are durable. Then all the same who begins after a
//! transaction was acknowledged sees it; and of a history that a power cut ends ([`cut`]) there is what
//! was acknowledged as durable, and of the rest what came before.

pub(crate) mod client;
pub(crate) mod graph;
pub(crate) mod survivors;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runtime::sim::{Disk, FaultPlan};
use runtime::time;
use stdx::Prng;
use txn::locks::table::LockWait;
use types::{SqlError, SqlResult};

use super::{Failure, attempt};
use crate::database::Database;
use crate::door;
use crate::isolation::Isolation;
use crate::options::{Options, Simulation};
use crate::settings::configuration::{Configuration, Origin};
use crate::versions::chain::Versions;

pub use graph::{Access, Transaction};
pub use survivors::{Survivors, cut};

/// A history: what each transaction that was committed has read and written, and what there is in the end.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Transactions that were committed.
    pub committed: Vec<Transaction>,
    /// Those that had asked for it when the disk failed, which leaves open whether they were.
    pub unknown: Vec<Transaction>,
    /// Numbers of transactions that were not: nobody may have seen them.
    pub aborted: Vec<u32>,
    /// The lists at the end, by key.
    pub lists: Vec<Vec<u32>>,
    /// Transactions that were refused because of others.
    pub conflicts: u64,
    /// Times that rows of the table's delta became a part, and that a part was written anew.
    pub merges: u64,
    /// What was told when the disk took no more; a sound disk does not.
    pub failure: Option<String>,
}

impl History {
    /// Of who could not go on.
    fn failed(error: &SqlError) -> History {
        History { failure: Some(error.to_string()), ..History::default() }
    }

    /// That nothing was refused by the disk.
    fn check_sound(&self) -> Result<(), String> {
        match &self.failure {
            Some(failure) => Err(format!("the disk has failed: {failure}")),
            None => Ok(()),
        }
    }

    /// Judges the history by what a level promises.
    ///
    /// # Errors
    /// The first anomaly, with the transactions that are part of it.
    pub fn check(&self, level: Isolation) -> Result<(), String> {
        graph::check(self, level)
    }
}

/// Keys of the table; key `k` is in group `k % GROUPS`.
const KEYS: usize = 12;
const GROUPS: usize = 4;

/// Checkpoints beside the transactions of a history, and the longest pause before each, in simulated time: so
/// short that many a power cut comes soon after one.
const CHECKPOINTS: usize = 16;
const PAUSE_US: u64 = 4_000;

/// In one of so many histories the table is a column table, and that many rows of its delta become a part.
const COLUMNS_EACH: u64 = 5;
const MERGE_ROWS: &str = "4";

/// Name of the database in each simulated machine.
const PATH: &str = "/db";

/// Counts the moments at which transactions of all clients begin and are acknowledged.
#[derive(Clone, Default)]
struct Moments(Arc<AtomicU64>);

impl Moments {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Has clients of a simulated machine run transactions at a level; what they did. Of `options` the database has
/// all but what the seed decides.
///
/// # Errors
/// A statement that failed with something else than a conflict.
pub fn record(
    options: &Options,
    seed: u64,
    level: Isolation,
    transactions: usize,
) -> Result<History, Failure> {
    attempt(seed, || {
        let disk = Disk::new(seed);
        disk.faults(FaultPlan::short_and_late());
        let db = made(options, &disk, seed)?;
        // In every other history all wait.
        let waits = |number: usize| seed % 4 < 2 || number.is_multiple_of(2);
        let mut history = play((&db, &disk), seed, level, transactions, waits)?;
        history.check_sound()?;
        history.lists = client::lists(&mut db.session())?;
        Ok(history)
    })
}

/// Whether the table of a history is one of columns.
fn has_columns(seed: u64) -> bool {
    seed % COLUMNS_EACH == 2
}

fn options(given: &Options, disk: &Disk, seed: u64) -> Options {
    let mut configuration = Configuration::clone(&given.configuration);
    let is_given = configuration.give("column_merge_rows", MERGE_ROWS, Origin::Flag);
    is_given.expect("the setting takes numbers");
    Options {
        configuration: Arc::new(configuration),
        memory_bytes: 12 << 20,
        workers: 1 + (seed % 3) as usize,
        simulation: Some(Simulation { disk: disk.clone(), seed }),
        ..given.clone()
    }
}

/// A database with the table.
fn made(given: &Options, disk: &Disk, seed: u64) -> Result<Database, String> {
    let db = Database::create(Path::new(PATH), options(given, disk, seed));
    let db = db.map_err(|error| error.to_string())?;
    let storage = if has_columns(seed) { "column" } else { "row" };
    let mut setup = format!("set default_table_storage = {storage}; {}", client::SETUP);
    if seed % 2 == 1 {
        setup += "; create index h_hash on h using hash (g)";
    }
    let made = db.session().execute(&setup);
    made.map_err(|error| format!("setup: {error}"))?;
    // This thread is not of the machine: what it does next must not meet a task that still runs.
    db.checkpoint().map_err(|error| format!("checkpoint: {error}"))?;
    Ok(db)
}

/// Makes checkpoints beside those who write, as long as the disk takes them.
///
/// # Errors
/// Of the one that it did not take.
async fn checkpoint(versions: Arc<Versions>, seed: u64) -> SqlResult<()> {
    let mut prng = Prng::new(seed);
    for _ in 0..CHECKPOINTS {
        time::sleep(Duration::from_micros(prng.below(PAUSE_US))).await;
        versions.checkpoint_beside(&LockWait::default()).await?;
    }
    Ok(())
}

/// Lets the clients of a seed play, each waiting for the device or not.
fn play(
    (db, disk): (&Database, &Disk),
    seed: u64,
    level: Isolation,
    transactions: usize,
    waits: impl Fn(usize) -> bool,
) -> Result<History, String> {
    let clients = 2 + (seed / 3 % 4) as usize;
    let (mut prng, moments) = (Prng::new(seed), Moments::default());
    let clients: Vec<client::Client> = (0..clients)
        .map(|number| {
            let seed = prng.next_u64();
            let client = client::Client::new((db, disk), number, seed, level, &moments);
            client.waiting(waits(number))
        })
        .collect();
    let checkpointed = (!seed.is_multiple_of(4)).then(|| (db.versions().clone(), seed));
    let played = door::wait(&db.handle(), || {
        Box::pin(async {
            let checkpoints = checkpointed.map(|(versions, seed)| {
                runtime::spawn(async move { checkpoint(versions, seed).await })
            });
            let mut running = vec![];
            for (number, client) in clients.into_iter().enumerate() {
                let worker = number % runtime::worker_count();
                running.push(runtime::spawn_on(worker, move || client.play(transactions)));
            }
            let mut played = vec![];
            for client in running {
                let ended = client.await;
                played.push(ended.unwrap_or_else(|aborted| Err(format!("a client: {aborted}"))));
            }
            if let Some(checkpoints) = checkpoints {
                played.push(match checkpoints.await {
                    Ok(Ok(())) => Ok(History::default()),
                    Ok(Err(error)) => Ok(History::failed(&error)),
                    Err(aborted) => Err(format!("checkpoints: {aborted}")),
                });
            }
            // What comes next must not meet a task that still runs.
            db.stop_merges().await;
            db.store().settled().await.ok();
            played
        })
    });
    let status = db.merge_status();
    let merges = status.deltas + status.parts;
    let mut history = History { merges, ..History::default() };
    for part in played {
        let part = part?;
        history.committed.extend(part.committed);
        history.unknown.extend(part.unknown);
        history.aborted.extend(part.aborted);
        history.conflicts += part.conflicts;
        history.failure = history.failure.or(part.failure);
    }
    Ok(history)
}
