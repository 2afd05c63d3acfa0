//! Which endpoints may be spoken to. A location can come from a statement of a user: it must not
//! reach the services that give out a machine's own credentials. Loopback and private addresses are
//! allowed, since stores stand there; who lets users choose locations lists the hosts that are meant.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::{Error, ErrorKind, Result};
use crate::location::Endpoint;

/// Addresses of services that give out a machine's own credentials, beside the link-local ones.
const METADATA: [IpAddr; 5] = [
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
];

/// The endpoints that may be spoken to.
#[derive(Clone, Debug, Default)]
pub struct AllowList {
    /// `None` allows all hosts.
    hosts: Option<Vec<String>>,
}

impl AllowList {
    /// All hosts, those of this machine and its network too, but no link-local and no metadata
    /// addresses.
    pub fn any() -> AllowList {
        AllowList::default()
    }

    /// These hosts only. `*.example.com` stands for all names below `example.com`; `host:port` for one
    /// port. A link-local or metadata address is allowed when it is listed as such.
    pub fn only<S: Into<String>>(hosts: impl IntoIterator<Item = S>) -> AllowList {
        let hosts = hosts.into_iter().map(|host| host.into().to_ascii_lowercase()).collect();
        AllowList { hosts: Some(hosts) }
    }

    /// Whether the endpoint may be spoken to by its name.
    ///
    /// # Errors
    /// `Forbidden`.
    pub(crate) fn check_host(&self, endpoint: &Endpoint) -> Result<()> {
        let Some(hosts) = &self.hosts else { return Ok(()) };
        match hosts.iter().any(|pattern| matches(pattern, endpoint)) {
            true => Ok(()),
            false => {
                let what = format!("the endpoint {endpoint} is not in the list of those allowed");
                Err(Error::new(ErrorKind::Forbidden, what))
            }
        }
    }

    /// Whether the name's address may be spoken to.
    ///
    /// # Errors
    /// `Forbidden`.
    pub(crate) fn check_address(&self, address: IpAddr) -> Result<()> {
        let canonical = canonical(address);
        let listed = |pattern: &String| {
            pattern.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical() == canonical)
        };
        let is_listed = self.hosts.as_ref().is_some_and(|hosts| hosts.iter().any(listed));
        match is_for_the_machine_alone(canonical) && !is_listed {
            true => {
                let what = format!("the address {address} is link-local or a metadata service's");
                Err(Error::new(ErrorKind::Forbidden, what))
            }
            false => Ok(()),
        }
    }
}

fn matches(pattern: &str, endpoint: &Endpoint) -> bool {
    let host = endpoint.host.as_str();
    if pattern == host || *pattern == format!("{host}:{}", endpoint.port) {
        return true;
    }
    let Some(suffix) = pattern.strip_prefix('*') else { return false };
    suffix.starts_with('.') && host.len() > suffix.len() && host.ends_with(suffix)
}

/// The IPv4 address that an IPv6 one stands for, if it does: mapped, or behind a translator.
fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = v6.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        other => other,
    }
}

fn is_for_the_machine_alone(address: IpAddr) -> bool {
    let is_bad = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    };
    is_bad || address.is_unspecified() || address.is_multicast() || METADATA.contains(&address)
}

#[cfg(test)]
mod tests;
