//! The bytes of a connection, in the clear or encrypted.

use std::io;

use runtime::net::Socket;

use crate::tls::{Channel, Tls};

/// A connection's stream.
pub(crate) struct Stream {
    socket: Socket,
    channel: Option<Box<Channel>>,
}

impl Stream {
    pub fn new(socket: Socket) -> Stream {
        Stream { socket, channel: None }
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
            None => self.socket.recv(into).await,
        }
    }

    /// Waits until the client has hung up; what it has sent is left where it is.
    pub async fn hung_up(&self) -> io::Result<()> {
        self.socket.hung_up().await
    }

    pub async fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
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
