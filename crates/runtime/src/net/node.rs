//! The calls of a socket, none of which waits: the kernel's, or those of the simulated network.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::address::{Address, Raw};
use crate::net::descriptor::{self, SEND_FLAGS, checked};
use crate::net::interest::Shutdown;
use crate::sim::network::endpoint::Endpoint;

/// Where a socket lives.
pub(crate) enum Node {
    System(OwnedFd),
    Sim(Endpoint),
}

impl Node {
    /// The descriptor.
    ///
    /// # Errors
    /// EBADF: a socket of a simulation has none.
    pub(crate) fn system(&self) -> io::Result<&OwnedFd> {
        match self {
            Node::System(fd) => Ok(fd),
            Node::Sim(_) => Err(io::Error::from_raw_os_error(libc::EBADF)),
        }
    }

    /// The descriptor's number. A socket of a simulation has none: -1, which every call refuses.
    pub(crate) fn raw_fd(&self) -> i32 {
        self.system().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Sends what there is room for.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let fd = match self {
            Node::System(fd) => fd.as_raw_fd(),
            Node::Sim(end) => return end.send(bytes),
        };
        let (place, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: `bytes` is readable for its length, and the call does not outlive it.
        checked(unsafe { libc::send(fd, place, len, SEND_FLAGS) })
    }

    /// Receives what has come.
    pub(crate) fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        let fd = match self {
            Node::System(fd) => fd.as_raw_fd(),
            Node::Sim(end) => return end.recv(into),
        };
        let (place, len) = (into.as_mut_ptr().cast(), into.len());
        // SAFETY: `into` is writable for its length, and the call does not outlive it.
        checked(unsafe { libc::recv(fd, place, len, libc::MSG_DONTWAIT) })
    }

    /// Takes the next connection and its peer's address.
    pub(super) fn accept(&self) -> io::Result<(Node, Address)> {
        let listener = match self {
            Node::System(fd) => fd.as_raw_fd(),
            Node::Sim(end) => return end.accept().map(|(end, peer)| (Node::Sim(end), peer)),
        };
        let mut raw = Raw::empty();
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let (place, len) = ((&raw mut raw.storage).cast(), &raw mut raw.len);
        // SAFETY: room for any address, and its length.
        let fd = checked(unsafe { libc::accept4(listener, place, len, flags) } as isize)?;
        // SAFETY: a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let peer = raw.address();
        descriptor::prepare(&fd, &peer)?;
        Ok((Node::System(fd), peer))
    }

    /// Has whoever waits to receive wake when so many bytes have come.
    pub(super) fn wake_at(&self, bytes: usize) -> io::Result<()> {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        match self {
            Node::System(fd) => descriptor::set_to(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes),
            // Its receives are woken at each segment, which is allowed.
            Node::Sim(_) => Ok(()),
        }
    }

    /// The size of the segments that come, where the kernel knows it.
    pub(super) fn segment_bytes(&self) -> Option<usize> {
        let fd = self.system().ok()?.as_raw_fd();
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: all bytes zero are a value of these numbers.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let place = (&raw mut info).cast();
        // SAFETY: room for what is asked for, and its size.
        let got = unsafe { libc::getsockopt(fd, level, name, place, &raw mut len) };
        // An old kernel may say less, and zeros stay then.
        checked(got as isize).ok().filter(|_| info.tcpi_rcv_mss > 0)?;
        Some(info.tcpi_rcv_mss as usize)
    }

    /// Ends one half of the stream or both.
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let fd = match self {
            Node::System(fd) => fd.as_raw_fd(),
            Node::Sim(end) => return end.shutdown(how),
        };
        let how = match how {
            Shutdown::Read => libc::SHUT_RD,
            Shutdown::Write => libc::SHUT_WR,
            Shutdown::Both => libc::SHUT_RDWR,
        };
        // SAFETY: a plain call on our descriptor.
        checked(unsafe { libc::shutdown(fd, how) } as isize).map(drop)
    }

    /// Ends the connection so that nothing of what was sent is sent any more.
    pub(crate) fn disconnect(&self) {
        let Node::System(fd) = self else { return };
        let none =
            libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
        let len = size_of::<libc::sockaddr>() as libc::socklen_t;
        // SAFETY: a readable address and its length. What fails has nothing to end.
        let _ = unsafe { libc::connect(fd.as_raw_fd(), &raw const none, len) };
    }

    /// True if a request for many receives ends here, in a simulation, to be made again.
    pub(super) fn ends_shot(&self) -> bool {
        matches!(self, Node::Sim(end) if end.ends_shot())
    }

    /// True if the simulated network has copied lent memory.
    pub(crate) fn copies(&self) -> bool {
        matches!(self, Node::Sim(end) if end.copies())
    }

    /// How a connection attempt ended.
    pub(crate) fn take_error(&self) -> io::Result<()> {
        let fd = match self {
            Node::System(fd) => fd.as_raw_fd(),
            Node::Sim(end) => return end.take_error(),
        };
        let (mut code, mut len) = (0i32, size_of::<i32>() as libc::socklen_t);
        let place = (&raw mut code).cast();
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ERROR);
        // SAFETY: room for an integer, and its size.
        let got = unsafe { libc::getsockopt(fd, level, name, place, &raw mut len) };
        checked(got as isize)?;
        match code {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
}
