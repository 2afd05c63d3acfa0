//! The metadata service of a machine of EC2, version 2: a token first, then the name of the role, then
//! its keys. Version 1, which answers without a token, is never spoken.

use runtime::time::{self, Duration, Instant};

use super::Variables;
use super::call::{Caller, Reply, Service};
use super::issued::{Issued, refusal, unavailable};
use crate::encode;
use crate::error::{Error, ErrorKind, Result};
use crate::http::Request;
use crate::location::Endpoint;

/// Where no such service is nothing answers at all, and the machine is not to stand still for it. One
/// that is there answers within a millisecond.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// All three answers together.
const WAIT: Duration = Duration::from_secs(2);
/// As long as the service allows.
const TOKEN_LIFE_S: &str = "21600";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";

/// The service.
#[derive(Debug)]
pub(super) struct Metadata(Service);

impl Metadata {
    /// `None` where it is switched off.
    pub(super) fn from_variables(variable: Variables<'_>) -> Result<Option<Metadata>> {
        let off = variable("AWS_EC2_METADATA_DISABLED");
        if off.is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let is_ipv6 = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")
            .is_some_and(|mode| mode.eq_ignore_ascii_case("ipv6"));
        let usual = if is_ipv6 { "http://[fd00:ec2::254]" } else { "http://169.254.169.254" };
        let endpoint = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        let endpoint = Endpoint::parse(endpoint.as_deref().unwrap_or(usual))?;
        Ok(Some(Metadata(Service::of_this_machine(endpoint))))
    }

    /// The keys of the machine's role.
    ///
    /// # Errors
    /// `TimedOut` and `Connection` where there is no such service, `Denied` where the machine has no
    /// role.
    pub(super) async fn fetch(&self, caller: &Caller) -> Result<Issued> {
        let until = time::now() + WAIT;
        let token = self.token(caller, until).await?;
        let roles = self.get(caller, "", &token, until).await?;
        let role = roles.text()?.lines().next().unwrap_or_default().trim().to_owned();
        if role.is_empty() {
            return Err(Error::new(ErrorKind::Denied, "the machine has no role"));
        }
        let keys = self.get(caller, &encode::percent(&role, false), &token, until).await?;
        let issued = Issued::of_json(keys.text()?)?;
        match issued.expires_s {
            Some(_) => Ok(issued),
            None => Err(unavailable("the keys of a role have no end")),
        }
    }

    async fn token(&self, caller: &Caller, until: Instant) -> Result<String> {
        let life = ("x-aws-ec2-metadata-token-ttl-seconds".to_owned(), TOKEN_LIFE_S.to_owned());
        let reply = self.ask(caller, "PUT", "/latest/api/token".to_owned(), life, until).await?;
        match reply.is_success() {
            true => Ok(reply.text()?.trim().to_owned()),
            false => Err(refusal("the metadata service", "keys", reply.status)),
        }
    }

    async fn get(&self, caller: &Caller, role: &str, token: &str, until: Instant) -> Result<Reply> {
        let header = ("x-aws-ec2-metadata-token".to_owned(), token.to_owned());
        let reply = self.ask(caller, "GET", format!("{ROLES}{role}"), header, until).await?;
        match reply.is_success() {
            true => Ok(reply),
            false => Err(refusal("the metadata service", "keys", reply.status)),
        }
    }

    async fn ask(
        &self,
        caller: &Caller,
        method: &'static str,
        path: String,
        header: (String, String),
        until: Instant,
    ) -> Result<Reply> {
        let target = format!("{}{path}", self.0.endpoint.path);
        let request = Request { method, target, headers: vec![header], ..Request::default() };
        let wait = ANSWER_WAIT.min(until - time::now());
        caller.call(&self.0, request, wait).await
    }
}
