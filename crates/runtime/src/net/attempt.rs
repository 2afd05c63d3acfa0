//! Connection attempts.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use super::address::{Address, Raw};
use super::node::Node;
use super::{Purpose, checked, socket};
use crate::worker;

/// A connection attempt that the ring makes.
pub(crate) struct Attempt {
    pub(crate) node: Arc<Node>,
    pub(crate) purpose: Purpose,
    /// Boxed: the kernel reads it while the operation waits in its table, which may grow.
    pub(crate) address: Box<Raw>,
}

impl Attempt {
    /// A socket that is to be connected to `address`.
    pub(super) fn new(address: &Address, purpose: Purpose) -> io::Result<Attempt> {
        let raw = Box::new(Raw::of(address)?);
        let node = match worker::network() {
            Some(network) => Node::Sim(network.connect(address)?),
            None => {
                let fd = socket::open(raw.family())?;
                socket::prepare(&fd, address)?;
                Node::System(fd)
            }
        };
        Ok(Attempt { node: Arc::new(node), purpose, address: raw })
    }

    /// Begins the attempt where no ring does so; the socket gets ready for writing at its end. The
    /// simulated network has begun it already.
    pub(crate) fn begin(&self) -> io::Result<()> {
        let Node::System(fd) = &*self.node else { return Ok(()) };
        // SAFETY: a valid address and its length.
        let result =
            unsafe { libc::connect(fd.as_raw_fd(), self.address.pointer(), self.address.len) };
        match checked(result as isize) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(()),
        }
    }
}
