//! Who may use the console: a page that this server sent to a browser that asked it by its name.
//!
//! Three checks, each alone enough against one attack: the `Host` must be a name of this machine
//! (DNS rebinding), the `Origin` must be that host and `Sec-Fetch-Site` the same origin (requests
//! that another site's page makes), and each request carries the token of its page (the same, for
//! browsers that send neither).

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::request::Request;
use super::response::Response;

/// Pages whose tokens are known; older ones have to be loaded again.
const TOKEN_COUNT_MAX: usize = 1024;

/// The header field in which a page shows its token.
const TOKEN_FIELD: &str = "x-dovetail-token";

/// Tokens of the pages that were sent.
#[derive(Default)]
pub(crate) struct Guard(Mutex<VecDeque<String>>);

impl Guard {
    /// A token for a new page.
    pub fn issue(&self) -> String {
        let token = secret();
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() == TOKEN_COUNT_MAX {
            tokens.pop_front();
        }
        tokens.push_back(token.clone());
        token
    }

    /// Whether the request names this machine.
    ///
    /// # Errors
    /// The response for a request that does not.
    pub fn host(request: &Request) -> Result<(), Response> {
        match request.header("host").is_some_and(is_local) {
            true => Ok(()),
            false => Err(Response::text(421, "the console answers to names of this machine only")),
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
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match request.header(TOKEN_FIELD) {
            Some(shown) if tokens.iter().any(|token| token == shown) => Ok(()),
            _ => Err(Response::text(403, "the page is too old: load it again")),
        }
    }
}

/// 128 bits that nobody can guess, in hexadecimal digits.
pub(crate) fn secret() -> String {
    runtime::entropy::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a `Host` is this machine, at any port: it may be reached through a tunnel.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;
