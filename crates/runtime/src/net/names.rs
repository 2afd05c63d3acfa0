//! Addresses of hosts.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use crate::{offload, worker};

/// All addresses of a host, by the system's own means on a thread beside the workers. In a simulation
/// those that the simulated network knows the host by (`sim::Network::name`). The caller keeps them,
/// and bounds how many of these run at once: `permit` is dropped when the thread has its answer, which
/// may be long after the future was.
///
/// # Errors
/// `NotFound` for a host without addresses, and what the system says.
pub async fn resolve(host: &str, permit: impl Send + 'static) -> io::Result<Vec<IpAddr>> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let addresses = match worker::network() {
        Some(network) => network.addresses(host),
        None => {
            let host = host.to_owned();
            let asked = offload(move || {
                let _permit = permit;
                // The port is of no interest: it only makes the name one that can be asked for.
                Ok((host, 0).to_socket_addrs()?.map(|found| found.ip()).collect())
            });
            asked.await.unwrap_or_else(|error| Err(io::Error::other(error)))?
        }
    };
    let mut all: Vec<IpAddr> = Vec::new();
    addresses.into_iter().for_each(|one| {
        if !all.contains(&one) {
            all.push(one)
        }
    });
    match all.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, "the host has no address")),
        false => Ok(all),
    }
}
