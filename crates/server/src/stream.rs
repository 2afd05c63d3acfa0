//! The bytes of a connection, in the clear or encrypted.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::{io, mem};

use runtime::net::Socket;

use crate::tls::{Channel, Tls};

/// Memory for answers that a connection keeps while it has none to send, twice: what is being sent,
/// and what comes next.
pub(crate) const KEPT_BYTES_MAX: usize = 8 << 10;

/// Bytes on their way to the client: whether they got there, and their memory.
type Sending = Pin<Box<dyn Future<Output = (io::Result<()>, Vec<u8>)>>>;

/// A connection's stream.
pub(crate) struct Stream {
    socket: Socket,
    channel: Option<Box<Channel>>,
    /// What [`Stream::send_soon`] has begun.
    sending: Option<Sending>,
    /// Memory for the next answer.
    spare: Vec<u8>,
    /// The last call received all that had come, so that another would find nothing.
    is_drained: bool,
}

impl Stream {
    pub fn new(socket: Socket) -> Stream {
        Stream { socket, channel: None, sending: None, spare: vec![], is_drained: false }
    }

    /// The socket below.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Shakes hands; `received` has come already. `direct` is a handshake that nobody asked for
    /// before.
    pub async fn encrypt(&mut self, tls: &Tls, received: Vec<u8>, direct: bool) -> io::Result<()> {
        let channel = Channel::accept(tls, &self.socket, received, direct).await?;
        self.channel = Some(Box::new(channel));
        Ok(())
    }

    /// Whether nobody between can read it.
    pub fn is_encrypted(&self) -> bool {
        self.channel.is_some()
    }

    /// How it is encrypted: version and cipher.
    pub fn encryption(&self) -> Option<String> {
        self.channel.as_ref().map(|channel| channel.description())
    }

    /// The hash that binds a password's proof to this channel (RFC 5929, `tls-server-end-point`).
    pub fn binding(&self) -> Option<Vec<u8>> {
        self.channel.as_ref().and_then(|channel| channel.binding())
    }

    /// Receives some bytes; none at the end of the stream.
    pub async fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.channel {
            Some(channel) => channel.recv(&self.socket, into).await,
            None => self.recv_plain(into).await,
        }
    }

    /// Waits until there is something to receive. Dropped, it leaves everything as it was.
    pub async fn readable(&mut self) -> io::Result<()> {
        if let Some(channel) = &mut self.channel
            && channel.has_received()
        {
            return Ok(());
        }
        let socket = self.socket.clone();
        let mut readable = pin!(async move { socket.readable().await });
        poll_fn(|cx| match self.poll_sent(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => readable.as_mut().poll(cx),
        })
        .await
    }

    /// Receives while what was to be sent soon is sent.
    async fn recv_plain(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (socket, wait, len) = (self.socket.clone(), self.is_drained, into.len());
        let mut receive = pin!(async move {
            if wait {
                socket.readable().await?;
            }
            socket.recv(into).await
        });
        let received = poll_fn(|cx| {
            if let Poll::Ready(Err(error)) = self.poll_sent(cx) {
                return Poll::Ready(Err(error));
            }
            receive.as_mut().poll(cx)
        })
        .await?;
        self.is_drained = received < len;
        Ok(received)
    }

    /// Whether nothing is being sent any more.
    fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(sending) = &mut self.sending else { return Poll::Ready(Ok(())) };
        let (sent, mut bytes) = ready!(sending.as_mut().poll(cx));
        self.sending = None;
        if bytes.capacity() <= KEPT_BYTES_MAX {
            bytes.clear();
            self.spare = bytes;
        }
        Poll::Ready(sent)
    }

    /// Sends `bytes`, and takes them, when the worker next turns to the kernel: together with the
    /// answers of others. Whoever receives next drives it on.
    pub async fn send_soon(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        if self.channel.is_some() {
            let sent = self.send_all(bytes).await;
            bytes.clear();
            return sent;
        }
        poll_fn(|cx| self.poll_sent(cx)).await?;
        let (socket, bytes) =
            (self.socket.clone(), mem::replace(bytes, mem::take(&mut self.spare)));
        self.sending = Some(Box::pin(async move { socket.send_vec(bytes).await }));
        // It begins now; how it ends is asked later.
        poll_fn(|cx| match self.poll_sent(cx) {
            Poll::Pending => Poll::Ready(Ok(())),
            ended => ended,
        })
        .await
    }

    /// Waits until the client has hung up; what it has sent is left where it is.
    pub async fn hung_up(&self) -> io::Result<()> {
        self.socket.hung_up().await
    }

    pub async fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        poll_fn(|cx| self.poll_sent(cx)).await?;
        match &mut self.channel {
            Some(channel) => channel.send_all(&self.socket, bytes).await,
            None => self.socket.send_all(bytes).await,
        }
    }

    /// Says that nothing more will come.
    pub async fn finish(&mut self) -> io::Result<()> {
        match &mut self.channel {
            Some(channel) => channel.finish(&self.socket).await,
            None => Ok(()),
        }
    }
}
