//! Peers that break the rules, one by one.

use std::time::Duration;

use types::{SqlError, SqlState};

use super::{After, BUFFER_BYTES, CREDITS, credit, encoded, end, error_of, hear, hello, machine};
use crate::exchange::frame::{HEADER_BYTES, Hello, Kind, error_frame, frame, seal};

/// A frame with a byte of its header changed.
fn spoiled(mut frame: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    frame[at] = byte;
    frame
}

/// A batch in frames of a buffer each.
fn rows(row_count: usize) -> Vec<u8> {
    let bytes = encoded(row_count);
    let pieces: Vec<&[u8]> = bytes.chunks(BUFFER_BYTES).collect();
    let kind = |at| if at + 1 == pieces.len() { Kind::Rows } else { Kind::Part };
    pieces.iter().enumerate().flat_map(|(at, piece)| frame(kind(at), piece)).collect()
}

/// These frames end the exchange with an error of that state, which has these words.
fn check(frames: &[Vec<u8>], after: After, state: &str, words: &str) {
    let error = error_of(frames, after);
    let text = format!("{} {:?}", error.message, error.detail);
    assert_eq!(error.state.0, state, "{text}");
    assert!(text.contains(words), "{text} without {words}");
}

#[test]
fn a_peer_that_keeps_the_rules_is_heard() {
    // Three buffers, as many as are granted.
    let bytes = [hello(), credit(2), rows(10), rows(80), end(2)].concat();
    for at_once in [1, 37, 100_000] {
        let bytes = bytes.clone();
        let heard = machine(1).block_on(move || hear(bytes, at_once, Duration::ZERO, After::Half));
        assert_eq!((heard.row_count, heard.result), (90, Ok(())));
    }
}

#[test]
fn bytes_that_are_no_frames_are_refused() {
    let bad = |frames: &[Vec<u8>], words| check(frames, After::Silent, "08P01", words);
    bad(&[b"GET / HTTP/1.1\r\nHost: x\r\n".to_vec()], "no frame of an exchange");
    bad(&[spoiled(hello(), 0, b'X')], "no frame of an exchange");
    bad(&[spoiled(hello(), 4, 9)], "frames of version 9, not 1");
    bad(&[spoiled(hello(), 5, 99)], "the unknown kind 99");
    bad(&[spoiled(hello(), 5, 0)], "the unknown kind 0");
    bad(&[spoiled(hello(), 6, 1)], "the unknown kind");
    bad(&[spoiled(hello(), 12, 1)], "wrong checksum");
    bad(&[hello(), spoiled(rows(10), 40, 1)], "wrong checksum");
    bad(&[hello(), spoiled(rows(10), 11, 0x80)], "a frame Rows of 21");
    bad(&[hello(), spoiled(credit(1), 8, 5)], "a frame Credit of 5 bytes");
    bad(&[hello(), frame(Kind::Rows, &vec![0; BUFFER_BYTES + 1])], "a frame Rows of 4097 bytes");
    bad(&[hello(), frame(Kind::Rows, &[])], "a frame Rows of 0 bytes");
    bad(&[hello(), frame(Kind::Error, &[b'0'; 9000])], "a frame Error of 9000 bytes");
}

#[test]
fn greetings_name_the_exchange_and_the_node() {
    let bad = |frames: &[Vec<u8>], words| check(frames, After::Silent, "08P01", words);
    let of = |exchange, node, node_count| Hello { exchange, node, node_count }.frame();
    bad(&[of(78, 1, 2)], "exchange: 77, node: 1, node_count: 2 } was expected");
    bad(&[of(77, 0, 2)], "was expected");
    bad(&[of(77, 1, 3)], "was expected");
    bad(&[credit(1)], "a frame Credit before its greeting");
    bad(&[rows(1)], "a frame Rows before its greeting");
    bad(&[hello(), hello()], "a greeting twice");
}

#[test]
fn credits_are_kept() {
    let bad = |frames: &[Vec<u8>], words| check(frames, After::Silent, "08P01", words);
    bad(&[hello(), credit(0)], "a credit of 0 buffers");
    bad(&[hello(), credit(u32::MAX)], "a credit of 4294967295 buffers");
    bad(&[hello(), credit(-5i32 as u32)], "a credit of 4294967291 buffers");
    bad(&[hello(), credit(1000), credit(25)], "a credit of 25 buffers beside 1025");
    // More than was granted, and all at once: the node takes rows, but not that fast.
    let many = vec![rows(1); CREDITS * 40].concat();
    bad(&[hello(), many], "rows that it had no credit for");
}

#[test]
fn rows_are_counted_and_of_the_schema() {
    let bad = |frames: &[Vec<u8>], words| check(frames, After::Silent, "08P01", words);
    bad(&[hello(), rows(1), end(2)], "1 batches instead of 2");
    bad(&[hello(), end(0), end(0)], "the end of its rows twice");
    bad(&[hello(), end(0), rows(1)], "rows that it had no credit for");
    bad(&[hello(), frame(Kind::Part, &[1; 50]), end(0)], "the end of its rows within a batch");
    bad(&[hello(), frame(Kind::Rows, &[1; 500])], "rows of another schema");
    let mut cut = rows(10);
    cut.truncate(cut.len() - 20);
    seal(Kind::Rows, &mut cut);
    bad(&[hello(), cut], "a batch that does not end");
}

#[test]
fn peers_that_go_are_missed() {
    let lost = |frames: &[Vec<u8>], after, words| check(frames, after, "08006", words);
    for after in [After::Half, After::Gone] {
        lost(&[], after, "node 1");
        lost(&[hello()], after, "node 1");
        lost(&[hello(), rows(10)], after, "node 1");
    }
    lost(&[hello(), rows(10)], After::Half, "Its stream ended before its rows.");
    lost(&[hello(), rows(10)[..HEADER_BYTES + 20].to_vec()], After::Half, "within a frame");
    lost(&[hello(), rows(10)[..7].to_vec()], After::Half, "within a frame");
    lost(&[], After::Silent, "No frame for 5s");
    lost(&[hello(), rows(10)], After::Silent, "No frame for 5s");
    lost(&[hello(), rows(10)[..700].to_vec()], After::Silent, "No frame for 5s");
}

#[test]
fn a_peer_that_is_slow_is_heard_while_frames_come() {
    let slow = |bytes: Vec<u8>, at_once| {
        let pause = Duration::from_secs(1);
        machine(1).block_on(move || hear(bytes, at_once, pause, After::Half))
    };
    let pings = vec![frame(Kind::Ping, &[]); 20].concat();
    let heard = slow([hello(), pings, rows(3), end(1)].concat(), 900);
    assert_eq!((heard.row_count, heard.result), (3, Ok(())));
    let error = slow([hello(), rows(3), end(1)].concat(), 2).result.expect_err("too slow");
    assert_eq!(error.state, SqlState::CONNECTION_FAILURE, "{error:?}");
}

#[test]
fn errors_of_a_peer_are_its_own() {
    let sent = |error: &SqlError| error_of(&[hello(), error_frame(error)], After::Silent);
    let error = sent(&SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    assert_eq!((error.state.0, error.message.as_str()), ("22012", "division by zero"));
    assert_eq!(error.detail.as_deref(), Some("On node 1."));
    // The first frame may be one: the peer has failed before it began.
    let early = error_of(&[error_frame(&SqlError::cancelled())], After::Gone);
    assert_eq!(early.state, SqlState::QUERY_CANCELED);
    let unknown = sent(&SqlError::new(SqlState("ZZ123"), "nobody knows"));
    assert_eq!((unknown.state.0, unknown.message.as_str()), ("XX000", "nobody knows"));
    assert!(unknown.detail.is_some_and(|detail| detail.contains("ZZ123")));
    let long = sent(&SqlError::new(SqlState::DIVISION_BY_ZERO, "é".repeat(9000)));
    assert_eq!(long.message.len(), 4096);
    let no_text = [&b"22012"[..], &[0xFF, 0xFE]].concat();
    check(&[hello(), frame(Kind::Error, &no_text)], After::Silent, "08P01", "no text");
}
