//! What a program holds of the network: a socket, or the right to one more.

use std::io;

use super::Network;
use super::end::SocketId;
use crate::net::address::Address;
use crate::net::interest::Shutdown;

/// A socket of a simulated network. Dropping it closes the socket.
pub(crate) struct Endpoint {
    pub(super) network: Network,
    pub(super) id: SocketId,
}

/// A descriptor that is kept free.
pub(crate) struct Spare(pub(super) Network);

impl Endpoint {
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.network.state().send(self.id, bytes)
    }

    pub(crate) fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        self.network.state().recv(self.id, into)
    }

    pub(crate) fn accept(&self) -> io::Result<(Endpoint, Address)> {
        let (id, peer) = self.network.state().accept(self.id)?;
        Ok((Endpoint { network: self.network.clone(), id }, peer))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.network.state().shutdown(self.id, how)
    }

    pub(crate) fn ends_shot(&self) -> bool {
        self.network.state().ends_shot()
    }

    pub(crate) fn copies(&self) -> bool {
        self.network.state().copies()
    }

    pub(crate) fn take_error(&self) -> io::Result<()> {
        self.network.state().take_error(self.id)
    }

    /// One more descriptor.
    pub(crate) fn spare(&self) -> io::Result<Spare> {
        self.network.state().spare()?;
        Ok(Spare(self.network.clone()))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.network.state().close(self.id);
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.0.state().spare_count -= 1;
    }
}
