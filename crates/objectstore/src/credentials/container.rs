//! The service that gives keys to the containers of ECS and EKS.

use std::net::IpAddr;
use std::path::PathBuf;

use runtime::time::Duration;

use super::call::{Caller, Service};
use super::issued::{Issued, refusal};
use super::{Variables, read};
use crate::error::{Error, Result};
use crate::http::{Request, is_plain};
use crate::location::Endpoint;

/// The service is on this machine, and may have to ask another one.
const WAIT: Duration = Duration::from_secs(5);
const ECS: &str = "http://169.254.170.2";
/// The only addresses that are asked without TLS, beside those of this machine.
const IN_CLEAR: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];

/// The service, and what it is asked with.
#[derive(Debug)]
pub(super) struct Container {
    service: Service,
    /// Path and query; never shown.
    target: Target,
    authorization: Authorization,
}

struct Target(String);

/// How the container shows which one it is.
enum Authorization {
    None,
    Given(String),
    /// The file is changed now and then, so it is read each time.
    File(PathBuf),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

impl std::fmt::Debug for Authorization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

impl Container {
    /// `None` outside of such a container.
    pub(super) fn from_variables(variable: Variables<'_>) -> Result<Option<Container>> {
        let relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        let full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        let (base, target) = match (relative, full) {
            (Some(path), _) => (ECS.to_owned(), path),
            (None, Some(url)) => parts(&url)?,
            (None, None) => return Ok(None),
        };
        if !target.starts_with('/') || target.contains(' ') || !is_plain(&target) {
            return Err(Error::invalid("the URI of the container's keys is no path"));
        }
        let endpoint = Endpoint::parse(&base)?;
        if !endpoint.is_secure && !endpoint.is_loopback() && !is_known(&endpoint) {
            let what = format!("keys of a container are not fetched in clear from {endpoint}");
            return Err(Error::invalid(what));
        }
        let file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").map(PathBuf::from);
        let given = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        let authorization = match (file, given) {
            (Some(file), _) => Authorization::File(file),
            (None, Some(token)) => Authorization::Given(token),
            (None, None) => Authorization::None,
        };
        let service = Service::of_this_machine(endpoint);
        Ok(Some(Container { service, target: Target(target), authorization }))
    }

    /// The keys of the container's role.
    ///
    /// # Errors
    /// What goes wrong.
    pub(super) async fn fetch(&self, caller: &Caller) -> Result<Issued> {
        let authorization = match &self.authorization {
            Authorization::None => None,
            Authorization::Given(token) => Some(token.clone()),
            Authorization::File(path) => Some(read(path).await?.trim().to_owned()),
        };
        let headers = authorization.map(|token| ("authorization".to_owned(), token));
        let (method, target) = ("GET", self.target.0.clone());
        let request = Request {
            method,
            target,
            headers: headers.into_iter().collect(),
            ..Request::default()
        };
        let reply = caller.call(&self.service, request, WAIT).await?;
        match reply.is_success() {
            true => Issued::of_json(reply.text()?),
            false => Err(refusal("the container's service", "keys", reply.status)),
        }
    }
}

/// Scheme, host and port; path and query.
fn parts(url: &str) -> Result<(String, String)> {
    let wrong = || Error::invalid("the URI of the container's keys is none of http or https");
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(at);
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    Ok((format!("{scheme}://{authority}"), target))
}

fn is_known(endpoint: &Endpoint) -> bool {
    let address = endpoint.host.parse::<IpAddr>().ok();
    address.is_some_and(|address| {
        IN_CLEAR.iter().any(|known| known.parse::<IpAddr>().ok() == Some(address))
    })
}
