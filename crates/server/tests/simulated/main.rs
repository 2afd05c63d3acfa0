//! A server and its clients in one simulated machine: one seed, one run, the same every time.
//!
//! Several clients insert, update and delete over the PostgreSQL protocol, in transactions and alone, and
//! fetch from cursors; they cancel, hang up, close half of their connection, and their connections are refused,
//! slow, reset and lost without a word. Another one asks for health and metrics over HTTP, and has the console run
//! queries. In one scenario every other client encrypts. `DOVETAIL_SEEDS` sets how many seeds, and `DOVETAIL_FIRST_SEED` where they
//! begin: `DOVETAIL_FIRST_SEED=7 DOVETAIL_SEEDS=1 cargo test -p server --test simulated` repeats seed 7.

mod channel;
mod cursors;
mod exchange;
mod machine;
mod model;
mod player;
mod scraper;
mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};

use player::Report;

/// Seeds when the environment says nothing.
const SEED_COUNT: u64 = 10;

/// Whether there are so many seeds that all things happen in some.
fn are_many() -> bool {
    variable("DOVETAIL_SEEDS").is_none_or(|count| count >= SEED_COUNT)
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs a scenario with one seed; a panic is a defect too.
fn run(scenario: fn(u64) -> Result<Report, String>, seed: u64) -> Result<Report, String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| scenario(seed))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("without a message")))
    });
    outcome.map_err(|what| format!("seed {seed}: {what}"))
}

fn run_all(scenario: fn(u64) -> Result<Report, String>) -> Report {
    let first = variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let count = variable("DOVETAIL_SEEDS").unwrap_or(SEED_COUNT);
    let (mut total, mut failures) = (Report::default(), vec![]);
    for seed in first..first + count {
        match run(scenario, seed) {
            Ok(report) => total += report,
            Err(failure) => failures.push(failure),
        }
    }
    println!("{total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    total
}

#[test]
fn what_is_acknowledged_is_there_whatever_befalls_connections() {
    let total = run_all(machine::unkind_network);
    assert!(total.statements > 0 && total.comparisons > 0, "{total:?}");
    let met = [total.cancels, total.fetches, total.answers];
    assert!(!are_many() || met.iter().all(|count| *count > 0), "{total:?}");
}

#[test]
fn what_is_acknowledged_is_there_when_connections_are_encrypted() {
    let total = run_all(machine::unkind_and_encrypted);
    assert!(total.statements > 0 && total.comparisons > 0, "{total:?}");
}

#[test]
fn what_is_acknowledged_survives_a_power_cut() {
    let total = run_all(machine::power_cut);
    assert!(total.comparisons > 0, "{total:?}");
}

#[test]
fn a_server_without_descriptors_says_so_and_ends() {
    for seed in 0..3 {
        run(machine::full_server, seed).unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for scenario in [machine::unkind_network, machine::unkind_and_encrypted] {
        for seed in [3, 4] {
            assert_eq!(run(scenario, seed), run(scenario, seed));
        }
    }
}
