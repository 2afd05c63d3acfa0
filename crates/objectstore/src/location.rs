//! Where a store is: scheme, host, port, and a path in front of all names.

use std::fmt;

use crate::error::{Error, Result};

/// Where the requests of a store go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    pub(crate) is_secure: bool,
    /// A name or an address, an IPv6 one without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Begins with `/` and does not end with one; empty for the root.
    pub(crate) path: String,
}

impl Endpoint {
    /// Reads `http://host:port/path` or `https://...`.
    ///
    /// # Errors
    /// `Invalid` for anything else: another scheme, user names, queries, bad hosts and ports.
    pub fn parse(url: &str) -> Result<Endpoint> {
        let wrong = |what: &str| Error::invalid(format!("the endpoint {:?}: {what}", shown(url)));
        let (is_secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(wrong("it does not begin with http:// or https://")),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let path = path.trim_end_matches('/');
        let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%".contains(&byte);
        if !path.bytes().all(is_path) {
            return Err(wrong("a path of letters, digits and /-._~%"));
        }
        let (host, port) = split_port(authority).ok_or_else(|| wrong("no host, or a bad port"))?;
        if !is_host(host) {
            return Err(wrong("no name or address of a host"));
        }
        let port = port.unwrap_or(if is_secure { 443 } else { 80 });
        let (host, path) = (host.to_ascii_lowercase(), path.to_owned());
        Ok(Endpoint { is_secure, host, port, path })
    }

    /// What the `host` header says.
    pub(crate) fn authority(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        let usual = if self.is_secure { 443 } else { 80 };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// The same with a name in front of the host's.
    pub(crate) fn below(&self, label: &str) -> Endpoint {
        Endpoint { host: format!("{label}.{}", self.host), ..self.clone() }
    }

    /// Whether the host is the one of this name, or one with a name in front of it.
    pub(crate) fn is_below(&self, name: &str) -> bool {
        let front = self.host.strip_suffix(name);
        front.is_some_and(|front| front.is_empty() || front.ends_with('.'))
    }

    /// Whether the host is an address, which has no names below it.
    pub(crate) fn is_address(&self) -> bool {
        self.host.parse::<std::net::IpAddr>().is_ok()
    }

    /// Whether it is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || address.is_ok_and(|ip| ip.to_canonical().is_loopback())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

/// What of a URL that is refused may be shown: scheme, host and port, if it has them. What is refused is
/// just what has secrets in it: user names, queries, signatures.
fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "..".to_owned() };
    let is_http = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if !is_http || rest.contains('@') {
        return "..".to_owned();
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_shown = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    let authority = if authority.bytes().all(is_shown) { authority } else { ".." };
    format!("{scheme}://{authority}")
}

/// Host and port; `None` for a bad port.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port_number(port)?))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    match authority.split_once(':') {
        Some((host, port)) => Some((host, Some(port_number(port)?))),
        None => Some((authority, None)),
    }
}

fn port_number(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0)
}

fn is_host(host: &str) -> bool {
    if host.parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    let is_label = |label: &str| {
        let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_inside)
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests;
