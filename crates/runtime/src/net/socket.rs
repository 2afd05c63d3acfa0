//! Connected sockets.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use super::address::Raw;
use super::{Address, Interest, Node, checked, ready, retry};
use crate::op::{Op, Outgoing, begin};
use crate::worker;

/// A byte stream. Cloning it gives another handle of the same: one task may receive while another
/// sends. The last handle closes it. It may be used on any worker.
#[derive(Clone)]
pub struct Socket {
    node: Arc<Node>,
}

/// Which half of a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Nothing more is received.
    Read,
    /// The peer sees the end of the stream.
    Write,
    /// Both.
    Both,
}

impl Socket {
    /// Connects to `address`.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut` and what else the kernel says.
    pub async fn connect(address: &Address) -> io::Result<Socket> {
        let raw = Raw::of(address)?;
        if let Some(network) = worker::network() {
            return Socket::connected(Arc::new(Node::Sim(network.connect(address)?))).await;
        }
        let fd = open(raw.family())?;
        prepare(&fd, address)?;
        // SAFETY: a valid address and its length.
        let result = unsafe { libc::connect(fd.as_raw_fd(), raw.pointer(), raw.len) };
        let node = Arc::new(Node::System(fd));
        match checked(result as isize) {
            Ok(_) => Ok(Socket { node }),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                Socket::connected(node).await
            }
            Err(error) => Err(error),
        }
    }

    /// The socket once its connection attempt has ended.
    async fn connected(node: Arc<Node>) -> io::Result<Socket> {
        ready(&node, Interest::Write).await?;
        node.take_error()?;
        Ok(Socket { node })
    }

    pub(super) fn accepted(node: Node) -> Socket {
        Socket { node: Arc::new(node) }
    }

    /// Receives up to `into.len()` bytes; 0 is the end of the stream.
    ///
    /// # Errors
    /// `ConnectionReset` and what else the kernel says.
    pub async fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        retry(&self.node, Interest::Read, || self.node.recv(into)).await
    }

    /// Waits until the peer has closed its end, or both; what it has sent is not touched. Dropping the
    /// future ends the wait.
    ///
    /// # Errors
    /// What waiting for it says.
    pub async fn hung_up(&self) -> io::Result<()> {
        ready(&self.node, Interest::HangUp).await
    }

    /// Sends some of `bytes`; returns how many.
    ///
    /// # Errors
    /// `BrokenPipe` when the peer is gone, and what else the kernel says.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        retry(&self.node, Interest::Write, || self.node.send(bytes)).await
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
            let outgoing = Outgoing { node: self.node.clone(), bytes, from };
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
                    ready(&self.node, Interest::Write).await
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
        ready(&self.node, Interest::Read).await
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

/// What a stream over TCP is to be like.
pub(super) fn prepare(fd: &OwnedFd, peer: &Address) -> io::Result<()> {
    if matches!(peer, Address::Tcp(_)) {
        // Answers are sent whole: waiting for more bytes would only add latency.
        set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
        set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE)?;
    }
    Ok(())
}

/// A stream socket that never blocks.
pub(super) fn open(family: i32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain call.
    let fd = unsafe { libc::socket(family, kind, 0) };
    checked(fd as isize)?;
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Switches an option on.
pub(super) fn set(fd: &OwnedFd, level: i32, name: i32) -> io::Result<()> {
    let on = 1i32;
    let (place, len) = ((&raw const on).cast(), size_of::<i32>() as libc::socklen_t);
    // SAFETY: a readable integer and its size.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, place, len) } as isize).map(drop)
}
