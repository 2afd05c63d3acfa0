//! The bytes of a connection.

use std::io;

use runtime::net::Socket;

/// A connection's stream.
pub(crate) struct Stream {
    socket: Socket,
}

impl Stream {
    pub fn new(socket: Socket) -> Stream {
        Stream { socket }
    }

    /// Whether nobody between can read it.
    pub fn is_encrypted(&self) -> bool {
        false
    }

    /// The hash that binds a password's proof to this channel (RFC 5929, `tls-server-end-point`).
    pub fn binding(&self) -> Option<Vec<u8>> {
        None
    }

    /// Receives some bytes; none at the end of the stream.
    pub async fn recv(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.recv(into).await
    }

    pub async fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.send_all(bytes).await
    }
}
