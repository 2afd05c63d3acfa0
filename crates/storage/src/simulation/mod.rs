//! The store under attack, in the runtime's simulation: one seed, one run, the same every time.
//!
//! [`run`] takes a seed through six scenarios: random operations of many tasks against a model,
//! with faults of the disk and tasks dropped at random suspensions (`mixed`); a power cut at one
//! write of a load with changes of the catalog, with recovery cut short as well (`crash`); failing
//! writes and syncs (`crash`); a full disk (`full`); flipped bits (`rot`); backups and an archive over power
//! cuts (`archive`).

mod archive;
mod crash;
mod flips;
mod full;
mod mixed;
mod rot;
mod storm;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime::sim::Disk;
use runtime::{Config, IoCounters, RingChoice, Runtime};
use stdx::Prng;

pub use flips::{FlipReport, Flips, Place};

use crate::places::Layout;
use crate::pool::PoolStats;
use crate::store::{Store, StoreOptions};
use crate::tree::Tree;
use crate::tree::cursor::Direction;
use crate::tree_id::TreeId;

/// What the runs of some seeds have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Seeds.
    pub seeds: u64,
    /// Operations whose answers were compared with the model.
    pub operations: u64,
    /// Tasks dropped at a suspension.
    pub cancels: u64,
    /// Power cuts, those inside recovery included.
    pub crashes: u64,
    /// Power cuts behind which the recovery was cut short three times, at a write of its own each time.
    pub chains: u64,
    /// Commits that recovery has found behind the point of a checkpoint without a header.
    pub behind: u64,
    /// Runs in which a write or sync failed.
    pub failed_writes: u64,
    /// Operations that found the disk full, and were repeated.
    pub refusals: u64,
    /// Bits flipped on the medium.
    pub flips: u64,
    /// Flips that were reported as damage; all others changed nothing.
    pub flips_detected: u64,
    /// Fingerprint of all decisions: equal for equal seeds.
    pub trace_hash: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.seeds += other.seeds;
        self.operations += other.operations;
        self.cancels += other.cancels;
        self.crashes += other.crashes;
        self.chains += other.chains;
        self.behind += other.behind;
        self.failed_writes += other.failed_writes;
        self.refusals += other.refusals;
        self.flips += other.flips;
        self.flips_detected += other.flips_detected;
        self.trace_hash = self.trace_hash.rotate_left(7) ^ other.trace_hash;
    }
}

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
    let scenarios =
        [mixed::run, crash::run_once, crash::run_with_failures, full::run, rot::run, archive::run];
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

/// Name of the database in each simulated world.
const PATH: &str = "/db";

/// Entries of a tree, as the model has them.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// All trees of a store.
type State = BTreeMap<TreeId, Rows>;

/// Runs `make` in a world of its own around `disk`.
fn world<T, F>(disk: &Disk, seed: u64, make: impl FnOnce() -> F + Send + 'static) -> T
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
{
    let config = Config {
        workers: 1 + (seed % 3) as usize,
        ring: RingChoice::Sim(disk.clone()),
        seed,
        attack: seed.is_multiple_of(2),
        pin: false,
        ..Config::default()
    };
    let runtime = Runtime::start(config).expect("a simulated runtime starts");
    runtime.block_on(make)
}

fn options(frames: usize) -> StoreOptions {
    StoreOptions { pool_bytes: frames * 4096, ..StoreOptions::default() }
}

/// True if the runs of a seed have a file whose pages lie out of place: those of every other five.
fn is_out_of_place(seed: u64) -> bool {
    seed / 5 % 2 == 1
}

/// The seed with this number among those of files whose pages lie out of place.
pub fn out_of_place_seed(number: u64) -> u64 {
    let seed = number / 5 * 10 + 5 + number % 5;
    assert!(is_out_of_place(seed), "seed {seed} is of a file with pages in place");
    seed
}

/// The same with the layout of this seed.
fn options_for(seed: u64, frames: usize) -> StoreOptions {
    let fill_percent = FILL_PERCENT[(seed / 3 % 3) as usize];
    StoreOptions { layout: layout_of(seed), fill_percent, ..options(frames) }
}

/// How full extents are kept: so full that the cleaner has always something to do, or less.
const FILL_PERCENT: [u32; 3] = [60, 75, 90];

/// The layout of a seed's files. `DOVETAIL_LAYOUT` says it for all seeds.
fn layout_of(seed: u64) -> Layout {
    let is_out_of_place = match std::env::var("DOVETAIL_LAYOUT").as_deref() {
        Ok("out-of-place") => true,
        Ok("in-place") => false,
        _ => self::is_out_of_place(seed),
    };
    if is_out_of_place { self::out_of_place(seed) } else { Layout::InPlace }
}

/// The layout out of place, with the extents of this seed.
fn out_of_place(seed: u64) -> Layout {
    Layout::OutOfPlace { extent_pages: EXTENT_PAGES[(seed / 7 % 3) as usize] }
}

/// Pages of the extents of files whose pages lie out of place: few, so that they are used again and
/// again.
const EXTENT_PAGES: [u32; 3] = [8, 16, 64];

/// Fails with `what` unless `holds`.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

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
