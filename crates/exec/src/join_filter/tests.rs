//! No key is dropped, whatever keys there are; most others are.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use types::SqlResult;

use super::{JoinFilter, TRIAL_ROWS};

fn filter(keys: &[Option<i64>], takes_bytes: bool) -> JoinFilter {
    let column: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
    let runtime = runtime::Runtime::start(runtime::Config { workers: 1, ..Default::default() });
    let half = keys.len() / 2;
    let columns = [column.slice(0, half), column.slice(half, keys.len() - half)];
    let ty = column.data_type().clone();
    let made = runtime.expect("a runtime starts").block_on(move || async move {
        SqlResult::Ok(JoinFilter::of(&ty, &columns, |_| takes_bytes).await)
    });
    made.expect("it is made")
}

/// How many of these values pass.
fn passing(filter: &JoinFilter, values: impl IntoIterator<Item = Option<i64>>) -> usize {
    let column: ArrayRef = Arc::new(values.into_iter().collect::<Int64Array>());
    filter.keep(&column).count_set_bits()
}

fn some(values: impl Iterator<Item = i64>) -> Vec<Option<i64>> {
    values.map(Some).collect()
}

#[test]
fn all_keys_pass_and_few_others() {
    let dense = |i: i64| i * 3 - 1000;
    let sparse = |i: i64| i.wrapping_mul(0x1E37_79B9_7F4A_7C15);
    let ends = |i: i64| if i % 2 == 0 { i64::MAX - i } else { i64::MIN + i };
    for (name, key) in [("dense", dense as fn(i64) -> i64), ("sparse", sparse), ("ends", ends)] {
        for count in [1, 2, 700, 5000] {
            let keys = some((0..count).map(key));
            let found = filter(&keys, true);
            assert_eq!(passing(&found, keys.clone()), keys.len(), "{name} {count}");
            assert_eq!(passing(&found, [None]), 0, "{name} {count}");
            let others = some((count..count + 4000).map(key));
            let passed = passing(&found, others);
            assert!(passed <= 80, "{name} {count}: {passed} of 4000 others pass");
            let bounds = filter(&keys, false);
            assert_eq!(passing(&bounds, keys.clone()), keys.len(), "{name} {count}, bounds");
        }
    }
}

#[test]
fn no_keys_pass_nothing() {
    for keys in [vec![], vec![None, None]] {
        let found = filter(&keys, true);
        assert!(found.bounds().is_none());
        assert_eq!(passing(&found, some(-5..5)), 0);
    }
}

#[test]
fn it_is_given_up_when_it_drops_little() {
    let keys = filter(&some(0..1000), true);
    let rows = |least: i64| some((0..TRIAL_ROWS as i64).map(|i| least + i % 1000));
    passing(&keys, rows(0));
    assert!(!keys.is_useful());
    passing(&keys, rows(500));
    assert!(keys.is_useful());
}
