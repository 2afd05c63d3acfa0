//! Where the bytes of an answer go.

use std::io;

use runtime::IoBuf;
use runtime::time::{self, Duration, Instant};

use super::response::Length;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::restart::Turn;

/// Memory taken for a body before any of it has come, at most; more comes with the bytes.
const FIRST_BYTES_MAX: usize = 32 << 20;
/// And where the length is not known.
const FIRST_BYTES: usize = 64 << 10;
/// Bytes of one receive at most: the kernel copies no longer than some 100 us at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes that are worth waking for on a connection that was seen to be slow.
const SLOW_WAKE_BYTES: usize = 64 << 10;
/// So long it is looked whether a few bytes are there.
const LOOK: Duration = Duration::from_millis(20);
/// A line that says how long a chunk is, at most.
const CHUNK_LINE_BYTES_MAX: usize = 1 << 10;

/// Memory for a body.
#[derive(Debug)]
pub(crate) struct Sink {
    buf: Option<IoBuf>,
    start: usize,
    filled: usize,
    end: usize,
    /// The memory is the sink's own and grows up to `end`.
    grows: bool,
    /// The bytes that there will be, where the answer says it.
    announced: usize,
}

impl Sink {
    /// The caller's memory, to be filled from `start` to `end`.
    pub(crate) fn of(buf: IoBuf, start: usize, end: usize) -> Sink {
        assert!(start <= end && end <= buf.len(), "bytes go into the buffer");
        Sink { buf: Some(buf), start, filled: start, end, grows: false, announced: 0 }
    }

    /// Memory of its own for up to `limit` bytes.
    pub(crate) fn growing(limit: usize) -> Sink {
        Sink { buf: None, start: 0, filled: 0, end: limit, grows: true, announced: 0 }
    }

    /// Bytes that have come.
    pub(crate) fn count(&self) -> usize {
        self.filled - self.start
    }

    /// Whether it takes as many bytes as come.
    pub(crate) fn grows(&self) -> bool {
        self.grows
    }

    /// Bytes that it still takes.
    pub(crate) fn room(&self) -> usize {
        self.end - self.filled
    }

    /// Begins again.
    pub(crate) fn clear(&mut self) {
        self.filled = self.start;
    }

    /// What has come.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buf.as_ref().map_or(&[], |buf| &buf.as_slice()[self.start..self.filled])
    }

    /// The memory; a growing sink's has the length of what has come.
    pub(crate) fn into_buf(self) -> IoBuf {
        let mut buf = self.buf.unwrap_or_else(|| IoBuf::alloc(0));
        if self.grows {
            buf.truncate(self.filled);
        }
        buf
    }

    /// So many bytes more are said to come.
    pub(super) fn announce(&mut self, count: usize) {
        self.announced = self.filled + count;
    }

    /// With so many bytes there, makes room for `wanted` more; the memory that it has then.
    #[cfg(test)]
    pub(super) async fn grow_to(&mut self, filled: usize, wanted: usize) -> usize {
        self.filled = filled;
        self.make_room(wanted).await;
        self.buf.as_ref().map_or(0, IoBuf::len)
    }

    /// Makes room for `wanted` more bytes, or for some of them. What is announced gets its memory once
    /// a first part has come; what is not, twice as much as it has.
    async fn make_room(&mut self, wanted: usize) {
        if !self.grows {
            return;
        }
        let wanted = wanted.min(self.room());
        let have = self.buf.as_ref().map_or(0, IoBuf::len);
        if have > self.filled || wanted == 0 {
            return;
        }
        let more = match have {
            0 => wanted.min(FIRST_BYTES_MAX),
            _ if self.announced > have => self.announced - have,
            _ => wanted.max(have).min(self.room()),
        };
        let mut larger = IoBuf::alloc(have + more);
        let place = &mut larger.as_mut_slice()[..self.filled];
        for (to, from) in place.chunks_mut(CHUNK_BYTES).zip(self.bytes().chunks(CHUNK_BYTES)) {
            to.copy_from_slice(from);
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        self.buf = Some(larger);
    }

    /// Receives `count` bytes of a body.
    async fn recv(&mut self, from: &mut Connection, count: usize, pace: &Pace<'_>) -> Result<()> {
        let target = self.filled + count;
        let (mut window, mut patience) = (Window::new(), Patience::Usual);
        while self.filled < target {
            self.make_room(target - self.filled).await;
            let buf = self.buf.take().unwrap_or_else(|| IoBuf::alloc(0));
            let end = target.min(buf.len()).min(self.filled + CHUNK_BYTES);
            let (wake_bytes, until) = patience.of(pace);
            let wake_bytes = wake_bytes.min(target - self.filled);
            let received = from.recv_body(buf, self.filled..end, wake_bytes, until).await;
            self.buf = Some(received.1);
            match received.0 {
                Ok(0) => {
                    let what = format!("{} bytes came instead of more", self.count());
                    return Err(Error::new(ErrorKind::Truncated, what));
                }
                Ok(received) => {
                    self.filled += received;
                    patience = patience.after_some();
                    window.judge(received, pace)?;
                }
                // It is slow, and goes on all the same.
                Err(error) if error.kind() == io::ErrorKind::TimedOut && pace.goes_on() => {}
                Err(error) => match patience.after_none(pace) {
                    Some(next) if error.kind() == io::ErrorKind::TimedOut => patience = next,
                    _ => return Err(Error::io("receiving a body", &error)),
                },
            }
        }
        Ok(())
    }
}

/// How a receive waits. Many bytes are waited for at first; who has waited long takes the few that are
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    Usual,
    Looking,
    Slow,
}

impl Patience {
    /// Bytes that are worth waking for, and until when.
    fn of(self, pace: &Pace<'_>) -> (usize, Instant) {
        match self {
            Patience::Usual => (pace.wake_bytes, pace.until_asked()),
            Patience::Looking => (1, pace.until_asked().min(time::now() + LOOK)),
            Patience::Slow => (pace.wake_bytes.min(SLOW_WAKE_BYTES), pace.until_asked()),
        }
    }

    fn after_some(self) -> Patience {
        if self == Patience::Usual { Patience::Usual } else { Patience::Slow }
    }

    /// `None` when nothing can be hoped for any more.
    fn after_none(self, pace: &Pace<'_>) -> Option<Patience> {
        let is_over = time::now() >= pace.deadline || pace.turn.is_some_and(Turn::is_given_up);
        let hopes = self != Patience::Looking && !is_over;
        hopes.then_some(Patience::Looking)
    }
}

/// How long to wait for the bytes of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'a> {
    /// The end of the attempt.
    pub(crate) deadline: Instant,
    /// The end of the request, which is the latest that the attempt can be put off to.
    pub(crate) latest: Instant,
    /// Bytes for which the deadline has time already.
    pub(crate) counted: u64,
    /// When the attempt may be given up for another one.
    pub(crate) turn: Option<&'a Turn<'a>>,
    /// So long nothing, or next to nothing, may come.
    pub(crate) stall: Duration,
    /// Fewer bytes a second than this are next to nothing.
    pub(crate) rate_min: u64,
    /// Bytes that are worth waking for.
    pub(crate) wake_bytes: usize,
}

impl Pace<'_> {
    /// Until when something has to come.
    pub(super) fn until(&self) -> Instant {
        self.deadline.min(time::now() + self.stall)
    }

    /// The same, or until it is asked whether to go on.
    fn until_asked(&self) -> Instant {
        let until = self.until();
        self.turn.map_or(until, |turn| turn.cap(until))
    }

    /// Whether a wait that has ended goes on.
    fn goes_on(&self) -> bool {
        self.turn.is_some_and(Turn::goes_on)
    }

    /// So many bytes are to come: the attempt gets the time that they take at least.
    fn allow(&mut self, count: usize) {
        let count = count as u64;
        let seconds = count.saturating_sub(self.counted) as f64 / self.rate_min as f64;
        self.counted = self.counted.saturating_sub(count);
        self.deadline = (self.deadline + Duration::from_secs_f64(seconds)).min(self.latest);
    }
}

/// What has come within one [`Pace::stall`].
struct Window {
    begun: Instant,
    count: usize,
}

impl Window {
    fn new() -> Window {
        Window { begun: time::now(), count: 0 }
    }

    /// A connection that is all but dead is given up.
    fn judge(&mut self, received: usize, pace: &Pace<'_>) -> Result<()> {
        self.count += received;
        let time = self.begun.elapsed();
        if time < pace.stall {
            return Ok(());
        }
        let least = u128::from(pace.rate_min) * time.as_nanos() / 1_000_000_000;
        if (self.count as u128) < least {
            let what = format!("only {} bytes came in {} ms", self.count, time.as_millis());
            return Err(Error::new(ErrorKind::TimedOut, what));
        }
        *self = Window::new();
        Ok(())
    }
}

/// Receives a whole body.
///
/// # Errors
/// `TooLarge` when it does not fit the sink, `Truncated` when the stream ends before it.
pub(crate) async fn receive(
    from: &mut Connection,
    length: Length,
    sink: &mut Sink,
    mut pace: Pace<'_>,
) -> Result<()> {
    match length {
        Length::Known(length) => {
            let count = fits(length, sink)?;
            sink.announce(count);
            pace.allow(count);
            sink.recv(from, count, &pace).await
        }
        Length::Chunked => {
            sink.announced = 0;
            receive_chunks(from, sink, pace).await
        }
        Length::Unknown => Err(Error::protocol(
            "the answer does not say how long it is, so its end cannot be known",
        )),
    }
}

fn fits(length: u64, sink: &Sink) -> Result<usize> {
    let room = sink.room();
    usize::try_from(length).ok().filter(|count| *count <= room).ok_or_else(|| {
        let what = format!("a body of {length} bytes, where {room} are allowed");
        Error::new(ErrorKind::TooLarge, what)
    })
}

async fn receive_chunks(from: &mut Connection, sink: &mut Sink, mut pace: Pace<'_>) -> Result<()> {
    loop {
        let length = chunk_length(&line(from, &pace).await?)?;
        if length == 0 {
            // What is told behind the last chunk is of no use to us.
            while !line(from, &pace).await?.is_empty() {}
            return Ok(());
        }
        let count = fits(length, sink)?;
        if sink.grows && sink.buf.is_none() {
            sink.make_room(FIRST_BYTES.max(count)).await;
        }
        pace.allow(count);
        sink.recv(from, count, &pace).await?;
        if !line(from, &pace).await?.is_empty() {
            return Err(Error::protocol("a chunk is longer than it says"));
        }
    }
}

/// The next line, without its end.
async fn line(from: &mut Connection, pace: &Pace<'_>) -> Result<Vec<u8>> {
    loop {
        if let Some(at) = from.pending().windows(2).position(|two| two == b"\r\n") {
            let line = from.pending()[..at].to_vec();
            from.consume(at + 2);
            return Ok(line);
        }
        if from.pending().len() > CHUNK_LINE_BYTES_MAX {
            return Err(Error::protocol("a line of a chunk does not end"));
        }
        match from.fill(pace.until_asked()).await {
            Ok(0) => {
                return Err(Error::new(ErrorKind::Truncated, "the stream ends within a chunk"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::TimedOut && pace.goes_on() => {}
            Err(error) => return Err(Error::io("receiving a chunk", &error)),
        }
    }
}

pub(super) fn chunk_length(line: &[u8]) -> Result<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let wrong = || Error::protocol("a chunk without a length");
    let is_hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).map_err(|_| wrong())?;
    u64::from_str_radix(text, 16).ok().filter(|_| is_hex).ok_or_else(wrong)
}
