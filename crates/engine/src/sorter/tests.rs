//! Sorts of any size give the same entries in order.

use std::path::PathBuf;

use runtime::sync::Cancel;
use runtime::{Config, Runtime};

use super::*;

/// Sorts `count` numbers with two sorters of this budget; what comes out.
fn sorted(count: u64, budget_bytes: usize) -> Vec<u64> {
    let directory = std::env::temp_dir().join(format!("dovetail-sorter-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a folder");
    let path = directory.join(format!("{count}-{budget_bytes}"));
    let runtime = Runtime::start(Config::default()).expect("a runtime starts");
    runtime.block_on(move || async move {
        let mut sorters =
            [0, 1].map(|n: u8| Sorter::new(path.with_added_extension(n.to_string()), budget_bytes));
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
        found
    })
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
    let directory = std::env::temp_dir().join(format!("dovetail-sort-end-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a folder");
    let path: PathBuf = directory.join("run");
    let runtime = Runtime::start(Config::default()).expect("a runtime starts");
    let ended = runtime.block_on(move || async move {
        let (mut sorter, cancel) = (Sorter::new(path, 1 << 16), Cancel::default());
        (0..20_000u64).for_each(|number| sorter.push(&number.to_be_bytes(), b""));
        cancel.cancel();
        let ended = sorter.spill_if_full(&cancel).await;
        sorter.finish().discard().await;
        ended
    });
    assert_eq!(ended.expect_err("cancelled").state.0, "57014");
    assert_eq!(std::fs::read_dir(&directory).expect("read").count(), 0);
}
