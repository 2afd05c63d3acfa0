//! Which requests some places of a body become.

use super::{GAP_BYTES, REQUEST_BYTES_MAX, requests};

/// The bounds of the requests for places with these bounds.
fn of(places: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let places = places.iter().map(|(start, end)| *start..*end).collect();
    requests(places).into_iter().map(|range| (range.start, range.end)).collect()
}

#[test]
fn places_become_few_requests_of_whole_sectors() {
    const FAR: usize = 4096 * 1000;
    const BIG: usize = REQUEST_BYTES_MAX;
    assert_eq!(of(&[]), []);
    assert_eq!(of(&[(7, 7)]), []);
    assert_eq!(of(&[(5000, 5001)]), [(4096, 8192)]);
    assert_eq!(of(&[(9000, 9100), (10, 20)]), [(0, 12288)]);
    assert_eq!(of(&[(0, 10), (FAR, FAR + 1)]), [(0, 4096), (FAR, FAR + 4096)]);
    assert_eq!(of(&[(0, BIG), (BIG, BIG + 10)]), [(0, BIG), (BIG, BIG + 4096)]);
    let apart = GAP_BYTES + 4096;
    assert_eq!(of(&[(0, 4096), (apart, apart + 1)]).len(), 1);
    assert_eq!(of(&[(0, 4096), (apart + 4096, apart + 4097)]).len(), 2);
}
