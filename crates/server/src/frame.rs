//! Frames: a tag, a length, a body. The buffer grows with what has come.

use std::io;

use crate::stream::Stream;

/// Bytes received at once from a client.
const CHUNK_BYTES: usize = 16 << 10;
/// Bytes received at once from a stranger: there may be thousands that say nothing.
const STRANGER_CHUNK_BYTES: usize = 512;
/// Longest start-up packet, as PostgreSQL's.
const STARTUP_BYTES_MAX: usize = 10_000;
/// Longest message. A statement has at most 64 MiB; parameters come on top.
pub(crate) const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// A message of the client.
#[derive(Debug)]
pub(crate) struct Frame {
    pub tag: u8,
    pub body: Vec<u8>,
}

/// What has been received and not yet taken.
#[derive(Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    taken: usize,
    /// Whether the client has logged in.
    is_client: bool,
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Input {
    fn available(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Whether a whole message has come already.
    pub fn has_frame(&self) -> bool {
        let bytes = self.available();
        length(bytes.get(1..5)).is_some_and(|len| bytes.len() > len)
    }

    /// From now on it is a client's.
    pub fn trust(&mut self) {
        self.is_client = true;
    }

    /// Receives until `count` bytes are there; false at the end of the stream.
    async fn fill(&mut self, stream: &mut Stream, count: usize) -> io::Result<bool> {
        while self.available().len() < count {
            self.bytes.drain(..self.taken);
            self.taken = 0;
            let filled = self.bytes.len();
            let chunk = if self.is_client { CHUNK_BYTES } else { STRANGER_CHUNK_BYTES };
            self.bytes.resize(filled + chunk, 0);
            let received = stream.recv(&mut self.bytes[filled..]).await;
            self.bytes.truncate(filled + *received.as_ref().unwrap_or(&0));
            if received? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.bytes[self.taken..self.taken + count].to_vec();
        self.taken += count;
        taken
    }

    /// Whether what comes begins with this byte; false at the end of the stream too.
    pub async fn begins_with(&mut self, stream: &mut Stream, byte: u8) -> io::Result<bool> {
        Ok(self.fill(stream, 1).await? && self.available()[0] == byte)
    }

    /// All that has come and was not taken.
    pub fn take_all(&mut self) -> Vec<u8> {
        self.take(self.available().len())
    }

    /// The body of a start-up packet; `None` at the end of the stream.
    pub async fn startup(&mut self, stream: &mut Stream) -> io::Result<Option<Vec<u8>>> {
        if !self.fill(stream, 4).await? {
            return Ok(None);
        }
        let len = length(Some(&self.take(4))).unwrap_or(0);
        if !(8..=STARTUP_BYTES_MAX).contains(&len) {
            return Err(malformed("invalid length of startup packet"));
        }
        if !self.fill(stream, len - 4).await? {
            return Ok(None);
        }
        Ok(Some(self.take(len - 4)))
    }

    /// The next message; `None` at the end of the stream.
    pub async fn next(&mut self, stream: &mut Stream) -> io::Result<Option<Frame>> {
        self.next_within(stream, MESSAGE_BYTES_MAX).await
    }

    /// The next message, which may have so many bytes at most.
    pub async fn next_within(
        &mut self,
        stream: &mut Stream,
        bytes_max: usize,
    ) -> io::Result<Option<Frame>> {
        if !self.fill(stream, 5).await? {
            return Ok(None);
        }
        let len = length(self.available().get(1..5)).unwrap_or(0);
        if !(4..=bytes_max).contains(&len) {
            return Err(malformed("invalid message length"));
        }
        if !self.fill(stream, 1 + len).await? {
            return Ok(None);
        }
        let head = self.take(5);
        Ok(Some(Frame { tag: head[0], body: self.take(len - 4) }))
    }
}

fn length(bytes: Option<&[u8]>) -> Option<usize> {
    let word = bytes?.first_chunk::<4>()?;
    usize::try_from(i32::from_be_bytes(*word)).ok()
}
