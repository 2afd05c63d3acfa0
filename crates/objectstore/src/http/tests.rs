//! Heads that are read, and those that must not be.

use proptest::prelude::*;

use super::body::chunk_length;
use super::response::Length;
use super::*;
use crate::error::ErrorKind;

fn check(head: &str, expected: Option<(u16, Length, bool)>) {
    let bytes = head.replace('\n', "\r\n");
    let parsed = Head::parse(bytes.as_bytes());
    let parsed =
        parsed.map(|parsed| parsed.map(|(head, len)| (head.status, head.length, head.keeps, len)));
    match expected {
        Some((status, length, keeps)) => {
            assert_eq!(
                parsed.expect("a head"),
                Some((status, length, keeps, bytes.len())),
                "{head}"
            );
        }
        None => assert_eq!(parsed.expect_err("no head").kind(), ErrorKind::Protocol, "{head}"),
    }
}

#[test]
fn heads_are_read() {
    check("HTTP/1.1 200 OK\nContent-Length: 5\n\n", Some((200, Length::Known(5), true)));
    check(
        "HTTP/1.1 206 \ncontent-length: 5\nContent-Length: 5\n\n",
        Some((206, Length::Known(5), true)),
    );
    check("HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\n", Some((200, Length::Chunked, true)));
    check("HTTP/1.1 200 OK\nConnection: Close\n\n", Some((200, Length::Unknown, false)));
    check("HTTP/1.0 200 OK\ncontent-length: 0\n\n", Some((200, Length::Known(0), false)));
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for headers in [
        "content-length: 5\ncontent-length: 6",
        "content-length: 5\ntransfer-encoding: chunked",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: chunked\ntransfer-encoding: chunked",
        "content-length: +5",
        "content-length: -5",
        "content-length: 5 5",
        "content-length:",
        "content-length: 99999999999999999999999",
    ] {
        check(&format!("HTTP/1.1 200 OK\n{headers}\n\n"), None);
    }
    check("SSH-2.0-OpenSSH\n\n", None);
}

#[test]
fn ranges_are_read() {
    let range = |value: &str| {
        let head = format!("HTTP/1.1 206 So\r\ncontent-range: {value}\r\n\r\n");
        Head::parse(head.as_bytes()).expect("a head").expect("whole").0.content_range()
    };
    assert_eq!(range("bytes 5-9/10"), Some((5, 9, 10)));
    for wrong in
        ["bytes 5-9/*", "bytes 9-5/10", "bytes 5-10/10", "bytes */10", "5-9/10", "bytes -9/10"]
    {
        assert_eq!(range(wrong), None, "{wrong}");
    }
}

#[test]
fn lengths_of_chunks_are_read() {
    for (line, expected) in [
        ("0", Some(0)),
        ("1aF", Some(0x1af)),
        ("5;name=value", Some(5)),
        ("5 ", Some(5)),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("x", None),
        ("fffffffffffffffff", None),
    ] {
        assert_eq!(chunk_length(line.as_bytes()).ok(), expected, "{line}");
    }
}

#[test]
fn memory_comes_with_the_bytes_and_then_at_once() {
    use runtime::sim::Disk;
    use runtime::{Config, RingChoice, Runtime};

    const MB: usize = 1 << 20;
    let ring = RingChoice::Sim(Disk::new(1));
    let config = Config { workers: 1, ring, ..Config::default() };
    Runtime::start(config).expect("a runtime").block_on(|| async {
        let mut sink = Sink::growing(1 << 30);
        sink.announce(900 * MB);
        assert_eq!(sink.grow_to(0, 900 * MB).await, 32 * MB, "so much before any byte has come");
        assert_eq!(sink.grow_to(32 * MB, 868 * MB).await, 900 * MB, "copied once");
        let mut sink = Sink::growing(3 * MB);
        let mut sizes = Vec::new();
        for filled in [0, MB, 2 * MB] {
            sizes.push(sink.grow_to(filled, MB).await);
        }
        assert_eq!(sizes, [MB, 2 * MB, 3 * MB], "no more than is allowed");
    });
}

proptest! {
    #[test]
    fn no_head_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Head::parse(&bytes);
        let _ = Head::parse(&[b"HTTP/1.1 200 OK\r\n", bytes.as_slice()].concat());
        let _ = chunk_length(&bytes);
    }
}
