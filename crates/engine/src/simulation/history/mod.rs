//! What transactions do to each other, judged by what they have seen (Adya's graph of dependencies;
//! the way to recover it from lists is that of Elle, Kingsbury and Alvaro, VLDB 2021).
//!
//! Clients append numbers that no other transaction appends to lists in one table, and read lists: by
//! key, by the group of a key through an index, and all. The lists that are there at the end tell in
//! which order transactions have written each key; what each has read tells after whose writes it came
//! and before whose. A key that is not there is an empty list, so a read of a group is a predicate read:
//! who has not seen a key is before who has made it.

mod client;
mod graph;

use std::path::Path;

use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;

use super::{Failure, attempt};
use crate::database::Database;
use crate::door;
use crate::isolation::Isolation;
use crate::options::{Options, Simulation};

pub use graph::{Access, Transaction};

/// A history: what each transaction that was committed has read and written, and what there is in the end.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Transactions that were committed.
    pub committed: Vec<Transaction>,
    /// Numbers of transactions that were not: nobody may have seen them.
    pub aborted: Vec<u32>,
    /// The lists at the end, by key.
    pub lists: Vec<Vec<u32>>,
    /// Transactions that were refused because of others.
    pub conflicts: u64,
}

impl History {
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

/// Has clients of a simulated machine run transactions at a level; what they did.
///
/// # Errors
/// A statement that failed with something else than a conflict.
pub fn record(seed: u64, level: Isolation, transactions: usize) -> Result<History, Failure> {
    attempt(seed, || play(seed, level, transactions))
}

fn play(seed: u64, level: Isolation, transactions: usize) -> Result<History, String> {
    let disk = Disk::new(seed);
    disk.faults(FaultPlan::short_and_late());
    let options = Options {
        memory_bytes: 12 << 20,
        workers: 1 + (seed % 3) as usize,
        simulation: Some(Simulation { disk, seed }),
        ..Options::default()
    };
    let db = Database::create(Path::new("/db"), options).map_err(|error| error.to_string())?;
    let mut setup = client::SETUP.to_owned();
    if seed % 2 == 1 {
        setup += "; create index h_hash on h using hash (g)";
    }
    let made = db.session().execute(&setup);
    made.map_err(|error| format!("setup: {error}"))?;
    // This thread is not of the machine: what it does next must not meet a task that still runs.
    db.checkpoint().map_err(|error| format!("checkpoint: {error}"))?;
    let clients = 2 + (seed / 3 % 4) as usize;
    let mut prng = Prng::new(seed);
    let clients: Vec<client::Client> = (0..clients)
        .map(|number| client::Client::new(&db, number, prng.next_u64(), level))
        .collect();
    let played = door::wait(&db.handle(), || {
        Box::pin(async {
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
            played
        })
    });
    let mut history = History::default();
    for part in played {
        let part = part?;
        history.committed.extend(part.committed);
        history.aborted.extend(part.aborted);
        history.conflicts += part.conflicts;
    }
    history.lists = client::lists(&mut db.session())?;
    Ok(history)
}
