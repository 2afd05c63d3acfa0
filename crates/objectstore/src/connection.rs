//! One connection to a store: bytes in both directions, encrypted or not. What was received beyond
//! what was asked for waits in the connection.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use runtime::IoBuf;
use runtime::net::{Address, Socket};
use runtime::time::{self, Instant};

use crate::tls::{self, Channel};

/// Bytes received at once while the head of an answer is awaited: what of the body comes along is
/// copied.
const HEAD_CHUNK_BYTES: usize = 4 << 10;
/// Bytes handed to the kernel at once when a body is sent, so that a call takes no long.
const SEND_CHUNK_BYTES: usize = 256 << 10;

/// A connection that is made.
pub(crate) struct Connection {
    socket: Socket,
    channel: Option<Box<Channel>>,
    /// Received, and not yet taken.
    pending: Vec<u8>,
    /// How many bytes wake a receive.
    wake_bytes: usize,
    pub(crate) peer: SocketAddr,
    /// Requests that it has served.
    pub(crate) served: u32,
    pub(crate) idle_since: Instant,
}

impl Connection {
    /// Connects and, where there is a configuration, shakes hands.
    pub(crate) async fn open(
        peer: SocketAddr,
        secure: Option<(&Arc<tls::Config>, &tls::Name)>,
        deadline: Instant,
    ) -> io::Result<Connection> {
        let socket = Socket::connect_until(&Address::Tcp(peer), deadline).await?;
        let channel = match secure {
            None => None,
            Some((config, name)) => {
                Some(Box::new(Channel::open(config, name, &socket, deadline).await?))
            }
        };
        let idle_since = time::now();
        let (pending, wake_bytes, served) = (Vec::new(), 1, 0);
        Ok(Connection { socket, channel, pending, wake_bytes, peer, served, idle_since })
    }

    /// Sends all of a short text.
    pub(crate) async fn send_text(&mut self, bytes: Vec<u8>, deadline: Instant) -> io::Result<()> {
        match &self.channel {
            Some(_) => self.send_body(&bytes, deadline).await,
            None => within(deadline, async { self.socket.send_vec(bytes).await.0 }).await,
        }
    }

    /// Sends all of a body.
    pub(crate) async fn send_body(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<()> {
        for piece in bytes.chunks(SEND_CHUNK_BYTES) {
            match &mut self.channel {
                Some(channel) => within(deadline, channel.send(&self.socket, piece)).await?,
                None => within(deadline, self.socket.send_all(piece)).await?,
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Ok(())
    }

    /// Bytes that have come and were not taken.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Takes so many of the pending bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.pending.drain(..count);
    }

    /// Waits for more pending bytes. Returns how many came; 0 is the end of the stream.
    pub(crate) async fn fill(&mut self, deadline: Instant) -> io::Result<usize> {
        if let Some(channel) = &mut self.channel {
            return channel.recv_pending(&self.socket, &mut self.pending, deadline).await;
        }
        self.wake_at(1)?;
        let filled = self.pending.len();
        within(deadline, self.socket.readable()).await?;
        self.pending.resize(filled + HEAD_CHUNK_BYTES, 0);
        let received = within(deadline, self.socket.recv(&mut self.pending[filled..])).await;
        self.pending.truncate(filled + *received.as_ref().unwrap_or(&0));
        received
    }

    /// Receives a part of a body into `buf`: all of `range`, or less at the deadline or the end of the
    /// stream. `wake_bytes` have come when the worker looks at them.
    pub(crate) async fn recv_body(
        &mut self,
        mut buf: IoBuf,
        range: Range<usize>,
        wake_bytes: usize,
        deadline: Instant,
    ) -> (io::Result<usize>, IoBuf) {
        if !self.pending.is_empty() {
            let count = self.pending.len().min(range.len());
            buf.as_mut_slice()[range.start..range.start + count]
                .copy_from_slice(&self.pending[..count]);
            self.consume(count);
            return (Ok(count), buf);
        }
        if let Some(channel) = &mut self.channel {
            let into = &mut buf.as_mut_slice()[range];
            let count = channel.recv(&self.socket, into, &mut self.pending, deadline).await;
            return (count, buf);
        }
        match self.wake_at(wake_bytes.min(range.len())) {
            Ok(()) => self.socket.recv_into(buf, range, deadline).await,
            Err(error) => (Err(error), buf),
        }
    }

    /// Bytes of the segments that have come, where that is known.
    pub(crate) fn segment_bytes(&self) -> Option<usize> {
        self.socket.segment_bytes()
    }

    fn wake_at(&mut self, bytes: usize) -> io::Result<()> {
        let bytes = bytes.max(1);
        if self.wake_bytes != bytes {
            self.socket.wake_at(bytes)?;
            self.wake_bytes = bytes;
        }
        Ok(())
    }

    /// Whether nothing has come meanwhile, not even the end; otherwise it is of no use any more.
    pub(crate) fn is_quiet(&self) -> bool {
        let came = self.socket.recv_now(&mut [0]);
        came.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether nothing is left over from the last answer.
    pub(crate) fn is_clean(&self) -> bool {
        self.pending.is_empty() && self.channel.as_ref().is_none_or(|channel| channel.is_clean())
    }
}

/// Runs a future until the deadline.
pub(crate) async fn within<T>(
    deadline: Instant,
    future: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    match time::timeout(deadline - time::now(), future).await {
        Ok(result) => result,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
