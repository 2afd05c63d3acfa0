//! What readers of a version see of the records, and how long these stay.

use storage::TreeId;

use super::*;

const TREE: TreeId = TreeId(7);

fn check(view: &ReadView, expected: &[(&str, Option<&str>)]) {
    let seen = view.replaced(TREE, b"", None).expect("the records are there");
    let seen: Vec<_> = seen.iter().map(|(key, old)| (&**key, old.as_deref())).collect();
    let expected: Vec<_> =
        expected.iter().map(|(key, old)| (key.as_bytes(), old.map(str::as_bytes))).collect();
    assert_eq!(seen, expected);
}

fn record(view: &ReadView, entries: &[(&str, Option<&str>)]) {
    let entries = entries.iter().map(|(key, old)| (key.as_bytes(), old.map(str::as_bytes)));
    view.record(TREE, entries);
}

#[test]
fn a_reader_sees_what_was_first_replaced_after_its_version() {
    let first = ReadView::default();
    record(&first, &[("a", Some("1")), ("b", None)]);
    let second = first.next();
    record(&second, &[("a", Some("2"))]);
    let third = second.next();
    check(&first, &[("a", Some("1")), ("b", None)]);
    check(&second, &[("a", Some("2"))]);
    check(&third, &[]);
}

#[test]
fn records_go_with_their_last_reader() {
    let first = ReadView::default();
    let log = first.0.log.clone();
    record(&first, &[("a", Some("1"))]);
    let second = first.next();
    record(&second, &[("b", Some("2"))]);
    let third = second.next();
    drop(second);
    assert_eq!(log.state().keys.len(), 2);
    drop(first);
    assert_eq!(log.state().bytes, 0);
    assert!(log.state().trees.is_empty());
    check(&third, &[]);
}

#[test]
fn a_change_that_failed_leaves_what_the_next_one_needs() {
    let first = ReadView::default();
    record(&first, &[("a", Some("1"))]);
    record(&first, &[("a", Some("1")), ("b", Some("2"))]);
    check(&first, &[("a", Some("1")), ("b", Some("2"))]);
}

#[test]
fn too_many_records_are_lost_to_older_readers_only() {
    let first = ReadView::default();
    record(&first, &[("a", Some("1"))]);
    let second = first.next();
    second.show();
    let long = "x".repeat(RECORD_BYTES_MAX);
    record(&second, &[("b", Some(&long))]);
    let lost = first.replaced(TREE, b"", None).expect_err("its records are lost");
    assert_eq!(lost.state.0, "72000");
    check(&second, &[("b", Some(&long))]);
    assert!(first.replaced(TreeId(8), b"", None).is_ok());
}

#[test]
fn what_is_not_visible_yet_is_never_lost() {
    let first = ReadView::default();
    record(&first, &[("a", Some("1"))]);
    let second = first.next();
    let long = "x".repeat(RECORD_BYTES_MAX);
    record(&second, &[("b", Some(&long))]);
    check(&first, &[("a", Some("1")), ("b", Some(&long))]);
}
