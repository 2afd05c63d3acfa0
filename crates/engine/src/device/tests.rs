//! Texts of profiles, and which of those that a file has is good for a device.

use super::*;
use crate::device::text::{figures, parse_figures};

fn parsed(text: &str) -> String {
    parse_figures(text).map_or_else(|hint| hint, |profile| figures(&profile))
}

#[test]
fn figures_are_read_in_any_order_and_written_exactly() {
    let cases = [
        (
            "latency=85us, reads=110000/s, bandwidth=1600MB/s",
            "latency=85us, reads=110000/s, bandwidth=1600MB/s",
        ),
        (
            " bandwidth = 2.5 GB/s ,READS=9, latency=0.1ms",
            "latency=100us, reads=9/s, bandwidth=2500MB/s",
        ),
        (
            "latency=12.3us,reads=1/s,bandwidth=1kB/s",
            "latency=12.3us, reads=1/s, bandwidth=0.001MB/s",
        ),
        (
            "latency=7ns,reads=1/s,bandwidth=99.9MB/s",
            "latency=0.007us, reads=1/s, bandwidth=99.9MB/s",
        ),
    ];
    for (given, wanted) in cases {
        assert_eq!(parsed(given), wanted, "{given}");
        assert_eq!(parsed(wanted), wanted);
    }
}

#[test]
fn what_is_no_profile_is_told_how_one_looks() {
    let syntax = "It is auto, probe, or figures of the device: \
                  'latency=85us, reads=110000/s, bandwidth=1600MB/s'.";
    let cases = [
        ("", syntax),
        ("fast", syntax),
        ("latency=85us, reads=110000/s", syntax),
        ("latency=85us, reads=110000/s, bandwidth=1600MB/s, colour=red", syntax),
        ("latency=85us, latency=85us, bandwidth=1600MB/s", "latency is given twice."),
        (
            "latency=85, reads=1, bandwidth=1MB/s",
            "latency is a number with one of the units ns, us, ms, s.",
        ),
        ("latency=85us, reads=1/h, bandwidth=1MB/s", "reads is a number with one of the units /s."),
        (
            "latency=85us, reads=1, bandwidth=1MiB/s",
            "bandwidth is a number with one of the units kB/s, MB/s, GB/s.",
        ),
        (
            "latency=1.2.3us, reads=1, bandwidth=1MB/s",
            "latency is a number with one of the units ns, us, ms, s.",
        ),
        (
            "latency=-1us, reads=1, bandwidth=1MB/s",
            "latency is a number with one of the units ns, us, ms, s.",
        ),
        ("latency=85us, reads=0, bandwidth=1MB/s", "reads=0 is out of range."),
        ("latency=0us, reads=1, bandwidth=1MB/s", "latency=0us is out of range."),
        (
            "latency=85us, reads=1, bandwidth=99999999999999999999999GB/s",
            "bandwidth=99999999999999999999999GB/s is out of range.",
        ),
    ];
    for (given, hint) in cases {
        assert_eq!(parsed(given), hint, "{given}");
    }
}

fn place(device: &str, ring: &str) -> Place {
    Place { device: device.to_owned(), ring: ring.to_owned() }
}

fn stored(device: &str, ring: &str, read_ns: u64) -> StoredProfile {
    let (device, ring) = (device.to_owned(), ring.to_owned());
    let probed_us = 1_764_084_645_000_000;
    StoredProfile {
        device,
        ring,
        read_ns,
        reads_per_s: 200_000,
        bytes_per_s: 3_000_000_000,
        probed_us,
    }
}

#[test]
fn a_profile_holds_for_its_device_and_its_ring() {
    let mut profiles = Profiles::default();
    profiles.put(stored("vda, ext4", "uring", 90_000));
    profiles.put(stored("vda, ext4", "threads", 95_000));
    let open = |device: &str, ring: &str| Device::at(place(device, ring), &profiles, false);
    let same = open("vda, ext4", "uring");
    assert!(!same.is_wanted() && same.profile().read_ns == 90_000);
    assert_eq!(
        same.shown(),
        "latency=90us, reads=200000/s, bandwidth=3000MB/s (11111 reads/s at depth 1, 200000 at depth \
         128; probed 2025-11-25 15:30:45 UTC through uring on vda, ext4)"
    );
    assert_eq!(parsed(&same.shown()), "latency=90us, reads=200000/s, bandwidth=3000MB/s");
    assert_eq!(open("vda, ext4", "threads").profile().read_ns, 95_000);
    for (device, ring) in
        [("vdb, ext4", "uring"), ("vda, xfs", "uring"), ("vda, ext4", "uring with SQPOLL")]
    {
        let other = open(device, ring);
        assert!(other.is_wanted(), "{device} {ring}");
        assert_eq!(other.profile(), DeviceProfile::default());
        assert!(
            other.shown().contains("the default: the device is probed when"),
            "{}",
            other.shown()
        );
    }
    let again = Device::at(place("vda, ext4", "uring"), &profiles, true);
    assert!(again.is_wanted() && again.profile().read_ns == 90_000, "the old one until then");
}

#[test]
fn what_is_learned_on_another_device_replaces_what_the_file_had() {
    let mut profiles = Profiles::default();
    profiles.put(stored("vda, ext4", "uring", 90_000));
    let moved = Device::at(place("vdb, xfs", "uring"), &profiles, false);
    assert!(moved.take_unsaved().is_none() && moved.take_wish() && !moved.take_wish());
    moved.learn(stored("vdb, xfs", "uring", 20_000));
    assert_eq!(moved.profile().read_ns, 20_000);
    let saved = moved.take_unsaved().unwrap();
    assert!(moved.take_unsaved().is_none(), "it is stored once");
    assert!(saved.of(&place("vda, ext4", "uring")).is_none());
    assert!(!Device::at(place("vdb, xfs", "uring"), &saved, false).is_wanted());
}

#[test]
fn a_probe_that_fails_leaves_the_default_with_its_reason_or_what_was_found_before() {
    let error = SqlError::new(types::SqlState::IO_ERROR, "no such device");
    let fresh = Device::at(place("vda, ext4", "uring"), &Profiles::default(), false);
    fresh.failed(&error);
    assert!(fresh.shown().ends_with("; the default: the probe failed: no such device)"));
    fresh.learn(stored("vda, ext4", "uring", 90_000));
    fresh.failed(&error);
    assert_eq!(fresh.profile().read_ns, 90_000);
}

#[test]
fn figures_of_a_damaged_file_are_no_prices_of_nothing() {
    let broken = StoredProfile { reads_per_s: 0, bytes_per_s: 0, ..stored("a", "uring", 0) };
    let profile = broken.profile();
    assert!(profile.read_ns > 0 && profile.reads_per_s > 0 && profile.bytes_per_s > 0);
}
