//! Connected sockets.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::address::{Address, Raw};
use super::attempt::Attempt;
use super::node::Node;
use crate::buf::IoBuf;
use crate::net::descriptor;
use crate::net::interest::{Interest, Purpose, Shutdown};
use crate::net::readiness::{ready, ready_until, retry};
use crate::op::{Incoming, Op, Outcome, Outgoing};
use crate::pending::begin;
use crate::time::Instant;
use crate::worker;

/// A byte stream. Cloning it gives another handle of the same: one task may receive while another
/// sends. The last handle closes it. It may be used on any worker.
#[derive(Clone)]
pub struct Socket {
    node: Arc<Node>,
    purpose: Purpose,
}

impl Socket {
    /// Connects to `address`, for short answers.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut` and what else the kernel says.
    pub async fn connect(address: &Address) -> io::Result<Socket> {
        let attempt = Attempt::new(address, Purpose::Client)?;
        if let Address::Unix(_) = address {
            // The other end is there at once or not at all.
            return Socket::connected_at_once(attempt).await;
        }
        let (outcome, op) = begin(Op::Connect(attempt)).await;
        Socket::connected(outcome, op, None).await
    }

    /// Connects to `address`, for data in bulk, until `deadline` at most.
    ///
    /// # Errors
    /// As [`Socket::connect`]; `TimedOut` at the deadline.
    pub async fn connect_until(address: &Address, deadline: Instant) -> io::Result<Socket> {
        let attempt = Attempt::new(address, Purpose::Transfer)?;
        let (outcome, op, is_late) = begin(Op::Connect(attempt)).until(deadline).await;
        match Socket::connected(outcome, op, Some(deadline)).await {
            Err(_) if is_late => Err(io::ErrorKind::TimedOut.into()),
            connected => connected,
        }
    }

    async fn connected_at_once(attempt: Attempt) -> io::Result<Socket> {
        attempt.begin()?;
        let Attempt { node, purpose, .. } = attempt;
        ready(&node, Interest::Write, purpose).await?;
        node.take_error()?;
        Ok(Socket { node, purpose })
    }

    /// The socket of an attempt that has ended, or that still goes on: until `deadline` then.
    async fn connected(outcome: Outcome, op: Op, deadline: Option<Instant>) -> io::Result<Socket> {
        let Op::Connect(Attempt { node, purpose, .. }) = op else {
            unreachable!("an attempt stays one")
        };
        match outcome.into_count() {
            Ok(_) => {}
            // Old kernels leave the waiting to us.
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                match deadline {
                    Some(deadline) => {
                        ready_until(&node, Interest::Write, purpose, deadline).await?
                    }
                    None => ready(&node, Interest::Write, purpose).await?,
                }
                node.take_error()?;
            }
            Err(error) => return Err(error),
        }
        Ok(Socket { node, purpose })
    }

    /// The same socket, to be used for `purpose` from now on by this handle and its clones.
    pub fn with_purpose(self, purpose: Purpose) -> Socket {
        Socket { purpose, ..self }
    }

    /// Its node and what it is for, as operations carry them.
    pub(super) fn parts(&self) -> (Arc<Node>, Purpose) {
        (self.node.clone(), self.purpose)
    }

    pub(super) fn accepted(node: Node) -> Socket {
        Socket { node: Arc::new(node), purpose: Purpose::Client }
    }

    /// Receives up to `into.len()` bytes; 0 is the end of the stream.
    ///
    /// # Errors
    /// `ConnectionReset` and what else the kernel says.
    pub async fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        retry(&self.node, Interest::Read, self.purpose, || self.node.recv(into)).await
    }

    /// Receives what has come by now, up to `into.len()` bytes, without waiting; 0 is the end of the
    /// stream.
    ///
    /// # Errors
    /// `WouldBlock` when nothing has come; as [`Socket::recv`].
    pub fn recv_now(&self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.node.recv(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => return received,
            }
        }
    }

    /// Receives into `range` of `buf` what has come, once that is as much as [`Socket::wake_at`] says,
    /// where the kernel puts it without a copy by the worker. Gives the memory back with the count of
    /// bytes; 0 is the end of the stream. Begins when first polled; dropped, it may still take bytes
    /// off the stream, so the socket is of no use any more.
    ///
    /// # Errors
    /// `TimedOut` when nothing came until the deadline; `ConnectionReset` and what else the kernel
    /// says.
    ///
    /// # Panics
    /// When the range does not lie within the buffer.
    pub async fn recv_into(
        &self,
        buf: IoBuf,
        range: Range<usize>,
        deadline: Instant,
    ) -> (io::Result<usize>, IoBuf) {
        assert!(range.start <= range.end && range.end <= buf.len(), "bytes go into the buffer");
        let (node, purpose) = (self.node.clone(), self.purpose);
        let (start, end) = (range.start, range.end);
        let incoming = Incoming { node, purpose, buf, start, filled: start, end };
        let (outcome, op, is_late) = begin(Op::Recv(incoming)).until(deadline).await;
        let Op::Recv(incoming) = op else { unreachable!("a receive stays one") };
        let count = outcome.into_count().map_err(|error| match is_late {
            true => io::ErrorKind::TimedOut.into(),
            false => error,
        });
        (count, incoming.buf)
    }

    /// Has whoever waits to receive wake when so many bytes have come, or no more will, instead of at
    /// each segment; fewer do when the kernel has no room for more. Whoever waits for the last bytes of
    /// something must not ask for more than those. 1 is what sockets begin with.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wake_at(&self, bytes: usize) -> io::Result<()> {
        self.node.wake_at(bytes)
    }

    /// Bytes of the segments in which the peer sends, as the kernel has seen them by now: what the path lets
    /// through, less the heads of packets. Before much has come it is a guess. `None` where there are no segments:
    /// in a simulation, and between processes of this machine by other sockets than those of TCP.
    pub fn segment_bytes(&self) -> Option<usize> {
        self.node.segment_bytes()
    }

    /// Waits until the peer has closed its end, or both; what it has sent is not touched. Dropping the
    /// future ends the wait.
    ///
    /// # Errors
    /// What waiting for it says.
    pub async fn hung_up(&self) -> io::Result<()> {
        ready(&self.node, Interest::HangUp, self.purpose).await
    }

    /// Sends some of `bytes`; returns how many.
    ///
    /// # Errors
    /// `BrokenPipe` when the peer is gone, and what else the kernel says.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        retry(&self.node, Interest::Write, self.purpose, || self.node.send(bytes)).await
    }

    /// Sends all of `bytes`, together with what else this worker asks of the kernel next: later than
    /// [`Socket::send_all`] does and for a fraction of its cost when many sockets are busy. Gives the
    /// memory back. It begins when it is first polled; dropped, it still sends a first part, perhaps
    /// all.
    ///
    /// # Errors
    /// As [`Socket::send`]; some bytes may have been sent by then.
    pub async fn send_vec(&self, mut bytes: Vec<u8>) -> (io::Result<()>, Vec<u8>) {
        let mut from = 0;
        while from < bytes.len() {
            let outgoing = Outgoing { node: self.node.clone(), purpose: self.purpose, bytes, from };
            let (outcome, op) = begin(Op::Send(outgoing)).await;
            let Op::Send(outgoing) = op else { unreachable!("a send stays one") };
            bytes = outgoing.bytes;
            let waited = match outcome.into_count() {
                Ok(sent) => {
                    from += sent;
                    Ok(())
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready(&self.node, Interest::Write, self.purpose).await
                }
                Err(error) => Err(error),
            };
            if waited.is_err() {
                return (waited, bytes);
            }
        }
        (Ok(()), bytes)
    }

    /// Waits until something can be received, or the end of the stream. A receiver that knows that
    /// nothing is there yet saves a call by it.
    ///
    /// # Errors
    /// What waiting for it says.
    pub async fn readable(&self) -> io::Result<()> {
        ready(&self.node, Interest::Read, self.purpose).await
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// As [`Socket::send`]; some bytes may have been sent by then.
    pub async fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let sent = self.send(bytes).await?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Ends one half of the stream or both.
    ///
    /// # Errors
    /// `NotConnected` when the peer is gone already.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.node.shutdown(how)
    }
}

impl Attempt {
    /// A socket that is to be connected to `address`.
    pub(super) fn new(address: &Address, purpose: Purpose) -> io::Result<Attempt> {
        let raw = Box::new(Raw::of(address)?);
        let node = match worker::network() {
            Some(network) => Node::Sim(network.connect(address)?),
            None => {
                let fd = descriptor::open(raw.family())?;
                descriptor::prepare(&fd, address)?;
                Node::System(fd)
            }
        };
        Ok(Attempt { node: Arc::new(node), purpose, address: raw })
    }
}
