//! Groups are found while a table grows, a few of them at a time.

use super::*;

/// A hash of which many share their places.
fn hash(group: usize) -> u64 {
    let mixed = (group as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed & !0xf0
}

#[test]
fn all_groups_are_found_while_the_table_grows() {
    let mut table = GroupTable::new();
    let mut hashes: Vec<u64> = vec![];
    let mut grown = 0;
    for group in 0..50_000 {
        let places = table.places.len();
        assert_eq!(table.find(hash(group), |g| g == group), None);
        hashes.push(hash(group));
        table.insert(hash(group), group, &hashes);
        grown += usize::from(table.places.len() > places);
        // The first, the last and some between, wherever they are.
        for known in [0, group / 3, group / 2, group.saturating_sub(1), group] {
            assert_eq!(table.find(hash(known), |g| g == known), Some(known), "of {group}");
        }
    }
    assert!(grown > 8);
    assert_eq!(table.count, 50_000);
}

#[test]
fn a_group_moves_few_others() {
    let mut table = GroupTable::new();
    let hashes: Vec<u64> = (0..40_000).map(hash).collect();
    for group in 0..hashes.len() {
        let moved = table.moved;
        table.insert(hashes[group], group, &hashes);
        let restarted = table.moved <= MOVED_AT_ONCE;
        assert!(restarted || table.moved - moved <= MOVED_AT_ONCE, "{moved} to {}", table.moved);
    }
    let found = |group: usize| table.find(hashes[group], |g| g == group);
    assert!((0..hashes.len()).all(|group| found(group) == Some(group)));
}

#[test]
fn what_nobody_is_added_to_settles() {
    let mut table = GroupTable::new();
    let hashes: Vec<u64> = (0..34).map(hash).collect();
    (0..hashes.len()).for_each(|group| table.insert(hashes[group], group, &hashes));
    assert!(!table.old.is_empty(), "it has grown lately");
    table.settle(&hashes);
    assert!(table.old.is_empty());
    let found = |group: usize| table.find(hashes[group], |g| g == group);
    assert!((0..hashes.len()).all(|group| found(group) == Some(group)));
}
