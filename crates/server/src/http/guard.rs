//! Who may use the console: a page that this server sent to a browser that asked it by its name.
//!
//! Three checks, each alone enough against one attack: the `Host` must be a name of this machine
//! (DNS rebinding), the `Origin` must be that host and `Sec-Fetch-Site` the same origin (requests
//! that another site's page makes), and each request carries the token of its page (the same, for
//! browsers that send neither).

use std::net::IpAddr;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use runtime::time::{self, Instant};
use sha2::Sha256;

use super::request::Request;
use super::response::Response;

/// How long a page may make requests: longer than a login lasts.
const LIFE_MAX: Duration = Duration::from_secs(24 * 3600);

/// The header field in which a page shows its token.
const TOKEN_FIELD: &str = "x-dovetail-token";

/// Makes the tokens of pages, and knows them again.
///
/// A token is the second in which it ends, and a hash of that under a key which only this server
/// has. So nothing is kept of the pages that were sent, and nobody who loads many of them can make
/// the server forget those of others.
pub(crate) struct Guard {
    key: Hmac<Sha256>,
    began: Instant,
}

impl Guard {
    pub fn new() -> Guard {
        let key = Hmac::new_from_slice(&runtime::entropy::<32>()).expect("a key has any length");
        Guard { key, began: time::now() }
    }

    /// A token for a new page.
    pub fn issue(&self) -> String {
        let end_s = (self.began.elapsed() + LIFE_MAX).as_secs();
        format!("{end_s:x}.{}", hexadecimal(&self.hash(end_s).finalize().into_bytes()))
    }

    /// Whether the request names this machine.
    ///
    /// # Errors
    /// The response for a request that does not.
    pub fn host(request: &Request) -> Result<(), Response> {
        match request.header("host").is_some_and(is_local) {
            true => Ok(()),
            false => Err(Response::text(421, "only names of this machine are answered here")),
        }
    }

    /// Whether the request comes from a page of ours.
    ///
    /// # Errors
    /// The response for a request that does not.
    pub fn page(&self, request: &Request) -> Result<(), Response> {
        let host = request.header("host").unwrap_or_default();
        let foreign = |origin: &str| origin != format!("http://{host}");
        if request.header("origin").is_some_and(foreign) {
            return Err(Response::text(403, "the request comes from a page of another site"));
        }
        if request.header("sec-fetch-site").is_some_and(|site| site != "same-origin") {
            return Err(Response::text(403, "the request comes from a page of another site"));
        }
        match request.header(TOKEN_FIELD).and_then(|token| self.end_s(token)) {
            Some(end_s) if self.began.elapsed().as_secs() < end_s => Ok(()),
            _ => Err(Response::text(403, "the page is too old: load it again")),
        }
    }

    fn hash(&self, end_s: u64) -> Hmac<Sha256> {
        self.key.clone().chain_update(end_s.to_le_bytes())
    }

    /// The second in which a token ends, if it is one of ours.
    fn end_s(&self, token: &str) -> Option<u64> {
        let (end, shown) = token.split_once('.')?;
        let end_s = u64::from_str_radix(end, 16).ok()?;
        // In a time that says nothing about how much of it is right.
        self.hash(end_s).verify_slice(&bytes(shown)?).ok()?;
        Some(end_s)
    }
}

/// 128 bits that nobody can guess, in hexadecimal digits.
pub(crate) fn secret() -> String {
    hexadecimal(&runtime::entropy::<16>())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that hexadecimal digits stand for.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        digits.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Whether a `Host` is this machine, at any port: it may be reached through a tunnel.
///
/// The whole text must be a host and a port: what is left over could be read by somebody else as
/// another host (RFC 9110, section 7.2).
fn is_local(host: &str) -> bool {
    let (name, rest) = match host.strip_prefix('[') {
        Some(v6) => v6.split_once(']').unwrap_or_default(),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = match rest.strip_prefix(':') {
        Some(port) => port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok(),
        None => rest.is_empty(),
    };
    let is_loopback = match name.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() && ip.is_ipv6() == host.starts_with('['),
        Err(_) => name.eq_ignore_ascii_case("localhost") && !host.starts_with('['),
    };
    is_port && is_loopback
}

#[cfg(test)]
mod tests;
