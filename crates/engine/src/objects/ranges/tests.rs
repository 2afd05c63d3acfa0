//! Ranges become few requests, and none is too long.

use std::ops::Range;

use super::{GAP_BYTES, REQUEST_BYTES_MAX, joined, requests};

#[track_caller]
fn check(ranges: &[(u64, u64)], expected: &[(u64, u64)]) {
    let ranges: Vec<Range<u64>> = ranges.iter().map(|(start, end)| *start..*end).collect();
    let found: Vec<(u64, u64)> = joined(&ranges).iter().map(|r| (r.start, r.end)).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_lies_close_together_is_one_request() {
    check(&[], &[]);
    check(&[(5, 5)], &[]);
    check(&[(10, 20), (0, 5)], &[(0, 20)]);
    check(&[(0, 100), (10, 20)], &[(0, 100)]);
    check(&[(0, 10), (10 + GAP_BYTES, 11 + GAP_BYTES)], &[(0, 11 + GAP_BYTES)]);
    check(
        &[(0, 10), (11 + GAP_BYTES, 12 + GAP_BYTES)],
        &[(0, 10), (11 + GAP_BYTES, 12 + GAP_BYTES)],
    );
    let most = REQUEST_BYTES_MAX;
    check(&[(0, most), (most, most + 1)], &[(0, most), (most, most + 1)]);
    check(&[(0, 3 * most)], &[(0, 3 * most)]);
}

#[test]
fn long_ranges_are_several_requests() {
    let most = REQUEST_BYTES_MAX;
    assert_eq!(requests(&(7..8)), vec![7u64..8; 1]);
    assert_eq!(requests(&(0..most)), vec![0..most; 1]);
    let parts = requests(&(100..100 + 2 * most + 1));
    assert_eq!(parts.len(), 3);
    assert_eq!((parts[0].start, parts[2].end), (100, 101 + 2 * most));
    assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert!(parts.iter().all(|part| part.end - part.start <= most));
}
