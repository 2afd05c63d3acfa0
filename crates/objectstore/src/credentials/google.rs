//! Tokens of Google, from where its own libraries take them ("Application Default Credentials"): the file that
//! `GOOGLE_APPLICATION_CREDENTIALS` names, the one that gcloud has written, the metadata service of the machine.

use std::fmt;
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use runtime::time::{self, Duration};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use super::call::{Caller, Reply, Service};
use super::client::token;
use super::issued::{Issued, refusal};
use super::{Variables, read};
use crate::encode;
use crate::error::{Error, Result};
use crate::http::Request;
use crate::location::Endpoint;

/// What the tokens are for: objects, to be read and written.
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";
/// Where tokens are asked for, unless the file says so.
const TOKENS: &str = "https://oauth2.googleapis.com/token";
const BEARER_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const METADATA_PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
const WAIT: Duration = Duration::from_secs(10);
/// One that is there answers within a millisecond.
const METADATA_WAIT: Duration = Duration::from_secs(1);
/// How long an assertion of ours is good: as long as Google takes one.
const ASSERTION_LIFE_S: i64 = 3600;

/// A file that says who asks.
#[derive(Debug)]
pub(super) struct AccountFile {
    path: PathBuf,
    /// It was asked for by its name, so it has to be there.
    is_named: bool,
}

/// The metadata service of a machine at Google.
#[derive(Debug)]
pub(super) struct GoogleMetadata(Service);

/// Who asks, by the file.
enum Account {
    /// Signs an assertion of its own.
    Service { email: String, key_id: Option<String>, key: Box<RsaKeyPair> },
    /// A person who has given gcloud a token to be exchanged for others.
    User { id: String, secret: String, refresh: String },
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Account(..)")
    }
}

impl AccountFile {
    pub(super) fn from_variables(variable: Variables<'_>) -> Option<AccountFile> {
        if let Some(path) = variable("GOOGLE_APPLICATION_CREDENTIALS") {
            return Some(AccountFile { path: path.into(), is_named: true });
        }
        let folder = variable("CLOUDSDK_CONFIG").map(PathBuf::from);
        let of_home = || Some(PathBuf::from(variable("HOME")?).join(".config/gcloud"));
        let path = folder.or_else(of_home)?.join("application_default_credentials.json");
        Some(AccountFile { path, is_named: false })
    }

    /// `None` where there is no file.
    ///
    /// # Errors
    /// `Invalid` for a file that is of no use, and what goes wrong with asking.
    pub(super) async fn fetch(&self, caller: &Caller) -> Result<Option<Issued>> {
        if !self.is_named && !runtime::fs::exists(&self.path).await.unwrap_or(false) {
            return Ok(None);
        }
        let text = read(&self.path).await?;
        let (account, service) = account(&text)
            .map_err(|why| Error::invalid(format!("{}: {why}", self.path.display())))?;
        let asked_s = time::unix_us().div_euclid(1_000_000);
        let body = account.form(&service, asked_s)?;
        let reply = caller.call(&service, service.form(&body), WAIT).await?;
        issued(&reply, &format!("the token service at {}", service.endpoint.authority()), asked_s)
            .map(Some)
    }
}

/// Who asks and where, by the text of a file. Errors repeat nothing of it but the type.
fn account(text: &str) -> std::result::Result<(Account, Service), String> {
    let document: Value = serde_json::from_str(text).map_err(|_| "it is no JSON".to_owned())?;
    let field = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
    let needed = |name: &str| field(name).ok_or_else(|| format!("it has no {name}"));
    let account = match field("type").as_deref() {
        Some("service_account") => {
            let (email, key_id) = (needed("client_email")?, field("private_key_id"));
            let key = PrivatePkcs8KeyDer::from_pem_slice(needed("private_key")?.as_bytes());
            let key = key.map_err(|_| "its private_key is none".to_owned())?;
            let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der());
            let key = key.map_err(|_| "its private_key is no key of RSA".to_owned())?;
            Account::Service { email, key_id, key: Box::new(key) }
        }
        Some("authorized_user") => {
            let (id, secret) = (needed("client_id")?, needed("client_secret")?);
            Account::User { id, secret, refresh: needed("refresh_token")? }
        }
        Some(other) => {
            let other: String = other.chars().filter(char::is_ascii_graphic).take(64).collect();
            return Err(format!("accounts of the type {other} are not understood"));
        }
        None => return Err("it has no type".to_owned()),
    };
    let url = field("token_uri").unwrap_or_else(|| TOKENS.to_owned());
    let endpoint = Endpoint::parse(&url).map_err(|error| error.to_string())?;
    if !endpoint.is_secure && !endpoint.is_loopback() {
        return Err("its token_uri needs https".to_owned());
    }
    Ok((account, Service::remote(endpoint)))
}

impl Account {
    /// What is sent for a token.
    fn form(&self, service: &Service, unix_s: i64) -> Result<String> {
        let pairs = match self {
            Account::Service { email, key_id, key } => {
                let assertion = assertion(email, key_id.as_deref(), key, service, unix_s)?;
                vec![("grant_type", BEARER_GRANT.to_owned()), ("assertion", assertion)]
            }
            Account::User { id, secret, refresh } => vec![
                ("grant_type", "refresh_token".to_owned()),
                ("client_id", id.clone()),
                ("client_secret", secret.clone()),
                ("refresh_token", refresh.clone()),
            ],
        };
        let pair =
            |(name, value): &(&str, String)| format!("{name}={}", encode::percent(value, false));
        Ok(pairs.iter().map(pair).collect::<Vec<_>>().join("&"))
    }
}

/// A JSON web token (RFC 7523) by which the account says who it is.
fn assertion(
    email: &str,
    key_id: Option<&str>,
    key: &RsaKeyPair,
    service: &Service,
    unix_s: i64,
) -> Result<String> {
    let mut header = json!({ "alg": "RS256", "typ": "JWT" });
    if let Some(id) = key_id {
        header["kid"] = json!(id);
    }
    let claims = json!({
        "iss": email,
        "scope": SCOPE,
        "aud": service.endpoint.to_string(),
        "iat": unix_s,
        "exp": unix_s + ASSERTION_LIFE_S,
    });
    let encoded = |part: &Value| BASE64_URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encoded(&header), encoded(&claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| Error::invalid("the key of the account signs nothing"))?;
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

fn issued(reply: &Reply, service: &str, asked_s: i64) -> Result<Issued> {
    match reply.is_success() {
        true => token(reply.text()?, asked_s),
        false => Err(refusal(service, "token", reply.status)),
    }
}

/// The name by which machines know their metadata service, and its address: names that lead to such addresses
/// are asked by nobody.
const METADATA_NAME: &str = "metadata.google.internal";
const METADATA_ADDRESS: &str = "169.254.169.254";

impl GoogleMetadata {
    /// `None` where it is switched off.
    ///
    /// # Errors
    /// `Invalid` for a host that is none.
    pub(super) fn from_variables(variable: Variables<'_>) -> Result<Option<GoogleMetadata>> {
        if variable("NO_GCE_CHECK").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let named = variable("GCE_METADATA_HOST").filter(|host| host != METADATA_NAME);
        let host = named.unwrap_or_else(|| METADATA_ADDRESS.to_owned());
        let endpoint = Endpoint::parse(&format!("http://{host}"))?;
        Ok(Some(GoogleMetadata(Service::of_this_machine(endpoint))))
    }

    /// A token of the machine's account.
    ///
    /// # Errors
    /// `TimedOut` and `Connection` where there is no such service, `Denied` where the machine has no
    /// account.
    pub(super) async fn fetch(&self, caller: &Caller) -> Result<Issued> {
        let header = ("metadata-flavor".to_owned(), "Google".to_owned());
        let target = format!("{}{METADATA_PATH}", self.0.endpoint.path);
        let request =
            Request { method: "GET", target, headers: vec![header], ..Request::default() };
        let asked_s = time::unix_us().div_euclid(1_000_000);
        let reply = caller.call(&self.0, request, METADATA_WAIT).await?;
        issued(&reply, "the metadata service", asked_s)
    }
}
