//! The store under attack, in the runtime's simulation: one seed, one run, the same every time.
//!
//! [`run`] takes a seed through seven scenarios: random operations of many tasks against a model,
//! with faults of the disk and tasks dropped at random suspensions (`mixed`); a power cut at one
//! write of a load with changes of the catalog, with recovery cut short as well (`crash`); failing
//! writes and syncs (`crash`); a full disk (`full`); flipped bits (`rot`); backups and an archive over power
//! cuts (`archive`); members that join and leave over both (`members`).

mod archive;
mod crash;
mod flips;
mod full;
mod members;
mod mixed;
mod rot;
mod storm;
mod world;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime::IoCounters;
use stdx::Prng;

pub use flips::{FlipReport, Flips, Place};
pub use world::{Report, out_of_place_seed};

use crate::pool::PoolStats;
use crate::store::Store;
use crate::tree::Tree;
use crate::tree::cursor::Direction;
use crate::tree_id::TreeId;
use world::{GEOMETRY, PATH, ensure, layout_of, options, options_for, out_of_place, world};

/// A run that showed a defect. The seed alone repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The seed of the run.
    pub seed: u64,
    /// What went wrong.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}: {}", self.seed, self.what)
    }
}

impl std::error::Error for Failure {}

/// Runs all scenarios with one seed.
///
/// # Errors
/// The first defect found.
pub fn run(seed: u64) -> Result<Report, Failure> {
    let mut report = Report { seeds: 1, ..Report::default() };
    let scenarios = [
        mixed::run,
        crash::run_once,
        crash::run_with_failures,
        full::run,
        rot::run,
        archive::run,
        members::run,
    ];
    for scenario in scenarios {
        report += attempt(seed, || scenario(seed))?;
    }
    Ok(report)
}

/// Cuts the power at each write of one workload, several times with different sectors lost.
///
/// # Errors
/// The first defect found.
pub fn crash_everywhere(seed: u64) -> Result<Report, Failure> {
    attempt(seed, || crash::run_everywhere(seed))
}

/// Lets the disk be full at each write and growth of one workload, and at each size.
///
/// # Errors
/// The first defect found.
pub fn full_everywhere(seed: u64) -> Result<Report, Failure> {
    attempt(seed, || full::run_everywhere(seed))
}

/// Restores backups to states of a store that was archived over some power cuts.
///
/// # Errors
/// The first defect found.
pub fn archive_over_power_cuts(seed: u64) -> Result<Report, Failure> {
    attempt(seed, || archive::run(seed))
}

/// Lets members of a store come and go over a power cut, failing writes and syncs.
///
/// # Errors
/// The first defect found.
pub fn members_come_and_go(seed: u64) -> Result<Report, Failure> {
    attempt(seed, || members::run(seed))
}

/// Flips `bit_count` random bits in each page of a store, one at a time.
///
/// # Errors
/// The first flip that was neither detected nor harmless.
pub fn rot_everywhere(seed: u64, bit_count: u32) -> Result<Report, Failure> {
    attempt(seed, || rot::run_everywhere(seed, bit_count))
}

/// Flips so many bits, one at a time, in files that the seed makes: in pages of each kind, in the double-write buffer of an
/// unfinished checkpoint, in the log.
///
/// # Errors
/// The first flip after which something else was served, or an error that tells of no damage.
pub fn flip_bits(seed: u64, count: u64) -> Result<FlipReport, Failure> {
    attempt(seed, || flips::run(seed, count))
}

/// Runs a scenario; a panic is a defect as well.
///
/// # Errors
/// The defect found.
pub fn attempt<T>(seed: u64, scenario: impl FnOnce() -> Result<T, String>) -> Result<T, Failure> {
    let outcome = catch_unwind(AssertUnwindSafe(scenario)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("without a message")))
    });
    outcome.map_err(|what| Failure { seed, what })
}

/// Entries of a tree, as the model has them.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// All trees of a store.
type State = BTreeMap<TreeId, Rows>;

/// A key: few different ones, with long common beginnings and trailing zeros now and then.
fn random_key(prng: &mut Prng) -> Vec<u8> {
    if prng.chance(0.5) {
        return (prng.below(5000) as u32).to_be_bytes().to_vec();
    }
    let mut key = vec![b'k'; (prng.below(4) * prng.below(100)) as usize];
    for _ in 0..prng.below(6) {
        key.push([0, 1, b'a', b'k', 255][prng.below(5) as usize]);
    }
    key
}

/// A value: mostly short, sometimes the longest that fits a leaf, or one that does not.
fn random_value(prng: &mut Prng, key: &[u8]) -> Vec<u8> {
    let len = match prng.below(20) {
        0 => 1024 - key.len(),
        1 if prng.chance(0.2) => 1025 + prng.below(30_000) as usize,
        1..5 => prng.below(500) as usize,
        _ => prng.below(60) as usize,
    };
    vec![prng.below(256) as u8; len]
}

/// Ascending entries.
fn random_rows(prng: &mut Prng, count_max: u64) -> Rows {
    let count = prng.below(count_max + 1);
    (0..count)
        .map(|_| {
            let key = random_key(prng);
            let value = random_value(prng, &key);
            (key, value)
        })
        .collect()
}

/// Every entry of a tree, by a cursor.
async fn rows_of(tree: &Tree, io: &IoCounters) -> crate::error::Result<Rows> {
    use std::ops::Bound::Unbounded;
    let mut rows = Rows::new();
    let mut key = Vec::new();
    let mut cursor = tree.range(Unbounded, Unbounded, Direction::Forward);
    while let Some(leaf) = cursor.next(io).await? {
        for index in 0..leaf.len() {
            let value = leaf.entry(index, &mut key).to_vec();
            rows.insert(key.clone(), value);
        }
    }
    Ok(rows)
}

/// Everything a store holds.
async fn state_of(store: &Store) -> crate::error::Result<State> {
    let io = IoCounters::default();
    let mut state = State::new();
    for id in store.tree_ids() {
        state.insert(id, rows_of(&store.tree(id)?, &io).await?);
    }
    Ok(state)
}

/// Fails unless nothing of the pool is held.
fn ensure_quiet(stats: &PoolStats) -> Result<(), String> {
    let held = (stats.pins, stats.loading, stats.waiting);
    let all = stats.free + stats.resident == stats.frames;
    ensure(held == (0, 0, 0) && all, || format!("something is still held: {stats:?}"))
}
