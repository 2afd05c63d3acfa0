//! Runs of bytes that are written, how transfers are cut at their ends, and who writes when.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::Written;
use crate::fs::{self, File, OpenOptions, Scratch};
use crate::{Config, IoBuf, RingChoice, Runtime};

fn check(notes: &[(u64, u64)], runs: &[(u64, u64)], pieces: &[(u64, u64, u64, bool)]) {
    let mut written = Written::new(0);
    notes.iter().for_each(|&(start, end)| written.note(start, end));
    assert_eq!(written.runs.iter().map(|(&from, &to)| (from, to)).collect::<Vec<_>>(), runs);
    for &(offset, most, len, is_written) in pieces {
        let piece = written.piece(offset, most);
        assert_eq!((piece.len, piece.is_written), (len, is_written), "{offset}, {most}");
    }
}

#[test]
fn runs_that_touch_are_one_and_pieces_end_where_the_file_changes() {
    check(&[], &[], &[(0, 8, 8, false)]);
    check(&[(4, 4)], &[], &[(0, 8, 8, false)]);
    let pieces = [(0, 20, 4, false), (4, 2, 2, true), (6, 20, 2, true), (8, 20, 4, false)];
    check(&[(4, 8), (12, 16)], &[(4, 8), (12, 16)], &pieces);
    check(&[(4, 8), (8, 12)], &[(4, 12)], &[(3, 20, 1, false), (12, 5, 5, false)]);
    check(&[(8, 12), (4, 8)], &[(4, 12)], &[]);
    check(&[(4, 8), (12, 16), (6, 13)], &[(4, 16)], &[]);
    check(&[(4, 16), (6, 13)], &[(4, 16)], &[]);
    check(&[(0, 2), (4, 8), (12, 16), (3, 20)], &[(0, 2), (3, 20)], &[]);
}

/// Writers of an overlay take turns: one that is dropped while it waits, or while it writes, keeps
/// nobody from the turn behind it.
#[test]
fn a_writer_that_is_dropped_gives_its_turn_on() {
    let path = std::env::temp_dir().join(format!("dovetail-turns-{}", std::process::id()));
    let config = Config { workers: 1, ring: RingChoice::Threads, ..Config::default() };
    Runtime::start(config).unwrap().block_on(move || async move {
        let plain = OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() };
        let below = File::open(&path, plain).await.unwrap();
        below.write_all_at(filled(1), 0).await.0.unwrap();
        let laid = OpenOptions { read: true, overlay: Some(Scratch::Beside), ..plain };
        let file = File::open(&path, laid).await.unwrap();
        let mut held = Box::pin(file.keep(0, LEN as u64));
        assert!(is_pending(&mut held).await, "the turn is taken while bytes are kept");
        let mut left = Box::pin(file.write_all_at(filled(2), 0));
        let mut next = Box::pin(file.write_all_at(filled(3), 0));
        assert!(is_pending(&mut left).await && is_pending(&mut next).await, "both wait");
        drop(left);
        drop(held);
        next.await.0.unwrap();
        let (read, bytes) = file.read_exact_at(IoBuf::alloc(LEN), 0).await;
        read.unwrap();
        assert_eq!(bytes.as_slice(), filled(3).as_slice());
        let (read, bytes) = below.read_exact_at(IoBuf::alloc(LEN), 0).await;
        read.unwrap();
        assert_eq!(bytes.as_slice(), filled(1).as_slice());
        fs::remove(&path).await.unwrap();
    });
}

const LEN: usize = 4096;

fn filled(byte: u8) -> IoBuf {
    IoBuf::copy_of(&[byte; LEN])
}

async fn is_pending<F: Future + Unpin>(work: &mut F) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *work).poll(cx).is_pending())).await
}
