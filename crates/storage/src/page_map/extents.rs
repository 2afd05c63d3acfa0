//! The extents of a file whose pages are written out of place: runs that are filled from front to
//! back, and are free again when nobody needs anything in them.

use std::collections::BTreeMap;

use crate::extent::Extent;
use crate::page::PageId;
use crate::places::Owner;
use crate::planted;

/// An extent with places that somebody needs.
struct Used {
    /// Whose image the newest map has at each place.
    owners: Vec<Option<Owner>>,
    /// Places that were given out, from the front.
    filled: u32,
    /// Places from here on were given out since the point of the last checkpoint: no map that is
    /// durable, or on its way to be, names them.
    fresh_from: u32,
    /// Places that the newest map names.
    live: u32,
    /// Those, and others that are being written, being read, or named by a durable map.
    needed: u32,
}

/// Which places of the file hold pages.
pub(super) struct Extents {
    /// Pages of each.
    pages: u32,
    used: BTreeMap<PageId, Used>,
    /// Places that the newest map names, in all of them.
    live: u64,
    /// The one that is being filled.
    open: Option<PageId>,
    /// Those to be filled next, which nobody needs yet.
    spare: Vec<PageId>,
    /// Places that the newest map does not name any more, and the last durable one does.
    moved: Vec<PageId>,
    /// The same of the checkpoint that is to settle.
    settling: Vec<PageId>,
}

impl Extents {
    pub fn new(pages: u32) -> Extents {
        assert!(pages > 0, "extents of no pages");
        Extents {
            pages,
            used: BTreeMap::new(),
            live: 0,
            open: None,
            spare: Vec::new(),
            moved: Vec::new(),
            settling: Vec::new(),
        }
    }

    /// An extent of a file that is opened: nobody goes on filling it.
    pub fn add(&mut self, start: PageId) {
        let owners = vec![None; self.pages as usize];
        let (filled, fresh_from) = (self.pages, self.pages);
        let before =
            self.used.insert(start, Used { owners, filled, fresh_from, live: 0, needed: 0 });
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

    /// Places that the newest map names.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Places that a durable map may need and the newest one does not.
    pub fn moved(&self) -> usize {
        self.moved.len()
    }

    /// Places that can be given out.
    pub fn left(&self) -> usize {
        let open = self.open.map_or(0, |start| self.pages - self.used[&start].filled);
        open as usize + self.spare.len() * self.pages as usize
    }

    pub fn add_spare(&mut self, extent: Extent) {
        assert_eq!(extent.pages, self.pages, "{extent:?} is no extent of this file");
        self.spare.push(extent.start);
    }

    /// Gives out the next place; `None` when there is none. An extent that is full by then and not
    /// needed goes to `freed`.
    pub fn take(&mut self, freed: &mut Vec<Extent>) -> Option<PageId> {
        if let Some(start) = self.open
            && self.used[&start].filled == self.pages
        {
            self.open = None;
            self.free_if_dead(start, freed);
        }
        if self.open.is_none() {
            let start = self.spare.pop()?;
            let owners = vec![None; self.pages as usize];
            let before = self
                .used
                .insert(start, Used { owners, filled: 0, fresh_from: 0, live: 0, needed: 0 });
            assert!(before.is_none(), "a spare extent is in use");
            self.open = Some(start);
        }
        let start = self.open.expect("there is an open extent");
        let used = self.used.get_mut(&start).expect("the open extent is known");
        let place = start + used.filled;
        (used.filled, used.needed) = (used.filled + 1, used.needed + 1);
        Some(place)
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
        if used.needed == 0 && self.open != Some(start) {
            assert_eq!(used.live, 0, "an extent that nobody needs has pages");
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

    fn disown(&mut self, place: PageId) -> bool {
        let (_, used, at) = self.of(place);
        assert!(used.owners[at].take().is_some(), "place {place} is left by nobody");
        used.live -= 1;
        let is_fresh = at as u32 >= used.fresh_from;
        self.live -= 1;
        is_fresh
    }

    /// The newest map does not name this place any more.
    pub fn leave(&mut self, place: PageId, freed: &mut Vec<Extent>) {
        match self.disown(place) || planted::is("places-left-at-once") {
            true => self.let_go(place, freed),
            false => self.moved.push(place),
        }
    }

    /// The page is nobody's, in no checkpoint that a restart may find.
    pub fn abandon(&mut self, place: PageId, freed: &mut Vec<Extent>) {
        self.disown(place);
        self.let_go(place, freed);
    }

    /// The point of a checkpoint: its map has what was given out before.
    pub fn begin_settling(&mut self) {
        assert!(self.settling.is_empty(), "checkpoints settle one after another");
        self.settling = std::mem::take(&mut self.moved);
        if !planted::is("places-fresh-for-ever") {
            self.used.values_mut().for_each(|used| used.fresh_from = used.filled);
        }
    }

    /// The checkpoint before is needed no more: nor is what only its map names.
    pub fn settle(&mut self, freed: &mut Vec<Extent>) {
        for place in std::mem::take(&mut self.settling) {
            self.let_go(place, freed);
        }
    }

    /// Pages of those full extents that have the least, up to so many pages.
    pub fn sparse(&self, pages_max: usize) -> Vec<PageId> {
        let full = |(start, used): &(&PageId, &Used)| {
            self.open != Some(**start) && used.live > 0 && used.live < self.pages * 9 / 10
        };
        let mut victims: Vec<_> = self.used.iter().filter(full).collect();
        victims.sort_by_key(|(start, used)| (used.live, **start));
        let mut pages = Vec::new();
        for (_, used) in victims {
            if pages.len() + used.live as usize > pages_max {
                break;
            }
            pages.extend(used.owners.iter().filter_map(|owner| match owner {
                Some(Owner::Page(pid)) => Some(*pid),
                _ => None,
            }));
        }
        pages
    }
}
