//! Connection attempts.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use super::address::Raw;
use super::node::Node;
use crate::net::descriptor::checked;
use crate::net::interest::Purpose;

/// A connection attempt that the ring makes.
pub(crate) struct Attempt {
    pub(crate) node: Arc<Node>,
    pub(crate) purpose: Purpose,
    /// Boxed: the kernel reads it while the operation waits in its table, which may grow.
    pub(crate) address: Box<Raw>,
}

impl Attempt {
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
