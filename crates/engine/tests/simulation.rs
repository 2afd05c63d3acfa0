//! The scenarios of `engine::simulation`. `DOVETAIL_SEEDS` sets how many seeds, and
//! `DOVETAIL_FIRST_SEED` where they begin.

use engine::simulation::{Report, run};

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
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [5, 6] {
        let once = run(&pg::options(), seed).unwrap_or_else(|failure| panic!("{failure}"));
        let twice = run(&pg::options(), seed).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(once, twice);
    }
}
