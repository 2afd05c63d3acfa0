//! Each anomaly, by a history that has it and nothing else.

use super::*;

fn read(key: usize, list: &[u32]) -> Access {
    Access::Read { key, list: list.to_vec() }
}

fn append(key: usize, number: u32) -> Access {
    Access::Append { key, number }
}

fn history(committed: &[&[Access]], lists: &[&[u32]]) -> History {
    let transaction = |accesses: &&[Access]| Transaction {
        accesses: accesses.to_vec(),
        ..Transaction::default()
    };
    let committed = committed.iter().map(transaction).collect();
    let lists = lists.iter().map(|list| list.to_vec()).collect();
    History { committed, lists, ..History::default() }
}

/// The levels that allow a history, from the weakest on.
fn allowed(history: &History) -> usize {
    let levels = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
    let allows: Vec<bool> = levels.iter().map(|level| history.check(*level).is_ok()).collect();
    let count = allows.iter().filter(|allows| **allows).count();
    assert!(allows[..count].iter().all(|allows| *allows), "a stronger level allows less");
    count
}

#[test]
fn one_after_another_is_allowed() {
    let first = [append(0, 1), append(1, 2)];
    let second = [read(0, &[1]), append(0, 3), read(0, &[1, 3]), read(1, &[2])];
    assert_eq!(allowed(&history(&[&first, &second], &[&[1, 3], &[2]])), 3);
}

#[test]
fn what_was_not_committed_is_seen_by_nobody() {
    assert_eq!(allowed(&history(&[&[read(0, &[9])]], &[&[]])), 0);
    assert_eq!(allowed(&history(&[], &[&[9]])), 0);
}

#[test]
fn what_was_committed_is_there() {
    assert_eq!(allowed(&history(&[&[append(0, 1)], &[append(0, 2)]], &[&[2]])), 0);
}

#[test]
fn what_was_acknowledged_is_seen_by_those_who_begin_later() {
    let mut history = history(&[&[append(0, 1)], &[read(0, &[])]], &[&[1]]);
    assert_eq!(allowed(&history), 3);
    (history.committed[0].acknowledged, history.committed[1].began) = (2, 3);
    assert_eq!(allowed(&history), 0);
    history.committed[1].began = 1;
    assert_eq!(allowed(&history), 3);
}

#[test]
fn half_of_a_transaction_is_seen_by_nobody() {
    let writer = [append(0, 1), append(0, 2)];
    assert_eq!(allowed(&history(&[&writer, &[read(0, &[1])]], &[&[1, 2]])), 0);
}

#[test]
fn lists_only_grow() {
    let writers: [&[Access]; 2] = [&[append(0, 1)], &[append(0, 2)]];
    assert_eq!(allowed(&history(&[writers[0], writers[1], &[read(0, &[2])]], &[&[1, 2]])), 0);
}

#[test]
fn circular_information_flow() {
    let first = [append(0, 1), read(1, &[2])];
    let second = [append(1, 2), read(0, &[1])];
    assert_eq!(allowed(&history(&[&first, &second], &[&[1], &[2]])), 0);
}

#[test]
fn a_read_that_does_not_repeat() {
    let reader = [read(0, &[]), read(0, &[1])];
    assert_eq!(allowed(&history(&[&reader, &[append(0, 1)]], &[&[1]])), 1);
}

#[test]
fn read_skew() {
    let reader = [read(0, &[]), read(1, &[2])];
    let writer = [append(0, 1), append(1, 2)];
    assert_eq!(allowed(&history(&[&reader, &writer], &[&[1], &[2]])), 1);
}

#[test]
fn a_lost_update_that_was_kept_in_the_list() {
    let first = [read(0, &[]), append(0, 1)];
    let second = [read(0, &[]), append(0, 2)];
    assert_eq!(allowed(&history(&[&first, &second], &[&[1, 2]])), 1);
}

#[test]
fn long_fork() {
    let writers: [&[Access]; 2] = [&[append(0, 1)], &[append(1, 2)]];
    let first = [read(0, &[1]), read(1, &[])];
    let second = [read(0, &[]), read(1, &[2])];
    let history = history(&[writers[0], writers[1], &first, &second], &[&[1], &[2]]);
    assert_eq!(allowed(&history), 1);
}

#[test]
fn write_skew() {
    let first = [read(1, &[]), append(0, 1)];
    let second = [read(0, &[]), append(1, 2)];
    assert_eq!(allowed(&history(&[&first, &second], &[&[1], &[2]])), 2);
}

#[test]
fn a_reader_between_two_that_are_serializable_alone() {
    // Fekete, O'Neil, O'Neil: a read-only transaction makes it an anomaly.
    let first = [read(0, &[]), read(1, &[]), append(0, 1)];
    let second = [append(1, 2)];
    let reader = [read(0, &[]), read(1, &[2])];
    assert_eq!(allowed(&history(&[&first, &second], &[&[1], &[2]])), 3);
    assert_eq!(allowed(&history(&[&first, &second, &reader], &[&[1], &[2]])), 2);
}
