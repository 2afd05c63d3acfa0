//! Who asks: keys, given as they are, by the environment, or by a profile of a file.

mod profile;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

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

impl Credentials {
    /// A key's id and secret: an access key of S3, an HMAC key of Google, an account's name and key
    /// (in base 64) of Azure.
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
        let id = variable("AWS_ACCESS_KEY_ID");
        match (id, variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(id), Some(secret)) => {
                Ok(Credentials::Keys(Keys { id, secret, token: variable("AWS_SESSION_TOKEN") }))
            }
            (None, None) => Ok(Credentials::Anonymous),
            _ => Err(Error::invalid(
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are of use together only",
            )),
        }
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
