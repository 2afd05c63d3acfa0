//! Flipped bits by the hundred thousand, one at a time, in each kind of place that a file has: each is told, or
//! mended from a copy, or lies where nobody reads. Nothing else is ever served.
//!
//! Stores are built once, and copied in memory. What opening does not change is opened again and again in one
//! simulated machine; where it does (recovery, a damaged header), each flip has a machine of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{AddAssign, Range};
use std::sync::Arc;

use runtime::IoCounters;
use runtime::sim::{Disk, FaultPlan};
use stdx::Prng;

use super::{PATH, Rows, State, ensure, options, random_rows, random_value, state_of, world};
use crate::directory::Directory;
use crate::error::{Result, StorageError};
use crate::header::{self, HEADER_BYTES, Header};
use crate::log::redo::Redo;
use crate::meta;
use crate::page::{self, PageKind};
use crate::store::{Store, StoreOptions};
use crate::tree_id::TreeId;

const PAGE_BYTES: u64 = 4096;

/// A machine of one worker, without delays on purpose.
const MACHINE_SEED: u64 = 3;

/// Frames of the pool: more than any of the stores has pages.
const FRAMES: usize = 256;

/// Flips that one machine lives through.
const BATCH: u64 = 500;

/// Frames of the log.
const COMMITS: usize = 8;

/// What lies where a bit is flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The part of a header slot that means something.
    Header,
    /// The rest of the slot's page.
    HeaderRest,
    /// The directory of trees and free pages.
    Directory,
    /// Inner nodes of trees.
    Inner,
    /// Leaves.
    Leaf,
    /// Pieces of long values.
    Overflow,
    /// Pages that nothing reaches, with what they held once.
    Free,
    /// Images of a checkpoint that a power cut has ended.
    DoubleWrite,
    /// Frames of the log but for the last.
    Log,
    /// The last frame.
    LastFrame,
    /// What the log has not used yet.
    LogRest,
}

/// The places, and how many flips of forty each gets: there are few bits in a header.
const PLACES: [(Place, u64); 11] = [
    (Place::Header, 1),
    (Place::HeaderRest, 1),
    (Place::Directory, 2),
    (Place::Inner, 4),
    (Place::Leaf, 8),
    (Place::Overflow, 8),
    (Place::Free, 2),
    (Place::DoubleWrite, 6),
    (Place::Log, 6),
    (Place::LastFrame, 1),
    (Place::LogRest, 1),
];

/// What became of the flips of a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flips {
    /// All of them.
    pub count: u64,
    /// Opening the file or reading it says that it is damaged.
    pub told: u64,
    /// All is as it was, and so is the bit: what was damaged was written anew from a copy.
    pub mended: u64,
    /// The last commit is missing, as if its write had been cut off before anybody was told of it.
    pub cut_off: u64,
    /// All is as it was, and the bit is not: nobody reads it.
    pub unused: u64,
}

impl AddAssign for Flips {
    fn add_assign(&mut self, other: Flips) {
        self.count += other.count;
        self.told += other.told;
        self.mended += other.mended;
        self.cut_off += other.cut_off;
        self.unused += other.unused;
    }
}

impl fmt::Display for Flips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Flips { count, told, mended, cut_off, unused } = self;
        write!(f, "{count:>8} {told:>8} told {mended:>8} mended ")?;
        write!(f, "{cut_off:>8} cut off {unused:>8} unused")
    }
}

/// What became of all flips.
pub type FlipReport = BTreeMap<Place, Flips>;

/// A file to flip bits in.
struct Subject {
    disk: Disk,
    bytes: Arc<Vec<u8>>,
    options: StoreOptions,
    places: BTreeMap<Place, Vec<Range<u64>>>,
    whole: State,
    /// What is there without the last commit.
    before_last: Option<State>,
}

/// A bit: its byte in the file, and which of the eight.
#[derive(Clone, Copy)]
struct Bit {
    at: u64,
    bit: u8,
}

pub(super) fn run(seed: u64, count: u64) -> std::result::Result<FlipReport, String> {
    let failed = |error: StorageError| format!("building: {error}");
    let subjects = [
        at_rest(seed).map_err(failed)?,
        unfinished(seed).map_err(failed)?,
        logged(seed).map_err(failed)?,
    ];
    let (mut prng, mut report) = (Prng::new(seed), FlipReport::new());
    let total: u64 = PLACES.iter().map(|(_, share)| share).sum();
    for (place, share) in PLACES {
        let subject = subjects.iter().find(|subject| subject.places.contains_key(&place));
        let subject = subject.ok_or_else(|| format!("no file has {place:?}"))?;
        let flips = subject.flip(place, (count * share).div_ceil(total), &mut prng);
        report.insert(place, flips.map_err(|what| format!("{place:?}: {what}"))?);
    }
    Ok(report)
}

impl Subject {
    /// A file as it is on this disk, which is synced.
    fn new(disk: &Disk, options: StoreOptions, whole: State) -> Subject {
        let disk = disk.crash(MACHINE_SEED);
        let bytes = Arc::new(disk.contents(PATH).expect("the file is there"));
        let places = places_of(&bytes);
        Subject { disk, bytes, options, places, whole, before_last: None }
    }

    /// Only these places of it.
    fn only(mut self, wanted: &[Place]) -> Subject {
        self.places.retain(|place, _| wanted.contains(place));
        self
    }

    fn flip(
        &self,
        place: Place,
        count: u64,
        prng: &mut Prng,
    ) -> std::result::Result<Flips, String> {
        let ranges = &self.places[&place];
        let draw = |_| random_bit(ranges, prng);
        let bits: Vec<Bit> = (0..count).map(draw).collect();
        let is_changed = matches!(
            place,
            Place::Header | Place::DoubleWrite | Place::Log | Place::LastFrame | Place::LogRest
        );
        let mut flips = Flips::default();
        for bits in bits.chunks(if is_changed { 1 } else { BATCH as usize }) {
            flips += self.flip_each(bits.to_vec(), is_changed)?;
        }
        let is_odd = flips.cut_off > 0 && place != Place::LastFrame;
        ensure(!is_odd, || format!("{} commits are missing", flips.cut_off))?;
        Ok(flips)
    }

    /// Flips one bit after the other in one machine, and back.
    fn flip_each(&self, bits: Vec<Bit>, is_changed: bool) -> std::result::Result<Flips, String> {
        let disk = self.disk.crash(MACHINE_SEED);
        let (inside, options, count) = (disk.clone(), self.options.clone(), bits.len());
        let found = world(&disk, MACHINE_SEED, move || async move {
            let mut found = Vec::with_capacity(bits.len());
            for bit in bits {
                let mask = 1 << bit.bit;
                assert!(inside.rot(PATH, bit.at, mask), "there is no byte {}", bit.at);
                found.push((bit, read_all(options.clone()).await));
                if !is_changed {
                    inside.rot(PATH, bit.at, mask);
                }
            }
            found
        });
        let is_same = is_changed || disk.write_count() == 0;
        ensure(is_same, || format!("one of {count} was followed by a write"))?;
        let mut flips = Flips::default();
        for (bit, found) in found {
            let is_mended = is_changed && self.is_mended(&disk, bit);
            flips += self.judge(bit, found, is_mended)?;
        }
        Ok(flips)
    }

    /// Whether what was damaged is sound again: a header slot, which is another one then, or the byte.
    fn is_mended(&self, disk: &Disk, bit: Bit) -> bool {
        let bytes = disk.contents(PATH).expect("the file is there");
        match bit.at / PAGE_BYTES {
            slot @ 0..=1 => header::decode(page_of(&bytes, slot as u32), slot as u32).is_ok(),
            _ => bytes[bit.at as usize] == self.bytes[bit.at as usize],
        }
    }

    fn judge(
        &self,
        bit: Bit,
        found: Result<State>,
        is_mended: bool,
    ) -> std::result::Result<Flips, String> {
        use StorageError::{Corrupt, NewerVersion, NotADatabase, Truncated};
        let flip = Flips { count: 1, ..Flips::default() };
        let (page, byte, bit) = (bit.at / PAGE_BYTES, bit.at % PAGE_BYTES, bit.bit);
        match found {
            Err(Corrupt { .. } | NotADatabase | NewerVersion { .. } | Truncated { .. }) => {
                Ok(Flips { told: 1, ..flip })
            }
            Ok(state) if state == self.whole && is_mended => Ok(Flips { mended: 1, ..flip }),
            Ok(state) if state == self.whole => Ok(Flips { unused: 1, ..flip }),
            Ok(state) if Some(&state) == self.before_last.as_ref() => {
                Ok(Flips { cut_off: 1, ..flip })
            }
            Ok(_) => Err(format!("bit {bit} of byte {byte} of page {page} is served")),
            Err(error) => Err(format!("bit {bit} of byte {byte} of page {page}: {error}")),
        }
    }
}

/// Opens the file, reads all of it and verifies it.
async fn read_all(options: StoreOptions) -> Result<State> {
    let store = Store::open(PATH.as_ref(), options).await?;
    let state = match state_of(&store).await {
        Ok(state) => store.verify().await.map(|_| state),
        Err(error) => Err(error),
    };
    // The next one opens the file again.
    store.close().await;
    state
}

fn random_bit(ranges: &[Range<u64>], prng: &mut Prng) -> Bit {
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let (mut at, bit) = (prng.below(total), prng.below(8) as u8);
    for range in ranges {
        let len = range.end - range.start;
        if at < len {
            return Bit { at: range.start + at, bit };
        }
        at -= len;
    }
    unreachable!("the byte lies in one of the ranges")
}

fn page_of(bytes: &[u8], pid: u32) -> &[u8] {
    let begin = pid as usize * PAGE_BYTES as usize;
    &bytes[begin..begin + PAGE_BYTES as usize]
}

fn header_of(bytes: &[u8]) -> Header {
    let slots = [0, 1].map(|pid| header::decode(page_of(bytes, pid), pid));
    let [first, second] = slots;
    header::choose(first, second).expect("the file is sound").0
}

/// What lies where in a sound file; nothing of its log.
fn places_of(bytes: &[u8]) -> BTreeMap<Place, Vec<Range<u64>>> {
    let header = header_of(bytes);
    let metas = header.meta_pid..header.meta_pid + header.meta_pages;
    let payload: Vec<u8> = metas
        .clone()
        .flat_map(|pid| meta::payload(page_of(bytes, pid)).expect("a meta page").to_vec())
        .collect();
    let directory = Directory::decode(&payload, header.version, header.page_count);
    let free = directory.expect("the directory is sound").free;
    let double_write = header.double_write.pid..header.double_write.pid + header.double_write.pages;
    let log = header.log.pid..header.log.pid + header.log.pages;
    let mut places: BTreeMap<Place, Vec<Range<u64>>> = BTreeMap::new();
    for slot in [0, PAGE_BYTES] {
        let end = slot + HEADER_BYTES as u64;
        places.entry(Place::Header).or_default().push(slot..end);
        places.entry(Place::HeaderRest).or_default().push(end..slot + PAGE_BYTES);
    }
    for pid in (2..header.page_count).filter(|pid| !log.contains(pid)) {
        let page = page_of(bytes, pid);
        let is_free = free.iter().any(|run| (run.start..run.start + run.pages).contains(&pid));
        let place = match page::kind(page) {
            _ if double_write.contains(&pid) => Place::DoubleWrite,
            _ if metas.contains(&pid) => Place::Directory,
            _ if page.iter().all(|byte| *byte == 0) => continue,
            _ if is_free => Place::Free,
            Some(PageKind::Leaf) => Place::Leaf,
            Some(PageKind::Inner) => Place::Inner,
            Some(PageKind::Overflow) => Place::Overflow,
            Some(PageKind::Meta | PageKind::Free | PageKind::Map) | None => continue,
        };
        let begin = u64::from(pid) * PAGE_BYTES;
        places.entry(place).or_default().push(begin..begin + PAGE_BYTES);
    }
    places
}

/// Makes a tree of some rows, a few of them long.
async fn load(store: &Store, prng: &mut Prng, count: u64) -> Result<TreeId> {
    let id = store.create_tree().await?;
    let mut rows = random_rows(prng, count);
    for number in 0..4u64 {
        let len = 2000 + prng.below(12_000) as usize;
        rows.insert(format!("long {number}").into_bytes(), vec![number as u8; len]);
    }
    let mut loader = store.tree(id)?.bulk_loader().await?;
    for (key, value) in &rows {
        loader.push(key, value).await?;
    }
    loader.finish().await.map(|()| id)
}

/// Replaces every so many of a tree's entries; what was done.
async fn replace(store: &Store, id: TreeId, prng: &mut Prng, every: usize) -> Result<Redo> {
    let (tree, io, mut redo) = (store.tree(id)?, IoCounters::default(), Redo::default());
    let rows: Rows = super::rows_of(&tree, &io).await?;
    let skip = prng.below(every as u64) as usize;
    for key in rows.keys().skip(skip).step_by(every) {
        let value = random_value(prng, key);
        tree.replace(key, &value, &io).await?;
        redo.push(id, key, Some(&value));
    }
    Ok(redo)
}

/// A store whose last checkpoint is complete.
fn at_rest(seed: u64) -> Result<Subject> {
    let disk = Disk::new(seed);
    let whole = world(&disk, MACHINE_SEED, move || async move {
        let mut prng = Prng::new(seed);
        let store = Store::create(PATH.as_ref(), options(FRAMES)).await?;
        let dropped = load(&store, &mut prng, 200).await?;
        let kept = load(&store, &mut prng, 200).await?;
        store.checkpoint().await?;
        store.drop_tree(dropped).await?;
        replace(&store, kept, &mut prng, 3).await?;
        store.catalog().insert(b"key", b"value").await?;
        store.checkpoint().await?;
        let state = state_of(&store).await?;
        store.close().await;
        Ok::<_, StorageError>(state)
    })?;
    use Place::{Directory, Free, Header, HeaderRest, Inner, Leaf, Overflow};
    let places = [Header, HeaderRest, Directory, Inner, Leaf, Overflow, Free];
    Ok(Subject::new(&disk, options(FRAMES), whole).only(&places))
}

/// A store whose last checkpoint a power cut has ended while its images went to their places.
fn unfinished(seed: u64) -> Result<Subject> {
    let (whole, state) = play_unfinished(seed, FaultPlan::default());
    let state = state?;
    for write in (1..=whole.write_count()).rev() {
        let plan = FaultPlan { crash_at_write: Some(write), ..FaultPlan::default() };
        let (disk, _) = play_unfinished(seed, plan);
        let Some(bytes) = disk.crash(MACHINE_SEED).contents(PATH) else { continue };
        if bytes.len() >= 2 * PAGE_BYTES as usize && header_of(&bytes).double_write.pages > 3 {
            return Ok(Subject::new(&disk, options(FRAMES), state).only(&[Place::DoubleWrite]));
        }
    }
    panic!("no power cut leaves a double-write buffer behind");
}

fn play_unfinished(seed: u64, plan: FaultPlan) -> (Disk, Result<State>) {
    let disk = Disk::new(seed);
    disk.faults(plan);
    let state = world(&disk, MACHINE_SEED, move || async move {
        let mut prng = Prng::new(seed);
        let store = Store::create(PATH.as_ref(), options(FRAMES)).await?;
        let id = load(&store, &mut prng, 150).await?;
        store.checkpoint().await?;
        replace(&store, id, &mut prng, 2).await?;
        store.checkpoint().await?;
        state_of(&store).await
    });
    (disk, state)
}

/// A store with commits in its log that no checkpoint has.
fn logged(seed: u64) -> Result<Subject> {
    let disk = Disk::new(seed);
    let options = StoreOptions { log: true, ..options(FRAMES) };
    let given = options.clone();
    let (whole, before_last, ends) = world(&disk, MACHINE_SEED, move || async move {
        let mut prng = Prng::new(seed);
        let store = Store::create(PATH.as_ref(), given).await?;
        let id = load(&store, &mut prng, 60).await?;
        store.checkpoint().await?;
        let (mut states, mut ends) = (vec![], vec![]);
        for _ in 0..COMMITS {
            let redo = replace(&store, id, &mut prng, 12).await?;
            store.log(redo).await?;
            states.push(state_of(&store).await?);
            ends.push(store.log_usage().0 as u64);
        }
        let (last, before) = (states.pop(), states.pop());
        Ok::<_, StorageError>((last.expect("commits"), before, ends))
    })?;
    let mut subject = Subject::new(&disk, options, whole);
    let log = header_of(&subject.bytes).log;
    let begin = u64::from(log.pid) * PAGE_BYTES;
    let (last, end) = (begin + ends[COMMITS - 2], begin + ends[COMMITS - 1]);
    let rest = end..begin + u64::from(log.pages) * PAGE_BYTES;
    let parts = [(Place::Log, begin..last), (Place::LastFrame, last..end), (Place::LogRest, rest)];
    subject.places = parts.into_iter().map(|(place, range)| (place, vec![range])).collect();
    subject.before_last = before_last;
    Ok(subject)
}
