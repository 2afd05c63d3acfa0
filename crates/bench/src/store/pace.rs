//! Bytes of a file, sent no faster than they may be.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Pieces a second of a connection with a rate: 10 ms are short beside what is injected before an answer.
const PIECES_PER_S: u64 = 100;

/// Bytes of a piece where only all connections together have a rate.
const PIECE_BYTES: u64 = 512 << 10;

/// What all connections together may send.
pub(super) struct Pace {
    /// Bytes a second; 0 for as many as there are.
    rate: u64,
    /// When what was promised will have been sent.
    due: Mutex<Instant>,
}

impl Pace {
    pub(super) fn new(rate: u64) -> Pace {
        Pace { rate, due: Mutex::new(Instant::now()) }
    }

    /// When so many bytes more will have been sent.
    fn promise(&self, count: u64) -> Instant {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        // What was not used is lost.
        *due = (*due).max(Instant::now()) + time_of(count, self.rate);
        *due
    }
}

fn time_of(count: u64, rate: u64) -> Duration {
    match rate {
        0 => Duration::ZERO,
        rate => Duration::from_secs_f64(count as f64 / rate as f64),
    }
}

/// Sends bytes of a file at so many a second, and no more than `cap` allows for all.
pub(super) fn send(
    output: &mut TcpStream,
    mut file: &File,
    range: Range<u64>,
    rate: u64,
    cap: &Pace,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(range.start))?;
    let (begun, count) = (Instant::now(), range.end - range.start);
    let piece = match (rate, cap.rate) {
        (0, 0) => count,
        (0, _) => PIECE_BYTES,
        (rate, _) => (rate / PIECES_PER_S).max(1),
    };
    let mut sent = 0;
    while sent < count {
        let next = piece.min(count - sent);
        sent += next;
        // Its last byte comes when it may have come; so no request is faster for being small.
        let due = (begun + time_of(sent, rate)).max(cap.promise(next));
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // The kernel copies from file to socket.
        let copied = io::copy(&mut (&mut file).take(next), output)?;
        if copied < next {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}
