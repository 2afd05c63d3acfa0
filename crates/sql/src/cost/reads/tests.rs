//! Prices of reads by mode, by device and by the size of pages.

use crate::options::{DeviceProfile, InFlight, PlannerOptions};

fn options(in_flight: InFlight) -> PlannerOptions {
    // 100 us alone, 10 us of many; 4 KiB in 4.096 us.
    let device =
        DeviceProfile { read_ns: 100_000, reads_per_s: 100_000, bytes_per_s: 1_000_000_000 };
    PlannerOptions { device, in_flight, ..PlannerOptions::default() }
}

fn check(in_flight: InFlight, random_us: f64, sequential_us: f64) {
    let options = options(in_flight);
    let is = |found: f64, wanted: f64| (found - wanted).abs() < 1e-9;
    assert!(is(options.random_page_us(), random_us), "{in_flight:?} {}", options.random_page_us());
    let found = options.sequential_page_us();
    assert!(is(found, sequential_us), "{in_flight:?} {found}");
}

#[test]
fn a_mode_pays_for_as_many_reads_as_it_has_in_flight() {
    check(InFlight::Many, 10.0, 4.096);
    // A run of 64 pages is one request.
    check(InFlight::AtMost(1), 100.0, 4.096 + 100.0 / 64.0);
    check(InFlight::AtMost(4), 25.0, 4.096);
    // More than the device can do at once are no cheaper.
    check(InFlight::AtMost(64), 10.0, 4.096);
    // Nobody has none in flight.
    check(InFlight::AtMost(0), 100.0, 4.096 + 100.0 / 64.0);
}

#[test]
fn larger_pages_take_longer_by_their_bytes() {
    let large = PlannerOptions { page_bytes: 16_384, ..options(InFlight::Many) };
    assert!((large.random_page_us() - (10.0 + 12.288)).abs() < 1e-9);
    assert!((large.sequential_page_us() - 16.384).abs() < 1e-9);
    assert!((large.page_alone_us() - (100.0 + 12.288)).abs() < 1e-9);
}

/// What plans were chosen by for the default device, and are by it still.
#[test]
fn the_default_device_has_the_prices_of_a_typical_one() {
    let options = PlannerOptions::default();
    assert!((options.random_page_us() - 1e6 / 110_000.0).abs() < 1e-9);
    assert!((options.page_alone_us() - 85.0).abs() < 1e-9);
    assert!((options.sequential_page_us() - 2.56).abs() < 1e-9);
}
