//! Which requests some places of a body become.

use std::ops::Range;

use super::{GAP_BYTES, REQUEST_BYTES_MAX, requests};

#[test]
fn places_become_few_requests_of_whole_sectors() {
    const FAR: usize = 4096 * 1000;
    const BIG: usize = REQUEST_BYTES_MAX;
    let table: [(Vec<Range<usize>>, Vec<Range<usize>>); 6] = [
        (vec![], vec![]),
        (vec![7..7], vec![]),
        (vec![5000..5001], vec![4096..8192]),
        (vec![9000..9100, 10..20], vec![0..12288]),
        (vec![0..10, FAR..FAR + 1], vec![0..4096, FAR..FAR + 4096]),
        (vec![0..BIG, BIG..BIG + 10], vec![0..BIG, BIG..BIG + 4096]),
    ];
    for (places, expected) in table {
        assert_eq!(requests(places.clone()), expected, "{places:?}");
    }
    let apart = GAP_BYTES + 4096;
    assert_eq!(requests(vec![0..4096, apart..apart + 1]).len(), 1);
    assert_eq!(requests(vec![0..4096, apart + 4096..apart + 4097]).len(), 2);
}
