//! Histories of transactions in the simulation, judged by their graph of dependencies.
//! `DOVETAIL_SEEDS` sets how many histories there are of all levels together, about;
//! `DOVETAIL_FIRST_SEED` where they begin. Some clients do not wait until their commits are durable.

use engine::Isolation;
use engine::simulation::history::{History, Survivors, cut, record};

/// Histories of each level when the environment says nothing.
const SEED_COUNT: u64 = 8;

/// Transactions of each client.
const TRANSACTIONS: usize = 40;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seeds() -> std::ops::Range<u64> {
    let first = variable("DOVETAIL_FIRST_SEED").unwrap_or(0);
    let count = variable("DOVETAIL_SEEDS").map_or(SEED_COUNT, |count| count.div_ceil(3));
    first..first + count
}

fn histories(level: Isolation) -> impl Iterator<Item = (u64, History)> {
    seeds().map(move |seed| {
        let history = record(&pg::options(), seed, level, TRANSACTIONS);
        (seed, history.unwrap_or_else(|failure| panic!("{level:?}: {failure}")))
    })
}

fn each_keeps_its_promise(level: Isolation) -> Vec<History> {
    let (mut all, mut failures) = (vec![], vec![]);
    for (seed, history) in histories(level) {
        if let Err(what) = history.check(level) {
            failures.push(format!("seed {seed}: {what}"));
        }
        all.push(history);
    }
    let committed: usize = all.iter().map(|history| history.committed.len()).sum();
    let conflicts: u64 = all.iter().map(|history| history.conflicts).sum();
    println!("{level:?}: {} histories, {committed} transactions, {conflicts} conflicts", all.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(committed > all.len() * TRANSACTIONS / 2, "most transactions are committed");
    all
}

/// That the histories have what a stronger level forbids shows that the check can fail.
fn some_break(level: Isolation, histories: &[History]) {
    let breaks = histories.iter().filter(|history| history.check(level).is_err()).count();
    println!("  {breaks} of {} are not {level:?}", histories.len());
    assert!(breaks > 0, "no history breaks {level:?}");
}

#[test]
fn read_committed_keeps_its_promise() {
    let histories = each_keeps_its_promise(Isolation::ReadCommitted);
    let merges: u64 = histories.iter().map(|history| history.merges).sum();
    println!("  {merges} merges of column tables");
    assert!(merges > 0, "no column table was merged beside transactions");
    some_break(Isolation::RepeatableRead, &histories);
}

#[test]
fn repeatable_read_keeps_its_promise() {
    let histories = each_keeps_its_promise(Isolation::RepeatableRead);
    some_break(Isolation::Serializable, &histories);
}

#[test]
fn serializable_keeps_its_promise() {
    each_keeps_its_promise(Isolation::Serializable);
}

#[test]
fn a_power_cut_leaves_a_beginning_with_all_that_was_durable() {
    let (mut total, mut failures) = (Survivors::default(), vec![]);
    // Few cuts fall between the point of a checkpoint and its header.
    let seeds = seeds().start..seeds().end + SEED_COUNT;
    for level in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        for seed in seeds.clone() {
            match cut(&pg::options(), seed, level, TRANSACTIONS) {
                Ok(Survivors { kept, lost, behind }) => {
                    total.kept += kept;
                    total.lost += lost;
                    total.behind += behind;
                }
                Err(failure) => failures.push(format!("{level:?}: {failure}")),
            }
        }
    }
    println!("{total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // Some have lost what did not wait, and some have the power fail between the point of a checkpoint and its
    // header, or nothing was shown.
    assert!(total.kept > 0 && total.lost > 0 && total.behind > 0, "{total:?}");
}
