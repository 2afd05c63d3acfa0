//! The extents of a file whose pages are written out of place: runs that are filled from front to
//! back, and are free again when nobody needs anything in them.

use std::collections::BTreeMap;

use super::ages::{Ages, CLASSES, MOVED};
use crate::extent::Extent;
use crate::page::PageId;
use crate::places::Owner;
use crate::planted;

/// Extents with more of their pages than this are not cleaned, in percent: it would move over and
/// over what it has moved.
const CLEANED_MAX_PERCENT: u32 = 90;

/// An extent with places that somebody needs.
struct Used {
    /// Whose image the newest map has at each place.
    owners: Vec<Option<Owner>>,
    /// Places that were given out, from the front.
    filled: u32,
    /// Places from here on were given out since the point of the last checkpoint: no map that is
    /// durable, or on its way to be, names them. In extents that the cleaner fills any place may
    /// be named by one.
    fresh_from: u32,
    /// Places that the newest map names.
    live: u32,
    /// Places that the last durable map names, and the newest does not.
    kept: u32,
    /// All of these, and others that are being written or read, or that a map on disk names.
    needed: u32,
    class: usize,
    /// When it was begun.
    begin: u64,
    /// When its images were written, summed up.
    written: u64,
}

impl Used {
    fn new(pages: u32, class: usize, begin: u64) -> Used {
        Used {
            owners: vec![None; pages as usize],
            filled: 0,
            fresh_from: 0,
            live: 0,
            kept: 0,
            needed: 0,
            class,
            begin,
            written: 0,
        }
    }

    /// When its images were written, on the average.
    fn stamp(&self) -> u64 {
        self.written / u64::from(self.filled.max(1))
    }

    /// Images that would have to be moved for it to become free.
    fn survivors(&self) -> u32 {
        self.live + self.kept
    }
}

/// For what a place is wanted.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// A page is written whose last image lies there, if it has one.
    Written(Option<PageId>),
    /// The cleaner moves an image from there.
    Moved(PageId),
    /// The cleaner writes a piece of the map.
    Map,
}

/// Which places of the file hold pages.
pub(super) struct Extents {
    /// Pages of each.
    pages: u32,
    used: BTreeMap<PageId, Used>,
    /// Places that the newest map names, in all of them.
    live: u64,
    /// Those that are being filled.
    open: [Option<PageId>; CLASSES],
    /// Places that are left in each of those.
    room: [u32; CLASSES],
    /// Those to be filled next, which nobody needs yet.
    spare: Vec<PageId>,
    /// Places that the last durable map names and the newest one does not, and whose they are.
    kept: BTreeMap<PageId, Owner>,
    /// Places whose images the cleaner has moved: a map on disk names them.
    replaced: Vec<PageId>,
    /// Pages that only the checkpoint before the needed one needs, to be settled.
    settling: Vec<PageId>,
    ages: Ages,
}

impl Extents {
    pub fn new(pages: u32) -> Extents {
        assert!(pages > 0, "extents of no pages");
        Extents {
            pages,
            used: BTreeMap::new(),
            live: 0,
            open: [None; CLASSES],
            room: [0; CLASSES],
            spare: Vec::new(),
            kept: BTreeMap::new(),
            replaced: Vec::new(),
            settling: Vec::new(),
            ages: Ages::new(),
        }
    }

    /// An extent of a file that is opened: nobody goes on filling it.
    pub fn add(&mut self, start: PageId) {
        let mut used = Used::new(self.pages, CLASSES - 1, 0);
        (used.filled, used.fresh_from) = (self.pages, self.pages);
        let before = self.used.insert(start, used);
        assert!(before.is_none(), "an extent at {start} twice");
    }

    /// Lets the place of a file that is opened belong to `owner`; false when it is no place, or
    /// another's.
    pub fn claim(&mut self, place: PageId, owner: Owner) -> bool {
        let pages = self.pages;
        let Some((&start, used)) = self.used.range_mut(..=place).next_back() else { return false };
        let at = place - start;
        if at >= pages || used.owners[at as usize].is_some() {
            return false;
        }
        used.owners[at as usize] = Some(owner);
        (used.live, used.needed) = (used.live + 1, used.needed + 1);
        self.live += 1;
        true
    }

    /// Forgets extents of which nothing is needed.
    pub fn drop_dead(&mut self) {
        self.used.retain(|_, used| match planted::is("map-extents-taken-for-dead") {
            true => used.owners.iter().any(|owner| matches!(owner, Some(Owner::Page(_)))),
            false => used.needed > 0,
        });
    }

    /// Those with something that is needed.
    pub fn starts(&self) -> impl Iterator<Item = PageId> {
        self.used.keys().copied()
    }

    /// Those that are kept to be filled next.
    pub fn spare(&self) -> &[PageId] {
        &self.spare
    }

    /// All that are not free: those that are needed, and those kept to be filled next.
    pub fn count(&self) -> usize {
        self.used.len() + self.spare.len()
    }

    /// Those with something that is needed, and those that are being filled.
    pub fn used_count(&self) -> usize {
        self.used.len()
    }

    /// Places that the newest map names.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Places that a durable map needs and the newest one does not.
    pub fn kept(&self) -> u64 {
        (self.kept.len() + self.settling.len()) as u64
    }

    /// Places whose images lie elsewhere, too, as soon as a map on disk says so.
    pub fn replaced(&self) -> u64 {
        self.replaced.len() as u64
    }

    /// Places that were given out in extents that are not free, needed or not.
    pub fn filled(&self) -> u64 {
        let open: u32 = self.room.iter().sum();
        self.used.len() as u64 * u64::from(self.pages) - u64::from(open)
    }

    /// Places that can be given out.
    pub fn left(&self) -> usize {
        let open: u32 = self.room.iter().sum();
        open as usize + self.spare.len() * self.pages as usize
    }

    /// Places that the cleaner can be given.
    pub fn left_to_move(&self) -> usize {
        let open: u32 = self.room[MOVED..].iter().sum();
        open as usize + self.spare.len() * self.pages as usize
    }

    pub fn add_spare(&mut self, extent: Extent) {
        assert_eq!(extent.pages, self.pages, "{extent:?} is no extent of this file");
        self.spare.push(extent.start);
    }

    /// Takes one that is kept to be filled next, for something else.
    pub fn take_spare(&mut self) -> Option<Extent> {
        self.spare.pop().map(|start| Extent { start, pages: self.pages })
    }

    /// Gives out a place; `None` when there is none. An extent that is full by then and not
    /// needed goes to `freed`.
    pub fn take(&mut self, purpose: Purpose, freed: &mut Vec<Extent>) -> Option<PageId> {
        let (class, written) = match purpose {
            Purpose::Written(before) => {
                self.ages.tick();
                let before = before.map(|place| self.of(place).1.stamp());
                (self.ages.of_write(before), self.ages.now())
            }
            Purpose::Moved(place) => {
                let (_, used, _) = self.of(place);
                let (class, written) = (used.class, used.stamp());
                (self.ages.of_move(class, written, self.used.len()), written)
            }
            Purpose::Map => (MOVED, self.ages.now()),
        };
        let class = self.open_for(class, freed)?;
        let start = self.open[class].expect("there is an open extent");
        let used = self.used.get_mut(&start).expect("the open extent is known");
        let place = start + used.filled;
        (used.filled, used.needed) = (used.filled + 1, used.needed + 1);
        self.room[class] -= 1;
        used.written += written;
        Some(place)
    }

    /// A class with room in its extent: this one, or another where there are no more extents. What
    /// the cleaner moves stays among itself, since a durable map may name any place there.
    fn open_for(&mut self, class: usize, freed: &mut Vec<Extent>) -> Option<usize> {
        if self.room[class] > 0 {
            return Some(class);
        }
        if let Some(start) = self.open[class].take() {
            self.free_if_dead(start, freed);
        }
        let Some(start) = self.spare.pop() else {
            let others = if class < MOVED { 0 } else { MOVED };
            return (others..CLASSES).find(|other| self.room[*other] > 0);
        };
        let used = Used::new(self.pages, class, self.ages.now());
        assert!(self.used.insert(start, used).is_none(), "a spare extent is in use");
        (self.open[class], self.room[class]) = (Some(start), self.pages);
        Some(class)
    }

    fn of(&mut self, place: PageId) -> (PageId, &mut Used, usize) {
        let pages = self.pages;
        let (&start, used) = self.used.range_mut(..=place).next_back().expect("a place in use");
        let at = place - start;
        assert!(at < pages && at < used.filled, "place {place} is not in use");
        (start, used, at as usize)
    }

    fn free_if_dead(&mut self, start: PageId, freed: &mut Vec<Extent>) {
        let used = &self.used[&start];
        if used.needed == 0 && !self.open.contains(&Some(start)) {
            assert_eq!(used.survivors(), 0, "an extent that nobody needs has pages");
            self.ages.note_end(used.class, used.begin);
            self.used.remove(&start);
            freed.push(Extent { start, pages: self.pages });
        }
    }

    /// The newest map names this place, which was given out.
    pub fn own(&mut self, place: PageId, owner: Owner) {
        let (_, used, at) = self.of(place);
        assert!(used.owners[at].replace(owner).is_none(), "place {place} has two owners");
        used.live += 1;
        assert!(used.live <= used.needed, "place {place} is named and not needed");
        self.live += 1;
    }

    /// Somebody needs this place besides: it is being read.
    pub fn hold(&mut self, place: PageId) {
        self.of(place).1.needed += 1;
    }

    /// A writer or reader does not need this place any more.
    pub fn let_go(&mut self, place: PageId, freed: &mut Vec<Extent>) {
        let (start, used, _) = self.of(place);
        used.needed = used.needed.checked_sub(1).expect("a place is let go that nobody needs");
        self.free_if_dead(start, freed);
    }

    /// True if no map that is durable, or on its way to be, names this place.
    pub fn is_fresh(&mut self, place: PageId) -> bool {
        let (_, used, at) = self.of(place);
        let may_be_named = used.class >= MOVED && !planted::is("moved-places-fresh");
        at as u32 >= used.fresh_from && !may_be_named
    }

    fn disown(&mut self, place: PageId) -> Owner {
        let (_, used, at) = self.of(place);
        let owner = used.owners[at].take().expect("a place is left by somebody");
        used.live -= 1;
        self.live -= 1;
        owner
    }

    /// The newest map does not name this place any more, nor does a durable one.
    pub fn abandon(&mut self, place: PageId, freed: &mut Vec<Extent>) {
        self.disown(place);
        self.let_go(place, freed);
    }

    /// The newest map does not name this place any more, and the last durable one does.
    pub fn keep(&mut self, place: PageId) {
        let owner = self.disown(place);
        self.keep_for(place, owner);
    }

    /// The last durable map is to name this place, which was given out, and the newest does not.
    pub fn keep_for(&mut self, place: PageId, owner: Owner) {
        self.of(place).1.kept += 1;
        assert!(self.kept.insert(place, owner).is_none(), "place {place} is kept twice");
    }

    /// The image at this place lies elsewhere, too. `is_named`: a map on disk needs it here.
    pub fn replace(&mut self, place: PageId, is_named: bool, freed: &mut Vec<Extent>) {
        match self.kept.remove(&place) {
            Some(_) => self.of(place).1.kept -= 1,
            None => drop(self.disown(place)),
        }
        match is_named && !planted::is("moved-images-left-at-once") {
            true => self.replaced.push(place),
            false => self.let_go(place, freed),
        }
    }

    /// The map on disk names none of the places whose images were moved.
    pub fn let_replaced_go(&mut self, freed: &mut Vec<Extent>) {
        for place in std::mem::take(&mut self.replaced) {
            self.let_go(place, freed);
        }
    }

    /// The point of a checkpoint: its map has what was given out before.
    pub fn begin_settling(&mut self) {
        assert!(self.settling.is_empty(), "checkpoints settle one after another");
        self.settling = std::mem::take(&mut self.kept).into_keys().collect();
        self.settling.append(&mut self.replaced);
        self.used.values_mut().for_each(|used| {
            used.kept = 0;
            if !planted::is("places-fresh-for-ever") {
                used.fresh_from = used.filled;
            }
        });
    }

    /// The checkpoint before is needed no more: nor is what only its map names.
    pub fn settle(&mut self, freed: &mut Vec<Extent>) {
        for place in std::mem::take(&mut self.settling) {
            self.let_go(place, freed);
        }
    }

    /// Extents whose images are to be moved, so many at most, and how many images that are in each:
    /// those where the least has to be moved for the most space, for the longest (M. Rosenblum, J.
    /// Ousterhout, "The Design and Implementation of a Log-Structured File System", 1992, section
    /// 3.6).
    pub fn victims(&self, count: usize) -> Vec<(PageId, u32)> {
        let is_full = |used: &Used| used.filled == self.pages;
        let candidates = self.used.iter().filter(|(start, used)| {
            let few = used.survivors() * 100 < self.pages * CLEANED_MAX_PERCENT;
            few && used.survivors() > 0 && (is_full(used) || !self.open.contains(&Some(**start)))
        });
        let price = |used: &Used| {
            let age = (self.ages.now().saturating_sub(used.stamp()) + 1) as f64;
            let survivors = f64::from(used.survivors());
            (2.0 * survivors) / ((f64::from(self.pages) - survivors) * age)
        };
        let mut victims: Vec<_> =
            candidates.map(|(start, used)| (price(used), *start, used.survivors())).collect();
        let count = count.min(victims.len());
        if count > 0 && count < victims.len() {
            victims
                .select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        victims.truncate(count);
        victims.into_iter().map(|(_, start, survivors)| (start, survivors)).collect()
    }

    /// Images of an extent that somebody may want: place and owner.
    pub fn survivors(&self, start: PageId) -> Vec<(PageId, Owner)> {
        let Some(used) = self.used.get(&start) else { return Vec::new() };
        let newest = (start..).zip(&used.owners).filter_map(|(at, owner)| Some((at, (*owner)?)));
        let kept = self.kept.range(start..start + self.pages).map(|(at, owner)| (*at, *owner));
        newest.chain(kept).collect()
    }
}

#[cfg(test)]
mod tests;
