//! Who listens where, and the connections that wait to be accepted.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use super::end::SocketId;
use crate::net::address::Address;

/// The first port of the network's choice, as the registry of ports has it.
const PORT_FIRST: u16 = 49_152;

pub(super) struct Listener {
    pub(super) address: Address,
    /// Connections to be accepted, and where they come from.
    pub(super) pending: VecDeque<(SocketId, Address)>,
}

#[derive(Default)]
pub(super) struct Listeners {
    all: BTreeMap<SocketId, Listener>,
    /// Ports given out by choice.
    chosen: u16,
}

impl Listeners {
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, id: SocketId) -> Option<&Listener> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SocketId) -> Option<&mut Listener> {
        self.all.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: SocketId) -> Option<Listener> {
        self.all.remove(&id)
    }

    /// Who listens at an address.
    pub(super) fn find(&self, address: &Address) -> Option<SocketId> {
        self.all.iter().find(|(_, listener)| covers(&listener.address, address)).map(|(id, _)| *id)
    }

    /// Has a socket listen; the address, with a port of the network's choice where it was 0.
    pub(super) fn add(&mut self, id: SocketId, address: &Address) -> io::Result<Address> {
        let address = match address {
            Address::Tcp(tcp) if tcp.port() == 0 => self.free_port(tcp.ip())?,
            address => address.clone(),
        };
        if self.is_taken(&address) {
            return Err(io::Error::from_raw_os_error(libc::EADDRINUSE));
        }
        let listener = Listener { address: address.clone(), pending: VecDeque::new() };
        self.all.insert(id, listener);
        Ok(address)
    }

    fn is_taken(&self, address: &Address) -> bool {
        let meet =
            |other: &Listener| covers(&other.address, address) || covers(address, &other.address);
        self.all.values().any(meet)
    }

    fn free_port(&mut self, ip: IpAddr) -> io::Result<Address> {
        for _ in PORT_FIRST..=u16::MAX {
            let address = Address::Tcp(SocketAddr::new(ip, self.choose_port()));
            if !self.is_taken(&address) {
                return Ok(address);
            }
        }
        Err(io::Error::from_raw_os_error(libc::EADDRINUSE))
    }

    fn choose_port(&mut self) -> u16 {
        self.chosen = (self.chosen + 1) % (u16::MAX - PORT_FIRST);
        PORT_FIRST + self.chosen
    }

    /// A connection waits to be accepted. Its client is on the same machine and has a port of its own.
    pub(super) fn arrive(&mut self, id: SocketId, accepted: SocketId) {
        let port = self.choose_port();
        let listener = self.all.get_mut(&id).expect("somebody listens");
        let client = match &listener.address {
            Address::Tcp(tcp) => Address::Tcp(SocketAddr::new(home(tcp.ip()), port)),
            Address::Unix(_) => Address::Unix(PathBuf::new()),
        };
        listener.pending.push_back((accepted, client));
    }

    /// Connections that wait to be accepted.
    pub(super) fn pending_count(&self) -> usize {
        self.all.values().map(|listener| listener.pending.len()).sum()
    }
}

/// The address of the machine, where one of its addresses may not say which.
fn home(ip: IpAddr) -> IpAddr {
    match ip {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    }
}

/// Whether who listens at `listening` is reached by `target`.
fn covers(listening: &Address, target: &Address) -> bool {
    match (listening, target) {
        (Address::Tcp(listening), Address::Tcp(target)) => {
            let is_there = listening.ip() == target.ip() || listening.ip().is_unspecified();
            listening.port() == target.port() && is_there
        }
        (listening, target) => listening == target,
    }
}
