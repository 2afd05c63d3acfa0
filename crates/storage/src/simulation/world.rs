//! The world of a seed: its machine, its disk, the layout and the members of its store.

use std::future::Future;
use std::ops::AddAssign;

use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime};

use crate::places::Layout;
use crate::store::StoreOptions;
use crate::volume::{Geometry, VolumeOptions};

/// Figures of the runs of some seeds.
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
    /// Power cuts behind which the recovery was cut short three times, at a write of its own each
    /// time.
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

/// Name of the database in each simulated world.
pub(super) const PATH: &str = "/db";

/// Runs `make` in a world of its own around `disk`.
pub(super) fn world<T, F>(disk: &Disk, seed: u64, make: impl FnOnce() -> F + Send + 'static) -> T
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

pub(super) fn options(frames: usize) -> StoreOptions {
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

/// The same with the layout of this seed, over its members.
pub(super) fn options_for(seed: u64, frames: usize) -> StoreOptions {
    let fill_percent = FILL_PERCENT[(seed / 3 % 3) as usize];
    let volume = members_of(seed);
    StoreOptions { layout: layout_of(seed), fill_percent, volume, ..options(frames) }
}

/// Small extents and slots, so that many lie on each member, and requests cross them.
pub(super) const GEOMETRY: Geometry = Geometry { extent_bytes: 64 << 10, table_bytes: 8 << 10 };

/// The members of a seed: none, as of seeds below ten, one or two more than the first.
/// `DOVETAIL_MEMBERS` says how many for all. Only the lower bits count: what opens a store again
/// has others above them.
fn members_of(seed: u64) -> VolumeOptions {
    let said = std::env::var("DOVETAIL_MEMBERS").ok().and_then(|text| text.parse().ok());
    let count = said.unwrap_or((seed & MEMBER_BITS) / 10 % 3);
    let members = (0..count).map(|number| format!("{PATH}.{}", number + 2).into()).collect();
    VolumeOptions { members, geometry: GEOMETRY, ..VolumeOptions::default() }
}

/// The bits of a seed that say which members there are.
pub(super) const MEMBER_BITS: u64 = (1 << 20) - 1;

/// How full extents are kept: so full that the cleaner has always something to do, or less.
const FILL_PERCENT: [u32; 3] = [60, 75, 90];

/// The layout of a seed's files. `DOVETAIL_LAYOUT` says it for all seeds.
pub(super) fn layout_of(seed: u64) -> Layout {
    let is_out_of_place = match std::env::var("DOVETAIL_LAYOUT").as_deref() {
        Ok("out-of-place") => true,
        Ok("in-place") => false,
        _ => self::is_out_of_place(seed),
    };
    if is_out_of_place { self::out_of_place(seed) } else { Layout::InPlace }
}

/// The layout out of place, with the extents of this seed.
pub(super) fn out_of_place(seed: u64) -> Layout {
    Layout::OutOfPlace { extent_pages: EXTENT_PAGES[(seed / 7 % 3) as usize] }
}

/// Pages of the extents of files whose pages lie out of place: few, so that they are used again and
/// again.
const EXTENT_PAGES: [u32; 3] = [8, 16, 64];

/// Fails with `what` unless `holds`.
pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
