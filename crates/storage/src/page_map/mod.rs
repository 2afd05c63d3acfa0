//! Where pages lie in a file that writes them out of place: each image goes to a place that nothing
//! durable needs, and stays there until the page has another one (`docs/format/places.md`).

mod ages;
mod claims;
mod extents;
pub(crate) mod map_page;
pub(crate) mod moves;
pub(crate) mod open;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use runtime::IoBuf;
use runtime::sync::Semaphore;

use crate::allocator::Allocator;
use crate::error::Result;
use crate::extent::Extent;
use crate::page::{self, PageId};
use crate::places::{Entry, Owner, PlaceRecords, places_len};
use crate::planted;
use crate::space::Placed;
pub(crate) use claims::Claim;
use claims::{RESERVED_EXTENTS_MIN, reserved_extents};
use extents::{Extents, Purpose};

/// Places that are kept free beside those of the dirty pages: for changes that are on their way,
/// each of which may make a path of pages dirty, and for pages that change while they are written.
const SPARE_PLACES: usize = 96;

/// The part of the live pages that the last checkpoint may need besides, before another one is of
/// use for that alone.
const KEPT_PART: u64 = 8;

/// The part of the extents, as many of which free space keeps that is not given back.
const RETURNED_PART: usize = 8;

/// Parts of a file whose pages lie out of place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaceStats {
    /// Extents in use or reserved.
    pub extents: u64,
    /// Pages of an extent.
    pub extent_pages: u32,
    /// Places that can be given out at once.
    pub places_left: u64,
    /// Images that are those of pages, or of the map.
    pub live: u64,
    /// Others that the last checkpoint needs.
    pub kept: u64,
    /// Others that are needed until a map on disk says that they have moved.
    pub replaced: u64,
    /// Images that were written since the file was opened, without those that were moved.
    pub written: u64,
    /// Images that the cleaner has moved since then.
    pub moved: u64,
    /// Pieces of the map that it has written for that.
    pub map_pages: u64,
    /// Bytes of the file that were given back to the file system since then.
    pub given_back: u64,
}

/// Where all pages lie.
pub(crate) struct PageMap {
    page_size: usize,
    extent_pages: u32,
    /// Gives out extents.
    ground: Arc<Allocator>,
    state: Mutex<State>,
    /// Places that can be given out at once.
    left: AtomicUsize,
    /// Of the one who gets another extent.
    growing: Semaphore,
    /// How much of the extents is to be pages, in percent.
    fill_percent: u32,
    /// Places that are kept for the cleaner where the disk is full, and as many for what frees
    /// space.
    reserved: AtomicUsize,
    /// There is something to clean.
    is_sparse: AtomicBool,
}

struct State {
    /// By page number.
    map: Vec<Entry>,
    map_pages: Vec<Entry>,
    /// Pieces of the map that are not on disk as they are.
    outdated: BTreeSet<u32>,
    /// The entry of the last durable map where the newest one says something else. A map that names
    /// what was moved says so, too ([`moves`]).
    durable: BTreeMap<Owner, Entry>,
    /// Pieces of the durable map that are not on disk as they are.
    remapped: BTreeSet<u32>,
    extents: Extents,
    /// Pages have moved since the point of the last checkpoint.
    has_moved: bool,
    /// There was nothing to clean when so many extents were in use.
    idle_at: Option<usize>,
    stats: PlaceStats,
}

impl State {
    fn slot(&mut self, owner: Owner) -> &mut Entry {
        let (list, at) = match owner {
            Owner::Page(pid) => (&mut self.map, pid as usize),
            Owner::Map(index) => (&mut self.map_pages, index as usize),
        };
        if list.len() <= at {
            list.resize(at + 1, Entry::default());
        }
        &mut list[at]
    }

    /// The entry of the newest map.
    fn newest(&self, owner: Owner) -> Entry {
        let entry = match owner {
            Owner::Page(pid) => self.map.get(pid as usize),
            Owner::Map(index) => self.map_pages.get(index as usize),
        };
        entry.copied().unwrap_or_default()
    }

    /// Gives out a place for an image that is written; `None` when there is none.
    fn take_for(&mut self, owner: Owner, freed: &mut Vec<Extent>) -> Option<PageId> {
        let before = Some(self.newest(owner).place).filter(|place| *place != 0);
        let place = self.extents.take(Purpose::Written(before), freed)?;
        self.stats.written += 1;
        Some(place)
    }

    /// The newest map does not name this image of `owner` any more.
    fn leave(&mut self, owner: Owner, before: Entry, freed: &mut Vec<Extent>) {
        let is_durable = !self.durable.contains_key(&owner)
            && !self.extents.is_fresh(before.place)
            && !planted::is("places-left-at-once");
        if is_durable {
            self.durable.insert(owner, before);
            self.extents.keep(before.place);
        } else {
            self.extents.abandon(before.place, freed);
        }
    }

    /// True if less of what was written in extents is needed than should be.
    fn is_sparse(&self, fill_percent: u32) -> bool {
        let extents = &self.extents;
        let needed = extents.live() + extents.kept() + extents.replaced();
        self.idle_at.is_none_or(|at| extents.used_count() > at)
            && needed * 100 < extents.filled() * u64::from(fill_percent)
    }
}

/// Places that were given out and are not named yet: those that nobody takes over are let go.
pub(crate) struct Taken<'m> {
    map: &'m PageMap,
    /// In ascending order within each extent.
    pub places: Vec<PageId>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let places = std::mem::take(&mut self.places);
        self.map.change(|state, freed| {
            places.into_iter().for_each(|place| state.extents.let_go(place, freed));
        });
    }
}

impl PageMap {
    fn new(
        ground: Arc<Allocator>,
        page_size: u32,
        extent_pages: u32,
        fill_percent: u32,
    ) -> PageMap {
        let state = State {
            map: Vec::new(),
            map_pages: Vec::new(),
            outdated: BTreeSet::new(),
            durable: BTreeMap::new(),
            remapped: BTreeSet::new(),
            extents: Extents::new(extent_pages),
            has_moved: false,
            idle_at: None,
            stats: PlaceStats::default(),
        };
        PageMap {
            page_size: page_size as usize,
            extent_pages,
            ground,
            state: Mutex::new(state),
            left: AtomicUsize::new(0),
            growing: Semaphore::new(1),
            fill_percent,
            reserved: AtomicUsize::new(RESERVED_EXTENTS_MIN * extent_pages as usize),
            is_sparse: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("map of places")
    }

    /// Changes the state; extents that nobody needs any more become free.
    fn change<T>(&self, change: impl FnOnce(&mut State, &mut Vec<Extent>) -> T) -> T {
        let (mut state, mut freed) = (self.state(), Vec::new());
        let changed = change(&mut state, &mut freed);
        self.left.store(state.extents.left(), Ordering::Release);
        if !freed.is_empty() {
            state.idle_at = None;
        }
        let reserved = reserved_extents(state.extents.used_count());
        self.reserved.store(reserved * self.extent_pages as usize, Ordering::Relaxed);
        let is_sparse = state.is_sparse(self.fill_percent);
        self.is_sparse.store(is_sparse, Ordering::Relaxed);
        if !freed.is_empty() {
            let mut ground = self.ground.space();
            freed.into_iter().for_each(|extent| ground.give(extent));
        }
        changed
    }

    /// Gives out extents and other runs of the file.
    pub fn ground(&self) -> &Arc<Allocator> {
        &self.ground
    }

    /// Pages of an extent.
    pub fn extent_pages(&self) -> u32 {
        self.extent_pages
    }

    /// Places that can be given out at once.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::Acquire)
    }

    /// The caller is the one who grows.
    async fn add_extent(&self) -> Result<()> {
        let extent = self.ground.take(self.extent_pages).await?;
        self.change(|state, _| state.extents.add_spare(extent));
        Ok(())
    }

    /// Gives out places for images of these, one behind the other as far as that can be.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. None is given out then.
    pub async fn take(&self, owners: &[Owner]) -> Result<Taken<'_>> {
        let mut taken = Taken { map: self, places: Vec::with_capacity(owners.len()) };
        loop {
            self.change(|state, freed| {
                let next = |owner: &Owner| state.take_for(*owner, freed);
                taken.places.extend(owners[taken.places.len()..].iter().map_while(next));
            });
            if taken.places.len() == owners.len() {
                return Ok(taken);
            }
            let _one = self.growing.acquire().await;
            if self.left.load(Ordering::Acquire) == 0 {
                self.add_extent().await?;
            }
        }
    }

    /// The images that were written to these places are those of their owners now.
    pub fn install(&self, mut taken: Taken<'_>, images: Vec<(Owner, u32)>) {
        let places = std::mem::take(&mut taken.places);
        assert_eq!(places.len(), images.len(), "an image for each place");
        let capacity = map_page::capacity(self.page_size);
        self.change(|state, freed| {
            state.has_moved = true;
            for (place, (owner, checksum)) in places.into_iter().zip(images) {
                let before = std::mem::replace(state.slot(owner), Entry { place, checksum });
                state.extents.own(place, owner);
                if before.place != 0 {
                    state.leave(owner, before, freed);
                }
                if let Owner::Page(pid) = owner {
                    state.outdated.insert(pid / capacity as u32);
                }
            }
        });
    }

    /// Where the page lies. Until `end_read` the place is not given away.
    pub fn begin_read(&self, pid: PageId) -> Option<Entry> {
        let mut state = self.state();
        let entry = state.map.get(pid as usize).copied().filter(|entry| entry.place != 0)?;
        state.extents.hold(entry.place);
        Some(entry)
    }

    pub fn end_read(&self, entry: Entry) {
        self.change(|state, freed| state.extents.let_go(entry.place, freed));
    }

    /// True if the page has a place.
    pub fn has(&self, pid: PageId) -> bool {
        self.state().map.get(pid as usize).is_some_and(|entry| entry.place != 0)
    }

    /// True if a checkpoint has to write the map.
    pub fn has_changed(&self) -> bool {
        let state = self.state();
        state.has_moved || !state.outdated.is_empty()
    }

    /// Pages that a checkpoint writes for the map, when so many more pages change.
    pub fn map_pages_wanted(&self, more: usize) -> usize {
        let state = self.state();
        state.map_pages.len().max(state.outdated.len()).min(state.outdated.len() + more) + 1
    }

    /// Sealed images of so many pieces of the map that have changed, at most, in the order of their
    /// indexes, from `from` on. They count as written when `note_written` says so.
    pub fn outdated(&self, from: u32, count: usize, epoch: u64) -> Vec<(u32, IoBuf)> {
        let (state, capacity) = (self.state(), map_page::capacity(self.page_size));
        let image = |index: u32| {
            let begin = index as usize * capacity;
            let end = state.map.len().min(begin + capacity);
            let mut image = IoBuf::alloc(self.page_size);
            map_page::build(image.as_mut_slice(), index, epoch, &state.map[begin..end]);
            (index, image)
        };
        state.outdated.range(from..).take(count).map(|index| image(*index)).collect()
    }

    /// These pieces of the map are on disk. One that has changed meanwhile stays outdated: its
    /// image says so.
    pub fn note_written(&self, images: &[(u32, u32)], epoch: u64) {
        let capacity = map_page::capacity(self.page_size);
        let mut state = self.state();
        let mut now = vec![0; self.page_size];
        for &(index, checksum) in images {
            let begin = index as usize * capacity;
            let end = state.map.len().min(begin + capacity);
            map_page::build(&mut now, index, epoch, &state.map[begin..end]);
            if page::stored_checksum(&now) == checksum {
                state.outdated.remove(&index);
            }
        }
    }

    /// No piece of the map is on disk; how many there are.
    pub fn outdate_all(&self) -> usize {
        let mut state = self.state();
        let pieces = state.map.len().div_ceil(map_page::capacity(self.page_size));
        state.outdated.extend(0..pieces as u32);
        pieces
    }

    /// The records of places in the directory.
    pub fn records(&self) -> PlaceRecords {
        let state = self.state();
        PlaceRecords {
            extent_pages: self.extent_pages,
            extents: state.extents.starts().collect(),
            map_pages: state.map_pages.clone(),
        }
    }

    /// The point of a checkpoint. Pages that the last one has in another place, and where the new
    /// one has them: all of its pages that have changed are among these, but for new ones.
    pub fn begin_settling(&self) -> Vec<(PageId, PageId)> {
        let mut state = self.state();
        state.extents.begin_settling();
        let moved = std::mem::take(&mut state.durable).into_keys();
        state.remapped.clear();
        state.has_moved = false;
        let page = |owner: Owner| match owner {
            Owner::Page(pid) => Some((pid, state.newest(owner).place)),
            Owner::Map(_) => None,
        };
        moved.filter_map(page).collect()
    }

    /// Where the last checkpoint has a page. The place is not given away before the next one has
    /// settled, unless images are moved.
    pub fn durable_entry(&self, pid: PageId) -> Entry {
        self.state().durable(Owner::Page(pid))
    }

    /// The checkpoint is durable, and the one before needed no more.
    pub fn settle(&self) {
        self.change(|state, freed| state.extents.settle(freed));
    }

    /// Bytes of what the directory says of places, with so many more extents and pieces of the map.
    pub fn records_len(&self, extents: usize, map_pages: usize) -> usize {
        let state = self.state();
        let (extents, map_pages) =
            (state.extents.count() + extents, state.map_pages.len() + map_pages);
        places_len(extents, map_pages)
    }

    /// Runs of the file that hold pages, or are to.
    fn runs(&self, state: &State) -> Vec<Extent> {
        let starts = state.extents.starts().chain(state.extents.spare().iter().copied());
        starts.map(|start| Extent { start, pages: self.extent_pages }).collect()
    }

    /// Those, all that is free, and how many places the file has, at one moment.
    pub async fn survey(&self) -> (Vec<Extent>, Vec<Extent>, u32) {
        // The holder of this permit has an extent that is in neither.
        let _nobody_grows = self.growing.acquire().await;
        let state = self.state();
        let ground = self.ground.space();
        (self.runs(&state), ground.free_after_restart(&[]), ground.page_count())
    }

    /// Places that only the last checkpoint needs, beyond a part of those that the newest map
    /// names: another one would make them free.
    pub fn kept_beyond_a_part(&self) -> usize {
        let state = self.state();
        state.extents.kept().saturating_sub(state.extents.live() / KEPT_PART) as usize
    }

    /// True if there is something to clean.
    pub fn is_sparse(&self) -> bool {
        self.is_sparse.load(Ordering::Relaxed)
    }

    /// Gives space of the file that has become free back to the file system, but for some that
    /// will be wanted soon. To be run by a task of its own.
    pub async fn give_space_back(&self) {
        let extents = self.state().extents.count();
        let keep = (extents / RETURNED_PART).max(RESERVED_EXTENTS_MIN) as u64;
        let pages = u64::from(self.extent_pages);
        self.ground.give_back(self.extent_pages, keep * pages).await;
    }

    /// Counts, for reports and tests.
    pub fn stats(&self) -> PlaceStats {
        let state = self.state();
        PlaceStats {
            extents: state.extents.count() as u64,
            extent_pages: self.extent_pages,
            places_left: state.extents.left() as u64,
            live: state.extents.live(),
            kept: state.extents.kept(),
            replaced: state.extents.replaced(),
            given_back: self.ground.returned(),
            ..state.stats
        }
    }
}

impl Placed for PageMap {
    fn forget(&self, pages: Extent) {
        self.change(|state, freed| {
            for pid in pages.pids() {
                let Some(entry) = state.map.get_mut(pid as usize) else { break };
                let before = std::mem::take(entry);
                if before.place != 0 {
                    state.extents.abandon(before.place, freed);
                }
            }
        });
    }
}
