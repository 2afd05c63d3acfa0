//! Sends of memory that belongs to the operation until nobody reads it any more.

use std::io;
use std::sync::Arc;

use super::node::Node;
use crate::buf::IoBuf;
use crate::net::interest::Purpose;

/// Bytes of a buffer, from `from` to `end`, for a socket: all of them, however long it takes.
pub(crate) struct Lending {
    pub(crate) node: Arc<Node>,
    pub(crate) purpose: Purpose,
    pub(crate) buf: IoBuf,
    pub(crate) from: usize,
    pub(crate) end: usize,
    /// The network reads the buffer itself, after the bytes have been taken.
    pub(crate) is_lent: bool,
    /// Bytes sent by the worker, where no ring does so.
    pub(crate) sent: usize,
    /// How many bytes were taken, once that is known.
    pub(crate) taken: Option<io::Result<usize>>,
    /// Of lent memory: whether it was copied all the same, once it is free.
    pub(crate) is_copied: Option<bool>,
}

impl Lending {
    /// The bytes to be sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buf.as_slice()[self.from..self.end]
    }

    /// Sends what there is room for, where no ring does so. True when all is sent, or nothing more
    /// can be.
    pub(crate) fn push(&mut self) -> bool {
        while self.taken.is_none() {
            let rest = &self.bytes()[self.sent..];
            let count = match rest.is_empty() {
                true => {
                    self.taken = Some(Ok(self.sent));
                    break;
                }
                false => self.node.send(rest),
            };
            match count {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) if self.sent > 0 => self.taken = Some(Ok(self.sent)),
                Err(error) => self.taken = Some(Err(error)),
            }
        }
        self.taken.is_some()
    }
}
