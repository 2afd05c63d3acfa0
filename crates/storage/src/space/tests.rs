//! The allocator against a set of page numbers.

use std::collections::BTreeSet;

use stdx::Prng;

use super::{Space, Take};
use crate::error::Result;
use crate::extent::{Extent, merge};
use crate::page::PageId;

fn pages_of(take: Result<Take<Extent>>) -> Extent {
    match take.expect("there is room") {
        Take::Taken(extent) => extent,
        Take::Grow(_) => panic!("the file is long enough"),
        Take::Fill(_) => panic!("nothing was given back"),
    }
}

#[test]
fn no_page_is_given_out_twice_and_none_is_lost() {
    for seed in 0..50 {
        let mut prng = Prng::new(seed);
        let mut space = Space::new(2, &[]);
        let mut taken: Vec<Extent> = Vec::new();
        let mut in_use = BTreeSet::new();
        for _ in 0..500 {
            if taken.is_empty() || prng.chance(0.55) {
                let extent = pages_of(space.take(1 + prng.below(20) as u32, u32::MAX, 0));
                assert!(extent.pids().all(|pid| in_use.insert(pid)), "seed {seed}: {extent:?}");
                taken.push(extent);
            } else {
                let extent = taken.swap_remove(prng.below(taken.len() as u64) as usize);
                extent.pids().for_each(|pid| assert!(in_use.remove(&pid)));
                space.give(extent);
            }
            let all = 2 + in_use.len() as u64 + space.free_pages();
            assert_eq!(all, u64::from(space.page_count()), "seed {seed}");
        }
        let free = space.free_after_restart(&[]);
        assert!(free.windows(2).all(|pair| pair[0].start + pair[0].pages < pair[1].start));
        assert!(free.iter().flat_map(|extent| extent.pids()).all(|pid| !in_use.contains(&pid)));
    }
}

#[test]
fn pages_whose_space_was_given_back_get_some_before_they_are_given_out() {
    for seed in 0..50 {
        let mut prng = Prng::new(seed);
        let mut space = Space::new(2, &[]);
        let (mut taken, mut holes): (Vec<Extent>, BTreeSet<PageId>) = Default::default();
        let mut filled = 0;
        for _ in 0..500 {
            match prng.below(10) {
                0 => {
                    let keep = prng.below(40);
                    for run in space.take_to_return(1 + prng.below(9) as u32, keep) {
                        assert!(run.pids().all(|pid| !holes.contains(&pid)), "seed {seed}");
                        let is_hole = prng.chance(0.8);
                        holes.extend(run.pids().filter(|_| is_hole));
                        space.give_returned(run, is_hole);
                    }
                }
                1..5 if !taken.is_empty() => {
                    let at = prng.below(taken.len() as u64) as usize;
                    space.give(taken.swap_remove(at));
                }
                _ => {
                    let (pages, held) = (1 + prng.below(20) as u32, space.page_count());
                    match space.take(pages, held, 0).expect("there is room") {
                        Take::Taken(run) => {
                            assert!(run.pids().all(|pid| !holes.contains(&pid)), "seed {seed}");
                            taken.push(run);
                        }
                        Take::Fill(run) => {
                            assert!(run.pids().any(|pid| holes.contains(&pid)), "seed {seed}");
                            holes.retain(|pid| !run.pids().contains(pid));
                            space.fill(run);
                            filled += 1;
                        }
                        Take::Grow(wanted) => {
                            assert_eq!(wanted, held + pages, "seed {seed}");
                            taken.push(pages_of(space.take(pages, wanted, 0)));
                        }
                    }
                }
            }
            let in_use: u64 = taken.iter().map(|run| u64::from(run.pages)).sum();
            assert_eq!(2 + in_use + space.free_pages(), u64::from(space.page_count()));
        }
        assert!(filled > 5, "seed {seed}: {filled}");
    }
}

/// A space of `pages` free pages, of which those in `solid` have space.
fn with_holes(pages: u32, solid: &[Extent]) -> Space {
    let mut space = Space::new(2 + pages, &[Extent { start: 2, pages }]);
    space.assume_holes();
    solid.iter().for_each(|run| space.fill(*run));
    space
}

#[test]
fn pages_that_have_space_are_taken_first_wherever_they_lie() {
    let solid = Extent { start: 30, pages: 10 };
    let mut space = with_holes(100, &[solid]);
    let held = space.page_count();
    assert_eq!(pages_of(space.take(6, held, 0)), Extent { start: 30, pages: 6 });
    // Then those behind the others, as far as there is space; holes come last.
    assert_eq!(pages_of(space.take(6, held + 6, 0)), Extent { start: held, pages: 6 });
    let Ok(Take::Fill(filled)) = space.take(6, held + 6, 0) else { panic!("there is no space") };
    assert_eq!(filled, Extent { start: 2, pages: 6 });
    space.fill(filled);
    assert_eq!(pages_of(space.take(6, held + 6, 0)), filled);
    assert_eq!(space.free_pages(), 100 - 12);
}

#[test]
fn holes_get_space_before_they_are_promised_and_keep_it() {
    let solid = [Extent { start: 30, pages: 10 }, Extent { start: 60, pages: 25 }];
    let mut space = with_holes(100, &solid);
    let held = space.page_count();
    assert!(matches!(space.promise(20, held), Ok(Take::Taken(()))));
    let Ok(Take::Fill(filled)) = space.promise(40, held) else { panic!("there is no such run") };
    assert_eq!(filled, Extent { start: 2, pages: 40 });
    let Ok(Take::Grow(wanted)) = space.promise(101, held) else { panic!("no run is so long") };
    assert_eq!(wanted, held + 101);
    assert!(matches!(space.promise(101, wanted), Ok(Take::Taken(()))));
    space.fill(filled);
    assert!(matches!(space.promise(40, held), Ok(Take::Taken(()))));
}

#[test]
fn space_that_was_promised_is_not_given_back_before_the_next_checkpoint_but_one() {
    let solid = [Extent { start: 2, pages: 8 }, Extent { start: 30, pages: 50 }];
    let mut space = with_holes(100, &solid);
    let held = space.page_count();
    assert!(matches!(space.promise(20, held), Ok(Take::Taken(()))));
    for returned in
        [&[Extent { start: 50, pages: 30 }, solid[0]][..], &[], &[Extent { start: 30, pages: 20 }]]
    {
        let runs = space.take_to_return(1, 0);
        assert_eq!(runs, returned);
        runs.into_iter().for_each(|run| space.give_returned(run, true));
        space.settle(&|_| true);
    }
}

#[test]
fn pages_of_a_load_count_as_free_until_it_ends() {
    let mut space = Space::new(2, &[]);
    let load = space.begin_load();
    let extent = pages_of(space.take_for_load(load, 8, u32::MAX, 0));
    assert_eq!(space.free_after_restart(&[]), [extent]);
    assert_eq!(space.free_pages(), 0);
    let unused = Extent { start: extent.start + 5, pages: 3 };
    space.end_load(load, Some(&[unused]));
    assert_eq!(space.free_after_restart(&[]), [unused]);
    let load = space.begin_load();
    let again = pages_of(space.take_for_load(load, 3, u32::MAX, 0));
    assert_eq!(again, unused);
    space.end_load(load, None);
    assert_eq!(space.free_pages(), 3);
}

#[test]
fn adjoining_extents_become_one() {
    let extent = |start, pages| Extent { start, pages };
    let merged = merge(vec![extent(9, 1), extent(2, 3), extent(5, 2), extent(20, 1)]);
    assert_eq!(merged, [extent(2, 5), extent(9, 1), extent(20, 1)]);
}
