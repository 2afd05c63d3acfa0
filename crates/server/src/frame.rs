//! Frames: a tag, a length, a body. The buffer grows with what has come.

use std::io;
use std::time::Duration;

use engine::{Account, Held};
use runtime::time;

use crate::stream::Stream;

/// Bytes received at once from a client that sends many: each time that all came, four times as many.
const CHUNK_BYTES_MAX: usize = 64 << 10;
/// Bytes received at once: there may be thousands of clients that say little, and of connections without a role that
/// say nothing.
const CHUNK_BYTES_MIN: usize = 512;
/// Longest start-up packet, as PostgreSQL's.
const STARTUP_BYTES_MAX: usize = 10_000;
/// Longest message. A statement has at most 64 MiB; parameters come on top.
pub(crate) const MESSAGE_BYTES_MAX: usize = 256 << 20;
/// Messages up to this length are in no account: each connection has memory for one.
const FREE_BYTES_MAX: usize = CHUNK_BYTES_MAX;

/// A message of the client.
#[derive(Debug)]
pub(crate) struct Frame {
    pub tag: u8,
    pub body: Vec<u8>,
    /// True if it was longer than any may be: its body has been thrown away as it came.
    pub is_too_long: bool,
    /// The memory of a long one.
    pub held: Option<Held>,
}

/// What has been received and not yet taken.
pub(crate) struct Input {
    bytes: Vec<u8>,
    taken: usize,
    /// Bytes to be received at once, and how far their number grows.
    chunk: usize,
    chunk_max: usize,
    /// Of the session, once the client has logged in.
    account: Option<Account>,
    /// The memory of the long message that is on its way.
    held: Option<Held>,
    /// Longest message of it; a longer one is thrown away.
    bytes_max: usize,
    /// The kind of a message that is thrown away, and how many bytes of it are still to come.
    thrown: Option<(u8, usize)>,
}

impl Default for Input {
    fn default() -> Input {
        let (chunk, chunk_max, bytes_max) = (CHUNK_BYTES_MIN, CHUNK_BYTES_MIN, MESSAGE_BYTES_MAX);
        let (account, held, thrown) = (None, None, None);
        Input { bytes: vec![], taken: 0, chunk, chunk_max, account, held, bytes_max, thrown }
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Input {
    /// Of a server that sends files, in messages of so many bytes at most.
    pub fn of_server(bytes_max: usize) -> Input {
        Input { chunk_max: CHUNK_BYTES_MAX, bytes_max, ..Input::default() }
    }

    fn available(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Whether a whole message has come already.
    pub fn has_frame(&self) -> bool {
        let bytes = self.available();
        if let Some((_, left)) = self.thrown {
            return bytes.len() >= left;
        }
        length(bytes.get(1..5)).is_some_and(|len| bytes.len() > len)
    }

    /// From now on it is a client's, whose messages have so many bytes at most.
    pub fn trust(&mut self, bytes_max: usize, account: Account) {
        (self.account, self.bytes_max) = (Some(account), bytes_max);
        self.chunk_max = CHUNK_BYTES_MAX;
    }

    /// Drops what has been taken.
    fn settle(&mut self) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
    }

    /// Receives some bytes; false at the end of the stream.
    async fn receive(&mut self, stream: &mut Stream) -> io::Result<bool> {
        self.settle();
        let filled = self.bytes.len();
        if filled == 0 && self.bytes.capacity() > 2 * self.chunk {
            // What a long message needed is not kept while the client is silent.
            self.bytes.shrink_to(self.chunk);
        }
        self.bytes.resize(filled + self.chunk, 0);
        let received = stream.recv(&mut self.bytes[filled..]).await;
        self.bytes.truncate(filled + *received.as_ref().unwrap_or(&0));
        let count = received?;
        self.chunk = match count {
            all if all == self.chunk => (4 * all).min(self.chunk_max),
            little if little < self.chunk / 4 => (self.chunk / 4).max(CHUNK_BYTES_MIN),
            _ => self.chunk,
        };
        Ok(count > 0)
    }

    /// Takes bytes that have come some other way.
    pub fn push(&mut self, bytes: &[u8]) {
        self.settle();
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes bytes; of many, which are all that has come, their memory too, instead of a copy.
    fn take(&mut self, count: usize) -> Vec<u8> {
        if count > CHUNK_BYTES_MAX && count == self.available().len() {
            self.settle();
            return std::mem::take(&mut self.bytes);
        }
        let taken = self.bytes[self.taken..self.taken + count].to_vec();
        self.taken += count;
        taken
    }

    /// Whether what comes begins with this byte; false at the end of the stream too.
    pub async fn begins_with(&mut self, stream: &mut Stream, byte: u8) -> io::Result<bool> {
        Ok(self.peek(stream).await? == Some(byte))
    }

    /// All that has come and was not taken.
    pub fn take_all(&mut self) -> Vec<u8> {
        self.take(self.available().len())
    }

    /// The body of a start-up packet; `None` at the end of the stream.
    pub async fn startup(&mut self, stream: &mut Stream) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.cut_startup()? {
                Some(body) => return Ok(Some(body)),
                None if self.receive(stream).await? => {}
                None => return Ok(None),
            }
        }
    }

    /// The body of a start-up packet, if it has come.
    ///
    /// # Errors
    /// `InvalidData` for a length that none has.
    pub fn cut_startup(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(word) = self.available().get(..4) else { return Ok(None) };
        let len = length(Some(word)).unwrap_or(0);
        if !(8..=STARTUP_BYTES_MAX).contains(&len) {
            return Err(malformed("invalid length of startup packet"));
        }
        if self.available().len() < len {
            return Ok(None);
        }
        self.take(4);
        Ok(Some(self.take(len - 4)))
    }

    /// The next message; `None` at the end of the stream.
    pub async fn next(&mut self, stream: &mut Stream) -> io::Result<Option<Frame>> {
        self.next_within(stream, self.bytes_max).await
    }

    /// The next message of a server that is not silent for so long: each byte that comes counts.
    ///
    /// # Errors
    /// `TimedOut` for a silent one.
    pub async fn next_unless_silent(
        &mut self,
        stream: &mut Stream,
        silence: Duration,
    ) -> io::Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.cut(self.bytes_max)? {
                return Ok(Some(frame));
            }
            let received = time::timeout(silence, self.receive(stream)).await;
            if !received.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
                return Ok(None);
            }
        }
    }

    /// The next message, which may have so many bytes at most.
    pub async fn next_within(
        &mut self,
        stream: &mut Stream,
        bytes_max: usize,
    ) -> io::Result<Option<Frame>> {
        loop {
            match self.cut(bytes_max)? {
                Some(frame) => return Ok(Some(frame)),
                None if self.receive(stream).await? => {}
                None => return Ok(None),
            }
        }
    }

    /// What kind of message comes next; `None` at the end of the stream.
    pub async fn peek(&mut self, stream: &mut Stream) -> io::Result<Option<u8>> {
        if let Some((tag, _)) = self.thrown {
            return Ok(Some(tag));
        }
        while self.available().is_empty() {
            if !self.receive(stream).await? {
                return Ok(None);
            }
        }
        Ok(Some(self.available()[0]))
    }

    /// The next message, if it has come.
    ///
    /// # Errors
    /// `InvalidData` for a length that none may have.
    pub fn cut(&mut self, bytes_max: usize) -> io::Result<Option<Frame>> {
        if self.thrown.is_some() {
            return Ok(self.throw());
        }
        let Some(word) = self.available().get(1..5) else { return Ok(None) };
        let len = length(Some(word)).unwrap_or(0);
        let is_statement = matches!(self.available().first(), Some(b'Q' | b'P' | b'B'));
        if is_statement && !self.has_room(len, bytes_max) {
            let head = self.take(5);
            self.thrown = Some((head[0], len - 4));
            return Ok(self.throw());
        }
        if !(4..=bytes_max).contains(&len) {
            return Err(malformed("invalid message length"));
        }
        if self.available().len() < 1 + len {
            return Ok(None);
        }
        let head = self.take(5);
        let (body, held) = (self.take(len - 4), self.held.take());
        Ok(Some(Frame { tag: head[0], body, is_too_long: false, held }))
    }

    /// Takes memory for a long message that has begun to come; whether there is some.
    fn has_room(&mut self, len: usize, bytes_max: usize) -> bool {
        let Some(account) = self.account.as_ref() else { return true };
        if len <= bytes_max && len > FREE_BYTES_MAX && self.held.is_none() {
            self.held = account.hold(len).ok();
            return self.held.is_some();
        }
        len <= bytes_max
    }

    /// Throws away what has come of a message that is too long; the message without its body when
    /// all has.
    fn throw(&mut self) -> Option<Frame> {
        let (tag, left) = self.thrown?;
        let come = left.min(self.available().len());
        self.taken += come;
        self.thrown = Some((tag, left - come)).filter(|(_, left)| *left > 0);
        let is_whole = self.thrown.is_none();
        is_whole.then(|| Frame { tag, body: vec![], is_too_long: true, held: None })
    }
}

fn length(bytes: Option<&[u8]>) -> Option<usize> {
    let word = bytes?.first_chunk::<4>()?;
    usize::try_from(i32::from_be_bytes(*word)).ok()
}
