//! What a table of shortcuts names, and what it must not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stdx::Prng;

use super::Table;
use super::places::{Places, Survey};

fn places_of(fences: &[&[u8]]) -> Places {
    let mut survey = Survey::new();
    fences.iter().for_each(|fence| survey.add(fence));
    survey.places()
}

#[test]
fn heads_leave_out_what_all_fences_share() {
    let fences: [&[u8]; 3] = [b"", b"user0017", b"user0042"];
    let places = places_of(&fences);
    assert_eq!(places.head(b"user0017"), u64::from_be_bytes(*b"17\0\0\0\0\0\0"));
    assert_eq!(places.head(b"user0042tail"), u64::from_be_bytes(*b"42tail\0\0"));
    // A gap in the middle: the bytes of a number that has small values only.
    let fences: [&[u8]; 4] = [&[1, 0, 0, 5], &[1, 0, 0, 9], &[2, 0, 0, 1], &[3]];
    let head = |key: &[u8]| places_of(&fences).head(key);
    assert_eq!(head(&[2, 0, 0, 7, 9]).to_be_bytes()[..3], [2, 7, 9]);
    assert_eq!(head(&[]), 0);
}

#[test]
fn heads_of_fences_are_in_the_order_of_the_fences() {
    let mut random = Prng::new(5);
    for _ in 0..200 {
        let (len_max, values) = (1 + random.below(12), 1 + random.below(4));
        let mut fence = || -> Vec<u8> {
            (0..random.below(len_max + 1)).map(|_| random.below(values + 1) as u8).collect()
        };
        let mut fences: Vec<Vec<u8>> = (0..40).map(|_| fence()).collect();
        fences.sort();
        let mut survey = Survey::new();
        fences.iter().for_each(|fence| survey.add(fence));
        let heads: Vec<u64> = fences.iter().map(|fence| survey.places().head(fence)).collect();
        assert!(heads.is_sorted(), "{fences:?}: {heads:?}");
    }
}

#[test]
fn a_table_finds_the_last_leaf_that_is_not_above() {
    for count in [1, 7, 8, 9, 64, 65, 1000] {
        let table = Table::new(count, &Arc::new(AtomicUsize::new(usize::MAX))).expect("memory");
        for place in 0..table.leaf_count_max() {
            let head = if place < count { 10 * place as u64 } else { u64::MAX };
            table.set(place, head, if place < count { place as u32 + 1 } else { 0 });
        }
        for place in 0..count as u64 {
            for head in [10 * place, 10 * place + 9] {
                let leaf = table.near(head).expect("a line").shortcut().leaf();
                assert_eq!(leaf, Some((place as u32 + 1, None)), "{head} of {count}");
            }
        }
        // Behind all leaves: one of the unused places, or the last leaf.
        let beyond = table.near(u64::MAX).and_then(|near| near.shortcut().leaf());
        assert!(beyond.is_none_or(|(pid, _)| pid == count as u32));
    }
}

#[test]
fn tables_give_their_memory_back() {
    let allowance = Arc::new(AtomicUsize::new(4096));
    assert!(Table::new(1000, &allowance).is_none(), "1000 leaves take more than 4096 bytes");
    let table = Table::new(64, &allowance).expect("64 leaves");
    assert_eq!(allowance.load(Ordering::Relaxed), 4096 - 8 * 128 - 64);
    drop(table);
    assert_eq!(allowance.load(Ordering::Relaxed), 4096);
}

#[test]
fn leaves_behind_the_last_one_are_added_while_there_is_room() {
    let table = Table::new(20, &Arc::new(AtomicUsize::new(usize::MAX))).expect("memory");
    for place in 0..table.leaf_count_max() {
        let (head, pid) =
            if place < 7 { (10 * place as u64, place as u32 + 1) } else { (u64::MAX, 0) };
        table.set(place, head, pid);
    }
    table.push(70, 8);
    assert_eq!(
        table.near(75).expect("a line").shortcut().leaf(),
        Some((7, None)),
        "none is known yet"
    );
    table.used.store(7, Ordering::Relaxed);
    for place in 7..table.leaf_count_max() as u64 + 3 {
        table.push(10 * place, place as u32 + 1);
        // One that no head tells from it is left out.
        table.push(10 * place, 99);
    }
    for place in 0..table.leaf_count_max() as u64 {
        let leaf = table.near(10 * place + 9).expect("a line").shortcut().leaf();
        assert_eq!(leaf, Some((place as u32 + 1, None)));
    }
}
