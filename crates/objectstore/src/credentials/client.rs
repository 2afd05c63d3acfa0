//! Tokens for the id and secret of a client: the grant `client_credentials` of OAuth 2.0 (RFC 6749, section 4.4), as
//! REST catalogs of Iceberg speak it.

use std::fmt;

use runtime::time::{self, Duration};
use serde_json::Value;

use super::call::{Caller, Service};
use super::issued::{Issued, refusal, unavailable};
use super::{Credentials, Token};
use crate::allow::AllowList;
use crate::encode;
use crate::error::{Error, Result};
use crate::location::Endpoint;

/// The service may have to ask a directory.
const WAIT: Duration = Duration::from_secs(10);

/// How long a token is good of which that is not said.
const LIFE_S: i64 = 3600;

/// A client, and who gives it tokens.
#[derive(Clone, Default)]
pub struct TokenClient {
    /// Where tokens are asked for.
    pub url: String,
    /// Its name there.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// What the tokens are to be for, if that is to be said.
    pub scope: Option<String>,
}

impl fmt::Debug for TokenClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenClient(..)")
    }
}

/// A client that can ask.
pub(super) struct Grant {
    service: Service,
    client: TokenClient,
}

impl Grant {
    pub(super) fn new(client: TokenClient, allow: AllowList) -> Result<Grant> {
        let endpoint = Endpoint::parse(&client.url)?;
        if !endpoint.is_secure && !endpoint.is_loopback() {
            let host = endpoint.authority();
            let what = format!("a secret is not sent in clear to {host}: it needs https");
            return Err(Error::invalid(what));
        }
        allow.check_host(&endpoint)?;
        if let Ok(address) = endpoint.host.parse() {
            allow.check_address(address)?;
        }
        Ok(Grant { service: Service { endpoint, allow }, client })
    }

    /// A token.
    ///
    /// # Errors
    /// What goes wrong; `Denied` when the client is not known.
    pub(super) async fn fetch(&self, caller: &Caller) -> Result<Issued> {
        let mut body = "grant_type=client_credentials".to_owned();
        let scope = self.client.scope.as_ref().map(|scope| ("scope", scope));
        let client = [("client_id", &self.client.id), ("client_secret", &self.client.secret)];
        for (name, value) in client.into_iter().chain(scope) {
            body += &format!("&{name}={}", encode::percent(value, false));
        }
        // The life of a token is counted from before it was made.
        let asked_s = time::unix_us().div_euclid(1_000_000);
        let reply = caller.call(&self.service, self.service.form(&body), WAIT).await?;
        match reply.is_success() {
            true => token(reply.text()?, asked_s),
            false => {
                let host = self.service.endpoint.authority();
                Err(refusal(&format!("the token service at {host}"), "token", reply.status))
            }
        }
    }
}

/// By RFC 6749, section 5.1.
pub(super) fn token(text: &str, asked_s: i64) -> Result<Issued> {
    let wrong = || unavailable("the answer is no document with a token");
    let document: Value = serde_json::from_str(text).map_err(|_| wrong())?;
    let token = document.get("access_token").and_then(Value::as_str);
    let token = token.filter(|token| !token.is_empty()).ok_or_else(wrong)?;
    let kind = document.get("token_type").and_then(Value::as_str).unwrap_or("bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(unavailable("the answer has a token of another type than bearer"));
    }
    // Some services write the number as text.
    let life_s: Option<i64> = document.get("expires_in").and_then(|life| match life {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    });
    let expires_s = Some(asked_s.saturating_add(life_s.unwrap_or(LIFE_S)));
    Ok(Issued { credentials: Credentials::Bearer(Token(token.to_owned())), expires_s })
}
