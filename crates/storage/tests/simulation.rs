//! The scenarios of `storage::simulation`. `DOVETAIL_SEEDS` sets how many seeds, and
//! `DOVETAIL_FIRST_SEED` the first; a failure names its seed, which alone repeats it.

use storage::simulation::{
    Report, archive_over_power_cuts, crash_everywhere, full_everywhere, members_come_and_go,
    rot_everywhere, run,
};

/// Seeds of a quick run; the full one is 10,000.
const SEED_COUNT: u64 = 50;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// With the feature `planted`, `DOVETAIL_FAULT` names a mistake that is made on purpose.
#[cfg(feature = "planted")]
fn plant() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        std::env::var("DOVETAIL_FAULT").iter().for_each(|name| storage::planted::plant(name));
    });
}

#[cfg(not(feature = "planted"))]
fn plant() {}

#[test]
fn random_operations_crashes_and_damage() {
    plant();
    let mut total = Report::default();
    let first = variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let count = variable("DOVETAIL_SEEDS").unwrap_or(SEED_COUNT);
    for seed in first..first + count {
        total += run(seed).unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("{total:?}");
    assert!(total.cancels > 0 && total.failed_writes > 0, "{total:?}");
    assert!(total.flips_detected > total.flips / 4, "{total:?}");
    assert!(total.chains > count / 10, "{total:?}");
}

#[test]
fn a_power_cut_at_every_write_leaves_the_old_state_or_the_new_one() {
    // The second with a pool that is far smaller than what changes.
    for seed in [1, 3, 7] {
        let report = crash_everywhere(seed).unwrap_or_else(|failure| panic!("{failure}"));
        println!("{report:?}");
        assert!(report.crashes > 200 && report.chains > 10, "{report:?}");
        // Where there is a log, some cuts come between the point of a checkpoint and its header.
        assert!(report.behind > 0 || seed % 3 == 0, "{report:?}");
    }
}

#[test]
fn a_full_disk_at_every_write_loses_nothing_and_is_only_a_delay() {
    let report = full_everywhere(1).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{report:?}");
    assert!(report.refusals > 50, "{report:?}");
}

#[test]
fn flipped_bits_in_every_page_are_detected_or_harmless() {
    let report = rot_everywhere(1, 3).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{report:?}");
    assert!(report.flips_detected > report.flips / 4, "{report:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [3, 4] {
        let once = run(seed).unwrap_or_else(|failure| panic!("{failure}"));
        let twice = run(seed).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(once, twice);
    }
}

#[test]
fn backups_and_an_archive_lead_to_each_acknowledged_state() {
    let mut total = Report::default();
    let first = variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let count = variable("DOVETAIL_SEEDS").unwrap_or(60);
    for seed in first..first + count {
        total += archive_over_power_cuts(seed).unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("{total:?}");
    assert!(total.operations > count && total.crashes > count, "{total:?}");
}

#[test]
fn members_come_and_go_and_all_rows_stay() {
    plant();
    let mut total = Report::default();
    let first = variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let count = variable("DOVETAIL_SEEDS").unwrap_or(SEED_COUNT);
    for seed in first..first + count {
        total += members_come_and_go(seed).unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("{total:?}");
    assert!(total.failed_writes > count / 4, "{total:?}");
}
