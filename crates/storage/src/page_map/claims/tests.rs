//! Takers on several threads beside what is kept from them.

use std::sync::{Arc, Barrier};

use super::super::{PageMap, SPARE_PLACES};
use super::{Claim, RESERVED_EXTENTS_MIN};
use crate::allocator::Allocator;
use crate::extent::Extent;
use crate::places::Owner;
use crate::space::Space;

const EXTENT_PAGES: u32 = 16;
const EXTENTS: u32 = 20;
const TAKERS: usize = 4;
const ROUNDS: usize = 1000;

/// Images that each taker wants places for at a time.
const BATCH: u32 = 13;

/// A map with some extents that nobody needs yet.
fn map() -> PageMap {
    let ground = Arc::new(Allocator::of_numbers(4096, Space::new(2, &[])));
    let map = PageMap::new(ground, 4096, EXTENT_PAGES, 60);
    let spare = |at: u32| Extent { start: 2 + at * EXTENT_PAGES, pages: EXTENT_PAGES };
    map.change(|state, _| (0..EXTENTS).for_each(|at| state.extents.add_spare(spare(at))));
    map
}

/// Takes places as long as there are some for this claim; how many.
fn take_all(map: &PageMap, claim: Claim, dirty: usize) -> usize {
    let owners: Vec<Owner> = (0..BATCH).map(Owner::Page).collect();
    let next = || map.try_take_claimed(&owners, claim, dirty);
    let taken: Vec<_> = std::iter::from_fn(next).collect();
    taken.into_iter().map(|mut taken| std::mem::take(&mut taken.places).len()).sum()
}

#[test]
fn takers_on_any_number_of_threads_leave_what_they_do_not_get_at() {
    for round in 0..ROUNDS {
        let (claim, parts) = [(Claim::Ordinary, 2), (Claim::Freeing, 1)][round % 2];
        let dirty = round % 50;
        let (map, start) = (map(), Barrier::new(TAKERS));
        let taken: usize = std::thread::scope(|scope| {
            let begin = |_| {
                scope.spawn(|| {
                    start.wait();
                    take_all(&map, claim, dirty)
                })
            };
            let takers: Vec<_> = (0..TAKERS).map(begin).collect();
            takers.into_iter().map(|taker| taker.join().expect("no taker panics")).sum()
        });
        let (left, reserved) = (map.left(), RESERVED_EXTENTS_MIN * EXTENT_PAGES as usize);
        assert_eq!(left, (EXTENTS * EXTENT_PAGES) as usize - taken);
        let kept = dirty + SPARE_PLACES + parts * reserved;
        assert!((kept..kept + BATCH as usize).contains(&left), "{claim:?}: {left} of {kept}");
    }
}
