//! What is on disk never lies behind what was given out.

use super::*;

const TY: LogicalType = LogicalType::Int64;

/// As a restart after a crash finds it.
fn on_disk(sequence: &Sequence) -> Sequence {
    let bytes = serde_json::to_vec(sequence).expect("a sequence can be stored");
    serde_json::from_slice(&bytes).expect("what was stored can be read")
}

fn next(sequence: &Sequence) -> i64 {
    sequence.next("s", TY).expect("there is a next number")
}

#[test]
fn numbers_that_are_reserved_count_as_given_out() {
    let sequence = Sequence::new();
    assert_eq!(next(&sequence), 1);
    assert!(sequence.is_unsaved());
    let reserved = sequence.reserve(TY);
    sequence.reserved(&reserved);
    let saved = on_disk(&sequence);
    assert!((2..=33).all(|n| next(&sequence) == n && !sequence.is_unsaved()));
    assert_eq!(next(&saved), 34);
    // The next one is not on disk.
    assert_eq!(next(&sequence), 34);
    assert!(sequence.is_unsaved());
}

#[test]
fn what_is_not_saved_is_not_reserved() {
    let sequence = Sequence::new();
    next(&sequence);
    sequence.reserve(TY);
    assert!(sequence.is_unsaved());
    assert_eq!(next(&on_disk(&sequence)), 2);
}

#[test]
fn without_reservation_the_number_itself_is_stored() {
    let falling = SequenceOptions { increment: Some(-5), ..SequenceOptions::default() };
    let sequence = falling.create(TY).expect("a falling sequence");
    assert_eq!((next(&sequence), next(&sequence)), (-1, -6));
    assert_eq!(next(&on_disk(&sequence)), -11);
    assert_eq!(next(&on_disk(&sequence.restarted())), -1);
}

#[test]
fn a_cycle_begins_anew_and_is_not_ahead_then() {
    let options = SequenceOptions { most: Some(Some(3)), cycles: Some(true), ..Default::default() };
    let sequence = options.create(TY).expect("a short cycle");
    next(&sequence);
    sequence.reserved(&sequence.reserve(TY));
    assert_eq!((next(&sequence), next(&sequence)), (2, 3));
    assert!(!sequence.is_unsaved());
    assert_eq!(next(&sequence), 1);
    assert!(sequence.is_unsaved());
}

#[test]
fn the_form_of_earlier_files_is_read() {
    let sequence: Sequence =
        serde_json::from_str(r#"{"next": 7, "increment": 2}"#).expect("an earlier form");
    assert_eq!((next(&sequence), next(&sequence)), (7, 9));
}

#[test]
fn an_altered_sequence_takes_no_number_twice_unless_it_restarts() {
    let old = Sequence::new();
    next(&old);
    let options = SequenceOptions { increment: Some(10), ..Default::default() };
    let altered = options.alter(&old, TY).expect("other steps");
    // A statement that began before goes on with the old one.
    assert_eq!((next(&old), next(&altered), next(&old)), (2, 12, 13));
    let options = SequenceOptions { restart: Some(None), ..Default::default() };
    let restarted = options.alter(&old, TY).expect("a new start");
    assert_eq!((next(&restarted), next(&old)), (1, 14));
}

#[test]
fn a_sequence_that_was_set_meanwhile_is_not_ahead() {
    let sequence = Sequence::new();
    next(&sequence);
    let reserved = sequence.reserve(TY);
    sequence.set("s", TY, 5, true).expect("a place within bounds");
    sequence.reserved(&reserved);
    assert!(sequence.is_unsaved());
    assert_eq!(next(&on_disk(&sequence)), 6);
}

#[test]
fn numbers_that_go_beyond_what_was_saved_are_unsaved() {
    let sequence = Sequence::new();
    next(&sequence);
    let reserved = sequence.reserve(TY);
    (2..=34).for_each(|n| assert_eq!(next(&sequence), n));
    sequence.reserved(&reserved);
    assert!(sequence.is_unsaved());
}
