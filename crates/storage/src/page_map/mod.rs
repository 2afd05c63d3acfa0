//! Where pages lie in a file that writes them out of place: each image goes to a place that nothing
//! durable needs, and stays there until the page has another one (`docs/format/places.md`).

mod extents;
mod map_page;
pub(crate) mod open;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use runtime::IoBuf;
use runtime::sync::Semaphore;

use crate::allocator::Allocator;
use crate::error::Result;
use crate::extent::Extent;
use crate::page::{self, PageId};
use crate::places::{Entry, Owner, PlaceRecords, places_len};
use crate::space::Placed;
use extents::Extents;

/// Places that are kept free beside those of the dirty pages: for changes that are on their way,
/// each of which may make a path of pages dirty, and for pages that change while they are written.
const SPARE_PLACES: usize = 96;

/// The part of the live pages that may have moved before a checkpoint is of use for that alone.
const MOVED_PART: usize = 8;

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
}

struct State {
    /// By page number.
    map: Vec<Entry>,
    map_pages: Vec<Entry>,
    /// Pieces of the map that are not on disk as they are.
    outdated: BTreeSet<u32>,
    extents: Extents,
    /// Pages have moved since the point of the last checkpoint.
    has_moved: bool,
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
    fn new(ground: Arc<Allocator>, page_size: u32, extent_pages: u32) -> PageMap {
        let state = State {
            map: Vec::new(),
            map_pages: Vec::new(),
            outdated: BTreeSet::new(),
            extents: Extents::new(extent_pages),
            has_moved: false,
        };
        PageMap {
            page_size: page_size as usize,
            extent_pages,
            ground,
            state: Mutex::new(state),
            left: AtomicUsize::new(0),
            growing: Semaphore::new(1),
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

    /// True if more pages should be changed only when there are more places: there are to be some
    /// for all `dirty` pages and for the map.
    pub fn is_short(&self, dirty: usize) -> bool {
        self.left.load(Ordering::Acquire) < dirty + SPARE_PLACES
    }

    /// Makes sure of places for so many dirty pages, and of some more.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full.
    pub async fn reserve(&self, dirty: usize) -> Result<()> {
        while self.is_short(dirty) {
            let _one = self.growing.acquire().await;
            if self.is_short(dirty) {
                self.add_extent().await?;
            }
        }
        Ok(())
    }

    /// The caller is the one who grows.
    async fn add_extent(&self) -> Result<()> {
        let extent = self.ground.take(self.extent_pages).await?;
        self.change(|state, _| state.extents.add_spare(extent));
        Ok(())
    }

    /// Gives out so many places, one behind the other as far as that can be.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. None is given out then.
    pub async fn take(&self, count: usize) -> Result<Taken<'_>> {
        let mut taken = Taken { map: self, places: Vec::with_capacity(count) };
        loop {
            let missing = count - taken.places.len();
            self.change(|state, freed| {
                let next = std::iter::from_fn(|| state.extents.take(freed));
                taken.places.extend(next.take(missing));
            });
            if taken.places.len() == count {
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
                    state.extents.leave(before.place, freed);
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

    /// Places that only a durable map names, beyond a part of those that the newest one does: a
    /// checkpoint would make them free.
    pub fn moved_beyond_a_part(&self) -> usize {
        let state = self.state();
        state.extents.moved().saturating_sub(state.extents.live() as usize / MOVED_PART)
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

    /// The records of places in the directory.
    pub fn records(&self) -> PlaceRecords {
        let state = self.state();
        PlaceRecords {
            extent_pages: self.extent_pages,
            extents: state.extents.starts().collect(),
            map_pages: state.map_pages.clone(),
        }
    }

    /// The point of a checkpoint.
    pub fn begin_settling(&self) {
        let mut state = self.state();
        state.extents.begin_settling();
        state.has_moved = false;
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

    /// Some pages whose extents have the fewest others, when less than `fill_percent` of all
    /// extents is pages; `pages_max` at most.
    pub fn sparse(&self, fill_percent: u32, pages_max: usize) -> Vec<PageId> {
        let state = self.state();
        let places = state.extents.count() as u64 * u64::from(self.extent_pages);
        match state.extents.live() * 100 < places * u64::from(fill_percent) {
            true => state.extents.sparse(pages_max),
            false => Vec::new(),
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
