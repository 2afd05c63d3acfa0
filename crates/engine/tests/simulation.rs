//! The scenarios of `engine::simulation`. `DOVETAIL_SEEDS` sets how many seeds, and
//! `DOVETAIL_FIRST_SEED` where they begin. `DOVETAIL_IMAGES` sets how many disks are opened that power cuts may have
//! left, `DOVETAIL_CALLS` how many calls of a script fail, which has `DOVETAIL_STEPS` steps; 20,000, as many as there
//! are (a million) and 300 are the full numbers.

use engine::simulation::{Report, crash_images, failing_calls, run};

/// Seeds when the environment says nothing.
const SEED_COUNT: u64 = 12;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn statements_are_whole_whatever_befalls_the_machine() {
    let mut total = Report::default();
    let first = variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let count = variable("DOVETAIL_SEEDS").unwrap_or(SEED_COUNT);
    let mut failures = vec![];
    for seed in first..first + count {
        match run(&pg::options(), seed) {
            Ok(report) => total += report,
            Err(failure) => failures.push(failure.to_string()),
        }
    }
    println!("{total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(total.crashes >= 2 * count && total.comparisons > count, "{total:?}");
    // One seed alone may lack some of them.
    let cancels = [total.cancels, total.cancelled_definitions, total.cancelled_transactions];
    assert!(count < SEED_COUNT || cancels.iter().all(|met| *met > 0), "{total:?}");
}

/// Disks that one power cut leaves.
const IMAGES_AT_ONCE: u64 = 20;

#[test]
fn whatever_a_power_cut_leaves_is_recovered_however_often_that_is_cut_short() {
    let images = variable("DOVETAIL_IMAGES").unwrap_or(3 * IMAGES_AT_ONCE);
    let first = variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let mut total = Report::default();
    for seed in first..first + images.div_ceil(IMAGES_AT_ONCE) {
        let report = crash_images(&pg::options(), seed, IMAGES_AT_ONCE);
        total += report.unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("{total:?}");
    assert!(total.images >= images && total.chains > images / 10, "{total:?}");
}

#[test]
fn any_one_call_of_a_script_may_fail() {
    let calls = variable("DOVETAIL_CALLS").unwrap_or(8);
    let steps = variable("DOVETAIL_STEPS").unwrap_or(40) as usize;
    let seed = variable("DOVETAIL_FIRST_SEED").unwrap_or(1);
    let report = failing_calls(&pg::options(), seed, steps, calls);
    let report = report.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{report:?}");
    assert!(report.calls > 0 && report.comparisons > 0, "{report:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [5, 6] {
        let once = run(&pg::options(), seed).unwrap_or_else(|failure| panic!("{failure}"));
        let twice = run(&pg::options(), seed).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(once, twice);
    }
}
