//! Sorts of any size give the same entries in order.

use std::path::{Path, PathBuf};

use runtime::sim::Disk;
use runtime::sync::Cancel;
use runtime::{Config, RingChoice, Runtime};

use super::*;

/// A machine with an empty disk.
fn machine() -> Runtime {
    let ring = RingChoice::Sim(Disk::new(1));
    Runtime::start(Config { ring, pin: false, ..Config::default() }).expect("a runtime starts")
}

/// Sorts `count` numbers with two sorters of this budget; what comes out.
fn sorted(count: u64, budget_bytes: usize) -> Vec<u64> {
    machine().block_on(move || async move {
        let path = |n: u8| PathBuf::from(format!("/sort-{n}"));
        let mut sorters = [0, 1].map(|n| Sorter::new(path(n), budget_bytes));
        for number in 0..count {
            // A permutation of all numbers below a prime.
            let key = (number * 7919) % count;
            let sorter = &mut sorters[(number % 2) as usize];
            sorter.push(&key.to_be_bytes(), b"value");
            sorter.spill_if_full(&Cancel::default()).await.expect("written");
        }
        let mut sorted = Sorted::of(sorters.into_iter().map(Sorter::finish).collect());
        let mut found = vec![];
        while let Some((key, value)) = sorted.next().await.expect("read") {
            assert_eq!(value, b"value");
            found.push(u64::from_be_bytes(key.try_into().expect("eight bytes")));
        }
        assert_eq!(files().await, 0, "runs go when they have been read");
        found
    })
}

async fn files() -> usize {
    runtime::fs::list(Path::new("/")).await.expect("the folder").len()
}

#[test]
fn runs_of_several_sorters_are_merged() {
    for (count, budget) in [(0, 1 << 20), (1, 1 << 20), (30_011, 64 << 20), (30_011, 100_000)] {
        let all: Vec<u64> = (0..count).collect();
        assert_eq!(sorted(count, budget), all, "{count} entries, {budget} bytes");
    }
}

#[test]
fn a_sort_that_nobody_wants_ends_and_leaves_no_file() {
    let (ended, left) = machine().block_on(|| async {
        let (mut sorter, cancel) = (Sorter::new("/run".into(), 1 << 16), Cancel::default());
        (0..20_000u64).for_each(|number| sorter.push(&number.to_be_bytes(), b""));
        cancel.cancel();
        let ended = sorter.spill_if_full(&cancel).await;
        sorter.finish().discard().await;
        (ended, files().await)
    });
    assert_eq!(ended.expect_err("cancelled").state.0, "57014");
    assert_eq!(left, 0);
}
