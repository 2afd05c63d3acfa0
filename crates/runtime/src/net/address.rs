//! Addresses of sockets, and their form for the kernel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::{fmt, io};

/// Where a socket listens or connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Host and port.
    Tcp(SocketAddr),
    /// A path of the file system; empty for the client's end.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

/// An address as the kernel wants it.
pub(crate) struct Raw {
    pub storage: libc::sockaddr_storage,
    pub len: libc::socklen_t,
}

impl Raw {
    pub fn empty() -> Raw {
        // SAFETY: plain integers and bytes, for which zero is a value.
        let storage = unsafe { std::mem::zeroed() };
        Raw { storage, len: size_of::<libc::sockaddr_storage>() as libc::socklen_t }
    }

    pub fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    pub fn family(&self) -> i32 {
        i32::from(self.storage.ss_family)
    }

    /// Overwrites the storage with `value`, one of the kernel's address structures.
    fn set<T: Copy>(&mut self, value: T) {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        // SAFETY: the storage is large enough (asserted) and aligned for every kind of address.
        unsafe { (&raw mut self.storage).cast::<T>().write(value) };
        self.len = size_of::<T>() as libc::socklen_t;
    }

    /// The kernel's form of `address`.
    ///
    /// # Errors
    /// `InvalidInput` for a path that is too long for a socket.
    pub fn of(address: &Address) -> io::Result<Raw> {
        let mut raw = Raw::empty();
        match address {
            Address::Tcp(SocketAddr::V4(v4)) => raw.set(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            Address::Tcp(SocketAddr::V6(v6)) => raw.set(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
            Address::Unix(path) => raw.set(unix(path.as_os_str().as_bytes())?),
        }
        Ok(raw)
    }

    /// The address that the kernel has written.
    pub fn address(&self) -> Address {
        match self.family() {
            libc::AF_INET => {
                // SAFETY: the family says which structure the kernel wrote; the storage has room.
                let v4 = unsafe { (&raw const self.storage).cast::<libc::sockaddr_in>().read() };
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Address::Tcp(SocketAddr::new(IpAddr::V4(ip), u16::from_be(v4.sin_port)))
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let v6 = unsafe { (&raw const self.storage).cast::<libc::sockaddr_in6>().read() };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Address::Tcp(SocketAddr::new(IpAddr::V6(ip), u16::from_be(v6.sin6_port)))
            }
            _ => Address::Unix(PathBuf::new()),
        }
    }
}

fn unix(path: &[u8]) -> io::Result<libc::sockaddr_un> {
    let mut un =
        libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    // The last byte stays zero.
    if path.len() >= un.sun_path.len() {
        let message = "the path of a unix socket has at most 107 bytes";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    for (to, from) in un.sun_path.iter_mut().zip(path) {
        *to = *from as libc::c_char;
    }
    Ok(un)
}
