//! Receiving piece by piece.

use std::collections::VecDeque;
use std::io;

use super::inflow::Inflow;
use super::pool::{BufferPool, Chunk};
use super::pools;
use super::socket::Socket;
use crate::op::{Op, Outcome};
use crate::pending::{Pending, begin};

/// The input of a socket, in buffers of a pool. There is one for a socket at a time. Dropped, it
/// may take bytes off the stream that nobody sees, so that the socket is of no use for receiving
/// any more.
pub struct Receiver {
    socket: Socket,
    pool: BufferPool,
    under_way: Option<Pending>,
    is_over: bool,
}

impl Socket {
    /// Receives into the buffers of `pool`, which belongs to the same worker.
    pub fn receiver(&self, pool: &BufferPool) -> Receiver {
        Receiver { socket: self.clone(), pool: pool.clone(), under_way: None, is_over: false }
    }
}

impl Receiver {
    /// The next bytes; `None` at the end of the stream. Dropping the future loses nothing: the next
    /// call goes on.
    ///
    /// # Errors
    /// `ConnectionReset` and what else the kernel says.
    pub async fn next(&mut self) -> io::Result<Option<Chunk>> {
        while !self.is_over {
            let Some(under_way) = &mut self.under_way else {
                self.begin().await;
                continue;
            };
            match under_way.part(arrived).await {
                Ok(chunk) => return Ok(Some(chunk)),
                Err(ended) => {
                    self.under_way = None;
                    if let Some(chunk) = self.ended(ended)? {
                        return Ok(Some(chunk));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Asks for bytes, once there is a buffer for them.
    async fn begin(&mut self) {
        loop {
            self.pool.vacant().await;
            let pool = self.pool.0.clone();
            let named = if pool.is_named() { pool.claim() } else { None };
            if pool.is_named() && named.is_none() {
                continue;
            }
            let (node, purpose) = self.socket.parts();
            let arrived = VecDeque::new();
            self.under_way =
                Some(begin(Op::Stream(Inflow { node, purpose, pool, named, arrived })));
            return;
        }
    }

    /// The meaning of the end of a request: bytes in the buffer that it named, the end of the
    /// stream, or that the next one is to be made.
    fn ended(&mut self, (outcome, op): (Outcome, Op)) -> io::Result<Option<Chunk>> {
        let Op::Stream(inflow) = op else { unreachable!("a receive stays one") };
        match outcome.into_count() {
            Ok(0) => {
                self.is_over = true;
                Ok(None)
            }
            Ok(count) => Ok(inflow.named.map(|mut chunk| {
                chunk.set_len(count);
                chunk
            })),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                pools::note_exhausted();
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => {
                self.is_over = true;
                Err(error)
            }
        }
    }
}

fn arrived(op: &mut Op) -> Option<Chunk> {
    let Op::Stream(inflow) = op else { unreachable!("a receive stays one") };
    inflow.arrived.pop_front()
}
