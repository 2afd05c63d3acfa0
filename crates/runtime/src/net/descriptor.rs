//! Calls on the descriptors of sockets.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::net::address::Address;

/// How bytes are sent: without waiting for room, and without a signal when the peer is gone.
pub(crate) const SEND_FLAGS: i32 = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// Connections that the kernel keeps for us before `accept`; the kernel has its own bound below.
pub(crate) const BACKLOG: i32 = 1024;

/// A stream socket that never blocks.
pub(crate) fn open(family: i32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain call.
    let fd = unsafe { libc::socket(family, kind, 0) };
    checked(fd as isize)?;
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What a stream over TCP is to be like.
pub(crate) fn prepare(fd: &OwnedFd, peer: &Address) -> io::Result<()> {
    if matches!(peer, Address::Tcp(_)) {
        // Answers are sent whole: waiting for more bytes would only add latency.
        set(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
        set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE)?;
    }
    Ok(())
}

/// Switches an option on.
pub(crate) fn set(fd: &OwnedFd, level: i32, name: i32) -> io::Result<()> {
    set_to(fd, level, name, 1)
}

/// Sets an option to a number.
pub(crate) fn set_to(fd: &OwnedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let (place, len) = ((&raw const value).cast(), size_of::<i32>() as libc::socklen_t);
    // SAFETY: a readable integer and its size.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, place, len) } as isize).map(drop)
}

/// The result of a system call that gives -1 on failure.
pub(crate) fn checked(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
