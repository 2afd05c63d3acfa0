//! What readers of a version see of the records, and how long these stay.

use storage::TreeId;

use super::records::{Changing, DROPPED_AT_ONCE, RECORD_OVERHEAD_BYTES};
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
    let entries = entries.iter().map(|(key, old)| {
        let (key, old) = (key.as_bytes(), old.map(str::as_bytes));
        Changing { key, old, keeps_key: old.is_some() }
    });
    view.record(TREE, entries);
}

/// A transaction that changes these entries on top of a version; the version with it.
fn committed(newest: &ReadView, entries: &[(&str, Option<&str>)]) -> ReadView {
    let stamp = newest.new_stamp();
    record(&newest.with_own(&stamp, 0), entries);
    let next = newest.next();
    assert!(next.commit(&stamp, newest, false));
    next
}

#[test]
fn a_reader_sees_what_was_first_replaced_after_its_version() {
    let first = ReadView::default();
    let second = committed(&first, &[("a", Some("1")), ("b", None)]);
    let third = committed(&second, &[("a", Some("2"))]);
    check(&first, &[("a", Some("1")), ("b", None)]);
    check(&second, &[("a", Some("2"))]);
    check(&third, &[]);
}

#[test]
fn transactions_see_their_own_steps_and_nothing_of_each_other() {
    let first = ReadView::default();
    let (one, two) = (first.new_stamp(), first.new_stamp());
    record(&first.with_own(&one, 0), &[("a", Some("1"))]);
    record(&first.with_own(&two, 0), &[("b", Some("2"))]);
    record(&first.with_own(&one, 1), &[("a", Some("11")), ("c", None)]);
    check(&first.with_own(&one, 2), &[("b", Some("2"))]);
    check(&first.with_own(&one, 1), &[("a", Some("11")), ("b", Some("2")), ("c", None)]);
    check(&first.with_own(&two, 1), &[("a", Some("1")), ("c", None)]);
    check(&first, &[("a", Some("1")), ("b", Some("2")), ("c", None)]);
    // The second one commits, the first one is undone.
    let second = first.next();
    assert!(second.commit(&two, &first, false));
    assert!(first.is_outdated(TREE, std::iter::once(&b"b"[..])));
    check(&second, &[("a", Some("1")), ("c", None)]);
    let third = second.next();
    third.undo(&one);
    assert!(!second.is_outdated(TREE, std::iter::once(&b"a"[..])), "nothing became of it");
    check(&second, &[("a", Some("1")), ("c", None)]);
    check(&third, &[]);
}

#[test]
fn what_was_undone_hides_nothing_that_came_later() {
    let first = ReadView::default();
    let (one, two) = (first.new_stamp(), first.new_stamp());
    record(&first.with_own(&one, 0), &[("a", Some("1"))]);
    record(&first.with_own(&one, 1), &[("a", Some("2"))]);
    check(&first, &[("a", Some("1"))]);
    let second = first.next();
    second.undo(&one);
    // Who has read what was undone goes on to need it.
    check(&first, &[("a", Some("1"))]);
    record(&first.with_own(&two, 0), &[("a", Some("1"))]);
    check(&first, &[("a", Some("1"))]);
    check(&first.with_own(&two, 1), &[]);
    let third = second.next();
    assert!(third.commit(&two, &first, false));
    check(&first, &[("a", Some("1"))]);
    check(&second, &[("a", Some("1"))]);
    check(&third, &[]);
}

#[test]
fn records_go_with_their_last_reader() {
    let first = ReadView::default();
    let log = first.0.log.clone();
    let second = committed(&first, &[("a", Some("1"))]);
    let third = committed(&second, &[("b", Some("2"))]);
    drop(second);
    assert_eq!(log.state().counts().0, 2);
    drop(first);
    assert_eq!(log.state().counts(), (0, 0, 0));
    check(&third, &[]);
}

#[test]
fn many_records_go_some_at_a_time_and_meanwhile_nobody_sees_them() {
    let first = ReadView::default();
    let log = first.0.log.clone();
    let keys: Vec<String> = (0..2 * DROPPED_AT_ONCE + 1).map(|n| format!("{n:06}")).collect();
    let entries: Vec<_> = keys.iter().map(|key| (key.as_str(), Some("1"))).collect();
    let second = committed(&first, &entries);
    check(&first, &entries);
    drop(first);
    for left in [DROPPED_AT_ONCE + 1, 1, 0] {
        let size = RECORD_OVERHEAD_BYTES + keys[0].len() + "1".len();
        assert_eq!(log.state().bytes(), left * size);
        check(&second, &[]);
        drop(second.pinned(false));
    }
    assert_eq!(log.state().counts(), (0, 1, 0));
}

#[test]
fn a_change_that_failed_leaves_what_the_next_one_needs() {
    let first = ReadView::default();
    let own = first.with_own(&first.new_stamp(), 0);
    record(&own, &[("a", Some("1"))]);
    record(&own, &[("a", Some("1")), ("b", Some("2"))]);
    check(&first, &[("a", Some("1")), ("b", Some("2"))]);
}

#[test]
fn too_many_records_are_lost_to_older_readers_only() {
    let first = ReadView::default();
    let second = committed(&first, &[("a", Some("1"))]);
    second.show();
    let long = "x".repeat(RECORD_BYTES_MAX);
    let own = second.with_own(&second.new_stamp(), 0);
    record(&own, &[("b", Some(&long))]);
    let lost = first.replaced(TREE, b"", None).expect_err("its records are lost");
    assert_eq!(lost.state.0, "72000");
    check(&second, &[("b", Some(&long))]);
    assert!(first.replaced(TreeId(8), b"", None).is_ok());
}

#[test]
fn what_is_not_visible_yet_is_never_lost() {
    let first = ReadView::default();
    let second = committed(&first, &[("a", Some("1"))]);
    let long = "x".repeat(RECORD_BYTES_MAX);
    record(&second.with_own(&second.new_stamp(), 0), &[("b", Some(&long))]);
    check(&first, &[("a", Some("1")), ("b", Some(&long))]);
}

/// A serializable transaction on a version, which reads keys.
struct Serializable {
    stamp: Stamp,
    view: ReadView,
}

fn serializable(version: &ReadView, reads: &[&str]) -> Serializable {
    let (stamp, pinned) = (version.new_stamp(), version.pinned(true));
    let view = pinned.with_own(&stamp, 0);
    for key in reads {
        view.note_read(TREE, key.as_bytes(), Some(&[key.as_bytes(), b"\0"].concat()));
    }
    Serializable { stamp, view }
}

impl Serializable {
    fn write(&self, key: &str) {
        record(&self.view, &[(key, Some("0"))]);
    }

    /// The version with which it ends, if it may.
    fn commit(&self, newest: &ReadView) -> Option<ReadView> {
        let next = newest.next();
        next.commit(&self.stamp, &self.view, false).then_some(next)
    }
}

#[test]
fn who_comes_before_another_may_commit_after_it() {
    let first = ReadView::default();
    let reader = serializable(&first, &["a"]);
    reader.write("b");
    let writer = serializable(&first, &["c"]);
    writer.write("a");
    let second = writer.commit(&first).expect("nobody was there");
    let third = reader.commit(&second).expect("it comes before the writer");
    // One of which it is not known what it has read.
    let reader = serializable(&third, &["a"]);
    reader.write("d");
    let fourth = committed(&third, &[("a", Some("1"))]);
    assert!(reader.commit(&fourth).is_none());
}

#[test]
fn of_two_that_come_before_each_other_one_commits() {
    let first = ReadView::default();
    let (one, two) = (serializable(&first, &["a"]), serializable(&first, &["b"]));
    one.write("b");
    two.write("a");
    let second = one.commit(&first).expect("nobody has committed");
    assert!(two.commit(&second).is_none(), "write skew");
    second.next().undo(&two.stamp);
}

#[test]
fn a_reader_makes_two_that_have_an_order_have_none() {
    // Whoever of the three is the last to end is refused.
    for reader_is_last in [false, true] {
        let first = ReadView::default();
        let (before, after) = (serializable(&first, &["a", "b"]), serializable(&first, &[]));
        before.write("a");
        after.write("b");
        let second = after.commit(&first).expect("nobody has committed");
        let reader = serializable(&second, &["a", "b"]);
        if reader_is_last {
            before.commit(&second).expect("it comes before the other one");
            assert!(!reader.view.end_reads(), "it has seen the second without the first");
        } else {
            assert!(reader.view.end_reads(), "the first has not committed");
            assert!(before.commit(&second).is_none(), "it was not seen");
        }
    }
}

#[test]
fn what_was_read_is_kept_as_long_as_somebody_reads_an_older_version() {
    let first = ReadView::default();
    let old = serializable(&first, &["a"]);
    let second = committed(&first, &[("c", Some("1"))]);
    let reader = serializable(&second, &["b"]);
    assert!(reader.view.end_reads());
    drop(reader);
    assert_eq!(second.0.log.state().readers.count(), 1);
    drop((old, first));
    assert_eq!(second.0.log.state().readers.count(), 0);
}

#[test]
fn records_are_kept_by_who_reads_as_of_the_oldest_version() {
    let first = ReadView::default();
    let long = "x".repeat(1000);
    let second = committed(&first, &[("a", Some(&long))]);
    assert!(first.keeps_more_than(1000) && !first.keeps_more_than(2000));
    assert!(!second.keeps_more_than(1000), "it is for the first one that they stay");
    let third = committed(&second, &[("a", Some(&long))]);
    assert!(first.keeps_more_than(2000));
    drop(first);
    assert!(second.keeps_more_than(1000) && !second.keeps_more_than(2000));
    drop(second);
    assert!(!third.keeps_more_than(0));
}

#[test]
fn who_has_changed_nothing_only_reads() {
    // A row that it has locked is no change: it may come before one of whom nobody knows what that has read.
    let first = ReadView::default();
    let (stamp, locker) = (first.new_stamp(), first.pinned(true));
    locker.note_read(TREE, b"a", Some(b"b"));
    let second = committed(&first, &[("a", Some("1"))]);
    second.note_replaced(&[TREE]);
    assert!(second.next().commit(&stamp, &locker, false));
    let (stamp, writer) = (first.new_stamp(), first.pinned(true));
    writer.note_read(TREE, b"a", Some(b"b"));
    record(&writer.with_own(&stamp, 0), &[("b", Some("1"))]);
    assert!(!second.next().commit(&stamp, &writer, false));
}

#[test]
fn a_row_that_keeps_its_key_is_outdated_for_those_only_that_do_more_than_refer_to_it() {
    let changes = |view: &ReadView, keeps_key: bool| {
        let (stamp, next) = (view.new_stamp(), view.next());
        let entry = Changing { key: b"a", old: Some(b"1"), keeps_key };
        view.with_own(&stamp, 0).record(TREE, std::iter::once(entry));
        assert!(next.commit(&stamp, view, false));
        next
    };
    let outdated = |view: &ReadView| {
        let key = || std::iter::once(&b"a"[..]);
        (view.is_outdated(TREE, key()), view.is_key_outdated(TREE, key()))
    };
    let first = ReadView::default();
    let second = changes(&first, true);
    assert_eq!(outdated(&first), (true, false));
    let third = changes(&second, false);
    assert_eq!([outdated(&first), outdated(&second)], [(true, true); 2]);
    assert_eq!(outdated(&third), (false, false));
    // One statement fails when it has recorded what it would change, the next one changes more.
    let (stamp, fourth) = (third.new_stamp(), third.next());
    let own = third.with_own(&stamp, 0);
    for keeps_key in [true, false, true] {
        own.record(TREE, std::iter::once(Changing { key: b"a", old: Some(b"1"), keeps_key }));
    }
    assert!(fourth.commit(&stamp, &third, false));
    assert_eq!(outdated(&third), (true, true));
}
