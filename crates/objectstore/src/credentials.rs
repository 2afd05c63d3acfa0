//! Who asks: keys, given as they are, by the environment, by a profile of a file, or fetched from a
//! service and renewed.

mod call;
mod chain;
mod client;
mod container;
mod google;
mod handed;
mod issued;
mod metadata;
mod profile;
#[cfg(test)]
mod tests;
mod web_identity;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runtime::time::{self, Instant};

pub(crate) use chain::Gives;

pub use chain::CredentialChain;
pub use client::TokenClient;
pub use handed::{Handing, SessionKeys};

use crate::error::{Error, ErrorKind, Result};

/// The variables of an environment.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A pair of keys, perhaps with the token of a session. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// Nobody in particular: requests are not signed.
    #[default]
    Anonymous,
    /// The holder of these keys.
    Keys(Keys),
    /// The bearer of a token (OAuth).
    Bearer(Token),
    /// The holder of keys or the bearer of a token that are fetched, and renewed before they expire: keys for stores
    /// that speak S3, tokens for Google and for servers of files.
    Fetched(CredentialChain),
}

/// Who asks at this moment.
pub(crate) enum Current<'a> {
    Given(&'a Credentials),
    Fetched(&'a CredentialChain, Arc<chain::Held>),
}

impl Current<'_> {
    pub(crate) fn credentials(&self) -> &Credentials {
        match self {
            Current::Given(credentials) => credentials,
            Current::Fetched(_, held) => &held.credentials,
        }
    }

    /// The store calls them expired. Whether there will be others.
    pub(crate) fn renew(&self) -> bool {
        match self {
            Current::Given(_) => false,
            Current::Fetched(chain, held) => chain.renew(held),
        }
    }
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub(crate) String);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl From<CredentialChain> for Credentials {
    fn from(chain: CredentialChain) -> Credentials {
        Credentials::Fetched(chain)
    }
}

impl Credentials {
    /// A key's id and secret: an access key of S3, an account's name and key (in base 64) of Azure.
    pub fn keys(id: impl Into<String>, secret: impl Into<String>) -> Credentials {
        Credentials::Keys(Keys { id: id.into(), secret: secret.into(), token: None })
    }

    /// The same for a session.
    pub fn session(
        id: impl Into<String>,
        secret: impl Into<String>,
        token: impl Into<String>,
    ) -> Credentials {
        let token = Some(token.into());
        Credentials::Keys(Keys { id: id.into(), secret: secret.into(), token })
    }

    /// An OAuth token.
    pub fn bearer(token: impl Into<String>) -> Credentials {
        Credentials::Bearer(Token(token.into()))
    }

    /// Those of `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; anonymous where
    /// there are none.
    ///
    /// # Errors
    /// `Invalid` when one of the first two is there without the other.
    pub fn from_environment() -> Result<Credentials> {
        Credentials::from_variables(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Credentials> {
        let keys = keys_of_variables(&variable)?;
        Ok(keys.map_or(Credentials::Anonymous, Credentials::Keys))
    }

    /// Those to sign with now; fetches some where that is needed, until `deadline` at the latest.
    ///
    /// # Errors
    /// What goes wrong with fetching.
    pub(crate) async fn current(&self, deadline: Instant) -> Result<Current<'_>> {
        let Credentials::Fetched(chain) = self else { return Ok(Current::Given(self)) };
        let late = |_| Error::new(ErrorKind::TimedOut, "no credentials came before the deadline");
        let held = time::timeout(deadline - time::now(), chain.current()).await.map_err(late)??;
        Ok(Current::Fetched(chain, held))
    }

    /// Those of a profile in a file of the form of `~/.aws/credentials`.
    ///
    /// # Errors
    /// `Invalid` when the file cannot be read or has no such profile with both keys.
    pub async fn from_profile(path: &Path, profile: &str) -> Result<Credentials> {
        let text = read(path).await?;
        profile::keys(&text, profile).map(Credentials::Keys)
    }

    /// The environment's; where there are none, those of the profile that `AWS_PROFILE` names (or
    /// `default`) in the file that `AWS_SHARED_CREDENTIALS_FILE` names (or `~/.aws/credentials`), if
    /// there is such a file.
    ///
    /// # Errors
    /// As the two.
    pub async fn find() -> Result<Credentials> {
        let found = Credentials::from_environment()?;
        if found != Credentials::Anonymous {
            return Ok(found);
        }
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let file = variable("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let of_home = || variable("HOME").map(|home| Path::new(&home).join(".aws/credentials"));
        let named = variable("AWS_PROFILE");
        let (is_named, profile) = (named.is_some(), named.unwrap_or_else(|| "default".to_owned()));
        let Some(path) = file.or_else(of_home) else { return Ok(Credentials::Anonymous) };
        let exists = runtime::fs::exists(&path).await.unwrap_or(false);
        match exists || is_named {
            true => Credentials::from_profile(&path, &profile).await,
            false => Ok(Credentials::Anonymous),
        }
    }
}

fn keys_of_variables(variable: Variables<'_>) -> Result<Option<Keys>> {
    let id = variable("AWS_ACCESS_KEY_ID");
    match (id, variable("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => {
            Ok(Some(Keys { id, secret, token: variable("AWS_SESSION_TOKEN") }))
        }
        (None, None) => Ok(None),
        _ => Err(Error::invalid(
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are of use together only",
        )),
    }
}

/// A file of credentials, at most.
const FILE_BYTES_MAX: u64 = 1 << 20;

async fn read(path: &Path) -> Result<String> {
    use runtime::fs::{File, OpenOptions};
    let unreadable = |error: std::io::Error| {
        Error::invalid(format!("the credentials of {} cannot be read: {error}", path.display()))
    };
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    let file = File::open(path, options).await.map_err(unreadable)?;
    let len = file.len().await.map_err(unreadable)?;
    if len > FILE_BYTES_MAX {
        return Err(Error::invalid(format!("{} is no file of credentials", path.display())));
    }
    let buf = runtime::IoBuf::alloc(len as usize);
    let (count, buf) = file.read_at(buf, 0).await;
    let count = count.map_err(unreadable)?;
    String::from_utf8(buf.as_slice()[..count].to_vec())
        .map_err(|_| Error::invalid(format!("{} is not text", path.display())))
}
