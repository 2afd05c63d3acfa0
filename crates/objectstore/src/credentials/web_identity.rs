//! Keys for a token that another one vouches for: `AssumeRoleWithWebIdentity` of the Security Token
//! Service.

use std::path::PathBuf;

use runtime::time::{self, Duration};

use super::call::{Caller, Reply, Service};
use super::issued::{Issued, refusal, unavailable};
use super::{Variables, read};
use crate::error::{Error, ErrorKind, Result};
use crate::http::Request;
use crate::location::Endpoint;
use crate::{encode, xml};

/// The service may have to ask whoever has made the token.
const WAIT: Duration = Duration::from_secs(10);
const KEYS: &str = "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials";

/// A role, and the file with the token that it is given for.
#[derive(Debug)]
pub(super) struct WebIdentity {
    service: Service,
    /// Changed now and then, so it is read each time.
    token_file: PathBuf,
    role: String,
    session: Option<String>,
}

impl WebIdentity {
    /// `None` where there is no such token.
    pub(super) fn from_variables(variable: Variables<'_>) -> Result<Option<WebIdentity>> {
        match (variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN")) {
            (Some(file), Some(role)) => {
                let session = variable("AWS_ROLE_SESSION_NAME");
                WebIdentity::new(file.into(), role, session, variable).map(Some)
            }
            (Some(_), None) => {
                Err(Error::invalid("AWS_WEB_IDENTITY_TOKEN_FILE is of use with AWS_ROLE_ARN only"))
            }
            (None, _) => Ok(None),
        }
    }

    pub(super) fn new(
        token_file: PathBuf,
        role: String,
        session: Option<String>,
        variable: Variables<'_>,
    ) -> Result<WebIdentity> {
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let usual = || match region {
            Some(region) if region.starts_with("cn-") => {
                format!("https://sts.{region}.amazonaws.com.cn")
            }
            Some(region) => format!("https://sts.{region}.amazonaws.com"),
            None => "https://sts.amazonaws.com".to_owned(),
        };
        let endpoint = Endpoint::parse(&variable("AWS_ENDPOINT_URL_STS").unwrap_or_else(usual))?;
        if !endpoint.is_secure && !endpoint.is_loopback() {
            let what = format!("a token is not sent in clear to {endpoint}: it needs https");
            return Err(Error::invalid(what));
        }
        Ok(WebIdentity { service: Service::remote(endpoint), token_file, role, session })
    }

    /// The keys of the role.
    ///
    /// # Errors
    /// What goes wrong; `Denied` when the token is not taken.
    pub(super) async fn fetch(&self, caller: &Caller) -> Result<Issued> {
        let token = read(&self.token_file).await?;
        let unique = || format!("dovetail-{}", time::unix_us());
        let session = self.session.clone().unwrap_or_else(unique);
        let fields = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("Version", "2011-06-15"),
            ("RoleArn", self.role.as_str()),
            ("RoleSessionName", session.as_str()),
            ("WebIdentityToken", token.trim()),
        ];
        let fields =
            fields.map(|(name, value)| format!("{name}={}", encode::percent(value, false)));
        let body = fields.join("&");
        let form = "application/x-www-form-urlencoded".to_owned();
        let request = Request {
            method: "POST",
            target: format!("{}/", self.service.endpoint.path),
            headers: vec![("content-type".to_owned(), form)],
            body: body.as_bytes(),
            ..Request::default()
        };
        let reply = caller.call(&self.service, request, WAIT).await?;
        if reply.is_success() { keys(reply.text()?) } else { Err(complaint(&reply)) }
    }
}

fn keys(text: &str) -> Result<Issued> {
    let (mut id, mut secret, mut token, mut expires) = (None, None, None, None);
    let walked = xml::walk(text, |path, text| match path.strip_prefix(KEYS).unwrap_or_default() {
        "/AccessKeyId" => id = Some(text),
        "/SecretAccessKey" => secret = Some(text),
        "/SessionToken" => token = Some(text),
        "/Expiration" => expires = Some(text),
        _ => {}
    });
    walked.map_err(|_| unavailable("the answer is no document with keys"))?;
    Issued::of(id, secret, token, expires)
}

/// What the service says: its code alone, since a message may repeat the token.
fn complaint(reply: &Reply) -> Error {
    let mut code = None;
    let text = String::from_utf8_lossy(&reply.body);
    // What cannot be read to its end may have said something by then.
    let _ = xml::walk(&text, |path, text| {
        if path == "ErrorResponse/Error/Code" {
            code =
                Some(text.chars().filter(char::is_ascii_alphanumeric).take(64).collect::<String>());
        }
    });
    let error = refusal("the token service", "keys", reply.status);
    match code.as_deref() {
        // It could not reach whoever has made the token, and says that with a status of refusal.
        Some("IDPCommunicationError") => {
            Error::new(ErrorKind::Unavailable, error.to_string()).with_code(code)
        }
        _ => error.with_code(code),
    }
}
