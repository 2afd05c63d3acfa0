//! Images that the cleaner moves: the newest map says so, and the last durable one as well, which
//! is written again then ([`PageMap::remapped`]). It is the map of the same checkpoint: what that
//! holds lies elsewhere, and nothing else of it has changed.

use runtime::IoBuf;

use super::extents::Purpose;
use super::{PageMap, SPARE_PLACES, State, Taken, map_page};
use crate::error::Result;
use crate::extent::Extent;
use crate::page::{self, PageId};
use crate::places::{Entry, Owner, PlaceRecords};
use crate::planted;

/// The part of the needed images that may have been moved before a map on disk has to say so.
const REPLACED_PART: u64 = 8;

/// An image that is to be moved. Its place is held until `end_moves`.
#[derive(Clone, Copy)]
pub(crate) struct Move {
    pub owner: Owner,
    pub from: Entry,
}

impl Move {
    /// True if these are the bytes of the image that is meant.
    pub fn is_it(&self, bytes: &[u8]) -> bool {
        let number = match self.owner {
            Owner::Page(pid) => pid,
            Owner::Map(index) => map_page::number(index),
        };
        page::check(bytes, number).is_ok() && page::stored_checksum(bytes) == self.from.checksum
    }
}

impl State {
    /// The image that the last durable map names.
    pub(super) fn durable(&self, owner: Owner) -> Entry {
        self.durable.get(&owner).copied().unwrap_or_else(|| self.newest(owner))
    }

    /// The image that was at `from` lies at `to`, too. False when nobody wants it any more.
    fn move_image(
        &mut self,
        image: Move,
        to: Entry,
        capacity: u32,
        freed: &mut Vec<Extent>,
    ) -> bool {
        let Move { owner, from } = image;
        let kept = self.durable.get(&owner).copied();
        // True if the map on disk names it.
        let is_named;
        if self.newest(owner).place == from.place {
            is_named = kept.is_none() && !self.extents.is_fresh(from.place);
            *self.slot(owner) = to;
            self.extents.own(to.place, owner);
            self.has_moved = true;
            if let Owner::Page(pid) = owner {
                self.outdated.insert(pid / capacity);
            }
        } else if kept.is_some_and(|kept| kept.place == from.place) {
            is_named = true;
            self.durable.insert(owner, to);
            self.extents.keep_for(to.place, owner);
        } else {
            return false;
        }
        if let Owner::Page(pid) = owner
            && is_named
        {
            self.remapped.insert(pid / capacity);
        }
        self.extents.replace(from.place, is_named, freed);
        true
    }
}

impl PageMap {
    /// Extents whose images are to be moved, so many at most, and how many images are in them.
    /// When there are none, nobody need ask before something has changed.
    pub fn victims(&self, count: usize) -> Vec<(PageId, u32)> {
        self.change(|state, _| {
            let victims = state.extents.victims(count);
            if victims.is_empty() {
                state.idle_at = Some(state.extents.used_count());
            }
            victims
        })
    }

    /// There is no space to clean in: nobody need try before there is some.
    pub fn give_up_cleaning(&self) {
        self.change(|state, _| state.idle_at = Some(usize::MAX));
    }

    /// All images in an extent that somebody wants. Their places are not given away before
    /// `end_moves`.
    pub fn begin_moves(&self, start: PageId) -> Vec<Move> {
        let mut state = self.state();
        let mut moves = Vec::new();
        let mut survivors = state.extents.survivors(start);
        survivors.sort_unstable();
        for (place, owner) in survivors {
            let newest = state.newest(owner);
            let from = if newest.place == place { newest } else { state.durable[&owner] };
            assert_eq!(from.place, place, "an image is where its owner says");
            state.extents.hold(place);
            moves.push(Move { owner, from });
        }
        moves
    }

    pub fn end_moves(&self, moves: &[Move]) {
        self.change(|state, freed| {
            moves.iter().for_each(|image| state.extents.let_go(image.from.place, freed));
        });
    }

    /// Gives out places for images that are moved. Those that `dirty` pages need are left.
    ///
    /// # Errors
    /// `Full`; `Io` when the disk is full. None is given out then.
    pub async fn take_to_move(&self, moves: &[Move], dirty: usize) -> Result<Taken<'_>> {
        let purposes: Vec<_> = moves.iter().map(|image| Purpose::Moved(image.from.place)).collect();
        self.take_for_cleaner(&purposes, dirty + SPARE_PLACES).await
    }

    async fn take_for_cleaner(&self, purposes: &[Purpose], others: usize) -> Result<Taken<'_>> {
        let count = purposes.len();
        let mut taken = Taken { map: self, places: Vec::with_capacity(count) };
        loop {
            let is_short = self.change(|state, freed| {
                let is_short =
                    state.extents.left() < count + others || state.extents.left_to_move() < count;
                if !is_short {
                    let next = |purpose: &Purpose| state.extents.take(*purpose, freed);
                    taken.places.extend(purposes.iter().map_while(next));
                }
                is_short
            });
            if !is_short {
                assert_eq!(taken.places.len(), count, "there was room for all of them");
                return Ok(taken);
            }
            let _one = self.growing.acquire().await;
            self.add_extent().await?;
        }
    }

    /// The images of `moves` were copied to these places, whose checksums are the same.
    pub fn install_moves(&self, mut taken: Taken<'_>, moves: &[Move]) {
        let places = std::mem::take(&mut taken.places);
        assert_eq!(places.len(), moves.len(), "a place for each image");
        let capacity = map_page::capacity(self.page_size) as u32;
        self.change(|state, freed| {
            for (place, image) in places.into_iter().zip(moves) {
                let checksum = image.from.checksum;
                match state.move_image(*image, Entry { place, checksum }, capacity, freed) {
                    true => state.stats.moved += 1,
                    false => state.extents.let_go(place, freed),
                }
            }
        });
    }

    /// True if so much was moved that the map on disk should say so before the next checkpoint.
    pub fn has_much_replaced(&self) -> bool {
        let state = self.state();
        let needed = state.extents.live() + state.extents.kept();
        state.extents.replaced() * REPLACED_PART > needed.max(u64::from(self.extent_pages))
    }

    /// Sealed images of so many pieces of the durable map, at most, which differ from those on
    /// disk.
    pub fn remapped(&self, count: usize, epoch: u64) -> Vec<(u32, IoBuf)> {
        let (state, capacity) = (self.state(), map_page::capacity(self.page_size));
        let image = |index: u32| {
            let begin = index as usize * capacity;
            let end = state.map.len().min(begin + capacity);
            let of = |pid: usize| match planted::is("moves-in-the-newest-map") {
                true => state.map[pid],
                false => state.durable(Owner::Page(pid as PageId)),
            };
            let entries: Vec<Entry> = (begin..end).map(of).collect();
            let mut image = IoBuf::alloc(self.page_size);
            map_page::build(image.as_mut_slice(), index, epoch, &entries);
            (index, image)
        };
        state.remapped.iter().take(count).map(|index| image(*index)).collect()
    }

    /// Gives out places for so many pieces of the durable map.
    ///
    /// # Errors
    /// As `take_to_move`.
    pub async fn take_for_pieces(&self, count: usize, dirty: usize) -> Result<Taken<'_>> {
        // Without them nothing becomes free: they get some of what is spare.
        self.take_for_cleaner(&vec![Purpose::Map; count], dirty + SPARE_PLACES / 2).await
    }

    /// These pieces of the durable map were written: indexes and checksums.
    pub fn install_pieces(&self, mut taken: Taken<'_>, pieces: &[(u32, u32)]) {
        let places = std::mem::take(&mut taken.places);
        assert_eq!(places.len(), pieces.len(), "a place for each piece");
        let capacity = map_page::capacity(self.page_size) as u32;
        self.change(|state, freed| {
            for (place, &(index, checksum)) in places.into_iter().zip(pieces) {
                let (owner, to) = (Owner::Map(index), Entry { place, checksum });
                state.remapped.remove(&index);
                state.stats.map_pages += 1;
                let from = state.durable(owner);
                if from.place != 0 {
                    assert!(
                        state.move_image(Move { owner, from }, to, capacity, freed),
                        "it is wanted"
                    );
                } else {
                    *state.slot(owner) = to;
                    state.extents.own(place, owner);
                }
            }
        });
    }

    /// The records of places in the directory, with the durable map.
    pub fn durable_records(&self) -> PlaceRecords {
        let state = self.state();
        let pieces = 0..state.map_pages.len() as u32;
        PlaceRecords {
            extent_pages: self.extent_pages,
            extents: state.extents.starts().collect(),
            map_pages: pieces.map(|index| state.durable(Owner::Map(index))).collect(),
        }
    }

    /// The durable map is on disk: what was moved is needed no more where it was.
    pub fn let_replaced_go(&self) {
        self.change(|state, freed| state.extents.let_replaced_go(freed));
    }

    /// Takes an extent that nobody needs yet, for something else, if `dirty` pages need it not.
    pub fn give_spare(&self, dirty: usize) -> bool {
        let pages = self.extent_pages as usize;
        let spare = self.change(|state, _| {
            let is_left = state.extents.left() >= dirty + SPARE_PLACES + pages;
            is_left.then(|| state.extents.take_spare()).flatten()
        });
        spare.into_iter().for_each(|extent| self.ground.space().give(extent));
        spare.is_some()
    }
}
