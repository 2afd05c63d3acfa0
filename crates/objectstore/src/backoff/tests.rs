//! Pauses and the budget of repetitions.

use super::*;

#[test]
fn pauses_grow_and_are_drawn() {
    let limits = Limits {
        backoff_base: Duration::from_millis(100),
        backoff_max: Duration::from_millis(1000),
        ..Limits::default()
    };
    let check = |retry, random, expected_ms: u128| {
        assert_eq!(pause(&limits, retry, random).as_millis(), expected_ms, "{retry} {random}");
    };
    check(0, 0, 0);
    check(0, u64::MAX / 2, 49);
    check(1, u64::MAX / 2, 99);
    check(3, u64::MAX / 2, 399);
    check(9, u64::MAX / 2, 499);
    check(4_000_000, u64::MAX, 999);
}

#[test]
fn a_budget_is_spent_and_earned() {
    let budget = Budget::new(2, 0.5);
    assert!(budget.take() && budget.take() && !budget.take());
    budget.earn();
    assert!(!budget.take());
    budget.earn();
    assert!(budget.take() && !budget.take());
    (0..100).for_each(|_| budget.earn());
    assert!(budget.take() && budget.take() && !budget.take(), "no more than there was at first");
}
