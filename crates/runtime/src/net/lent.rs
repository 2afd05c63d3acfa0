//! Sending a buffer, and getting it back when nobody reads it any more.

use std::io;
use std::ops::Range;

use super::lending::Lending;
use super::socket::Socket;
use crate::buf::IoBuf;
use crate::op::{Op, Outcome};
use crate::pending::{Pending, begin};
use crate::stats::bump;
use crate::worker;

/// How the bytes of a buffer were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendReport {
    /// Bytes sent.
    pub bytes: usize,
    /// Of these, those in memory that was lent to the kernel.
    pub lent_bytes: usize,
    /// Of those, the ones that the kernel says it has copied all the same.
    pub copied_bytes: usize,
}

/// A buffer of which all bytes have been taken and that may still be read: by the kernel, until the
/// peer has them. Dropped, the buffer is freed when nobody reads it any more, and never earlier.
#[must_use = "the buffer comes back"]
pub struct Lent(State, SendReport);

enum State {
    Free(IoBuf),
    Read(Pending),
}

impl Lent {
    /// Waits until nobody reads the buffer any more. Where it was not lent it is here already.
    pub async fn back(self) -> (IoBuf, SendReport) {
        let Lent(state, mut report) = self;
        let ended = match state {
            State::Free(buf) => return (buf, report),
            State::Read(pending) => pending.await,
        };
        let lending = lending_of(ended);
        report.add(&lending);
        (lending.buf, report)
    }

    /// True if the buffer may still be read.
    pub fn is_read(&self) -> bool {
        matches!(self.0, State::Read(_))
    }
}

impl SendReport {
    fn add(&mut self, lending: &Lending) {
        let Some(Ok(bytes)) = &lending.taken else { return };
        self.bytes += bytes;
        if lending.is_lent {
            self.lent_bytes += bytes;
            self.copied_bytes += if lending.is_copied == Some(true) { *bytes } else { 0 };
        }
    }
}

impl Socket {
    /// Sends the bytes of `buf` in `range`. It returns when all of them have been taken; then the
    /// next send may begin. The buffer comes back by [`Lent::back`]: from
    /// `Tuning::zero_copy_bytes_min` on it is lent to the kernel, if `Tuning::zero_copy` says so
    /// and the kernel can, and until then it is not to be touched. Only one send goes on at a time.
    /// It begins when first polled; dropped, it may have sent a part, so that the socket is of no
    /// use for sending any more.
    ///
    /// # Errors
    /// As [`Socket::send`]; some bytes may have been sent by then.
    ///
    /// # Panics
    /// When the range does not lie within the buffer.
    pub async fn send_buf(&self, mut buf: IoBuf, range: Range<usize>) -> (io::Result<()>, Lent) {
        assert!(range.start <= range.end && range.end <= buf.len(), "bytes come from the buffer");
        let (mut from, end) = (range.start, range.end);
        let (mut report, mut may_lend) = (SendReport::default(), true);
        while from < end {
            let is_lent = may_lend && worker::with(|w| w.lends(end - from));
            let (node, purpose) = self.parts();
            let (sent, taken, is_copied) = (0, None, None);
            let lending =
                Lending { node, purpose, buf, from, end, is_lent, sent, taken, is_copied };
            let mut pending = begin(Op::Lend(lending));
            // The first answer: all has been taken, and is still read.
            let first = pending.part(|op| all_taken(op, end - from)).await;
            let ended = match first {
                Ok(()) => return (Ok(()), Lent(State::Read(pending), report)),
                Err(ended) => ended,
            };
            let mut lending = lending_of(ended);
            report.add(&lending);
            let taken = lending.taken.take().expect("an ended send has a result");
            buf = lending.buf;
            match taken {
                Ok(count) => from += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_lent && refuses_to_borrow(&error) => {
                    worker::with(|w| bump(&w.counters().zero_copy_refused, 1));
                    may_lend = false;
                }
                Err(error) => return (Err(error), Lent(State::Free(buf), report)),
            }
        }
        (Ok(()), Lent(State::Free(buf), report))
    }
}

/// True if memory of that kind is not borrowed: the socket has no such sends, or the limit of
/// locked memory is reached.
fn refuses_to_borrow(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOMEM | libc::ENOBUFS))
}

/// True if all bytes have been taken and the buffer is still read. With fewer the end is waited
/// for.
fn all_taken(op: &mut Op, bytes: usize) -> Option<()> {
    let Op::Lend(lending) = op else { unreachable!("a send stays one") };
    let is_taken = matches!(lending.taken, Some(Ok(count)) if count == bytes);
    (lending.is_lent && is_taken).then_some(())
}

/// The state of a send.
fn lending_of((outcome, op): (Outcome, Op)) -> Lending {
    let Op::Lend(mut lending) = op else { unreachable!("a send stays one") };
    // Memory that was not lent is free with the result.
    if lending.taken.is_none() {
        lending.taken = Some(outcome.into_count());
    }
    lending
}
