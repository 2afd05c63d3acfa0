//! Listening sockets.

use std::fs::Permissions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use super::address::{Address, Raw};
use super::node::Node;
use super::socket::Socket;
use crate::net::descriptor::{self, BACKLOG, checked};
use crate::net::interest::{Interest, Purpose};
use crate::net::readiness::retry;
use crate::{sim, worker};

/// Permissions of a unix socket's file: for the user who runs the server.
const UNIX_MODE: u32 = 0o700;

/// A socket that connections come to. Cloning it gives another handle of the same.
#[derive(Clone)]
pub struct Listener {
    node: Arc<Node>,
    address: Address,
}

/// A descriptor that nothing uses: dropped, it leaves room for another one.
pub struct Spare {
    _held: Held,
}

enum Held {
    System { _fd: OwnedFd },
    Sim { _spare: sim::network::endpoint::Spare },
}

impl Listener {
    /// Listens at `address`; port 0 is one of the kernel's choice. The socket file of a server that
    /// is gone is replaced.
    ///
    /// # Errors
    /// `AddrInUse` when somebody listens there, and what the kernel says otherwise.
    pub fn bind(address: &Address) -> io::Result<Listener> {
        Listener::bind_with_mode(address, UNIX_MODE)
    }

    /// The same, with the permissions that the file of a unix socket gets: who may not write to it
    /// cannot connect. It has them before the first connection is accepted.
    ///
    /// # Errors
    /// As [`Listener::bind`].
    pub fn bind_with_mode(address: &Address, mode: u32) -> io::Result<Listener> {
        let raw = Raw::of(address)?;
        if let Some(network) = worker::network() {
            let (end, address) = network.listen(address)?;
            return Ok(Listener { node: Arc::new(Node::Sim(end)), address });
        }
        let fd = descriptor::open(raw.family())?;
        if let Address::Unix(path) = address {
            remove_stale(path, &raw)?;
        } else {
            descriptor::set(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR)?;
        }
        // SAFETY: a valid address and its length.
        checked(unsafe { libc::bind(fd.as_raw_fd(), raw.pointer(), raw.len) } as isize)?;
        if let Address::Unix(path) = address {
            std::fs::set_permissions(path, Permissions::from_mode(mode))?;
        }
        // SAFETY: a plain call on our descriptor.
        checked(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) } as isize)?;
        let address = match address {
            Address::Unix(_) => address.clone(),
            Address::Tcp(_) => local(&fd)?,
        };
        Ok(Listener { node: Arc::new(Node::System(fd)), address })
    }

    /// Where it listens: the kernel's choice when the port was 0.
    pub fn local_address(&self) -> &Address {
        &self.address
    }

    /// A descriptor kept for the moment when there are no others.
    ///
    /// # Errors
    /// That there are none already.
    pub fn spare(&self) -> io::Result<Spare> {
        let held = match &*self.node {
            Node::System(fd) => Held::System { _fd: fd.try_clone()? },
            Node::Sim(end) => Held::Sim { _spare: end.spare()? },
        };
        Ok(Spare { _held: held })
    }

    /// The next connection and its peer. Dropping the future loses none.
    ///
    /// # Errors
    /// What the kernel says: out of descriptors is likely to pass, and worth a pause.
    pub async fn accept(&self) -> io::Result<(Socket, Address)> {
        let (node, peer) =
            retry(&self.node, Interest::Read, Purpose::Client, || self.node.accept()).await?;
        Ok((Socket::accepted(node), peer))
    }
}

fn local(fd: &OwnedFd) -> io::Result<Address> {
    let mut raw = Raw::empty();
    let (place, len) = ((&raw mut raw.storage).cast(), &raw mut raw.len);
    // SAFETY: room for any address, and its length.
    checked(unsafe { libc::getsockname(fd.as_raw_fd(), place, len) } as isize)?;
    Ok(raw.address())
}

/// Removes the socket file that nobody listens at any more.
fn remove_stale(path: &Path, raw: &Raw) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let probe = descriptor::open(libc::AF_UNIX)?;
    // SAFETY: a valid address and its length.
    let result = unsafe { libc::connect(probe.as_raw_fd(), raw.pointer(), raw.len) };
    match checked(result as isize) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        // `bind` says the rest: in use, or no socket at all.
        _ => Ok(()),
    }
}
