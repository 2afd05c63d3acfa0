//! Frames out of what comes over a stream.

use runtime::net::{Chunk, Receiver};
use types::{SqlError, SqlResult, SqlState};

use super::frame::{HEADER_BYTES, Header};

/// The frames of a peer.
pub(crate) struct Frames {
    receiver: Receiver,
    node: usize,
    /// Bytes that have come, of which those before `at` were read.
    chunk: Option<Chunk>,
    at: usize,
    buffer_bytes: usize,
}

impl Frames {
    /// The frames of the node of this number, with payloads of `buffer_bytes` at most.
    pub(crate) fn new(receiver: Receiver, node: usize, buffer_bytes: usize) -> Frames {
        Frames { receiver, node, chunk: None, at: 0, buffer_bytes }
    }

    /// The next frame; `None` where the stream ends before it. No memory is taken for a frame
    /// that `admit` refuses.
    ///
    /// # Errors
    /// 08006: the stream ends otherwise; 08P01: bytes that are no frame; those of `admit`.
    pub(crate) async fn next(
        &mut self,
        admit: impl FnOnce(&Header) -> SqlResult<()>,
    ) -> SqlResult<Option<(Header, Vec<u8>)>> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        if !self.fill(&mut bytes, HEADER_BYTES).await? {
            return if bytes.is_empty() { Ok(None) } else { Err(self.cut()) };
        }
        let header = bytes.first_chunk().ok_or_else(|| self.cut())?;
        let header = Header::read(header, self.buffer_bytes)?;
        admit(&header)?;
        let mut payload = Vec::with_capacity(header.len);
        if !self.fill(&mut payload, header.len).await? {
            return Err(self.cut());
        }
        header.check(&payload)?;
        Ok(Some((header, payload)))
    }

    /// Takes what comes until the stream ends, for nobody.
    pub(crate) async fn drain(&mut self) {
        self.chunk = None;
        while let Ok(Some(_)) = self.receiver.next().await {}
    }

    /// Reads on until `into` has `len` bytes; false where the stream ends before.
    async fn fill(&mut self, into: &mut Vec<u8>, len: usize) -> SqlResult<bool> {
        while into.len() < len {
            let Some(chunk) = &self.chunk else {
                match self.receiver.next().await {
                    Ok(Some(chunk)) => (self.chunk, self.at) = (Some(chunk), 0),
                    Ok(None) => return Ok(false),
                    Err(error) => return Err(lost(self.node, error)),
                }
                continue;
            };
            let rest = &chunk[self.at..];
            let count = rest.len().min(len - into.len());
            into.extend_from_slice(&rest[..count]);
            self.at += count;
            if count == rest.len() {
                self.chunk = None;
            }
        }
        Ok(true)
    }

    fn cut(&self) -> SqlError {
        lost(self.node, "its stream ended within a frame")
    }
}

/// The error of a peer that is gone: 08006.
pub(crate) fn lost(node: usize, how: impl std::fmt::Display) -> SqlError {
    let message = format!("the connection with node {node} of an exchange was lost");
    SqlError::new(SqlState::CONNECTION_FAILURE, message).with_detail(how.to_string())
}
