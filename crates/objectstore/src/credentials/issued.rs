//! Keys and tokens that a service has issued for a while, and the documents that keys come in.

use serde_json::Value;

use super::{Credentials, Keys};
use crate::date;
use crate::error::{Error, ErrorKind, Result};

/// Keys or a token, and until when they are good.
#[derive(Clone, Debug)]
pub(super) struct Issued {
    pub(super) credentials: Credentials,
    /// Seconds since 1970; `None` for keys that are good until somebody changes them.
    pub(super) expires_s: Option<i64>,
}

impl From<Keys> for Issued {
    fn from(keys: Keys) -> Issued {
        Issued { credentials: Credentials::Keys(keys), expires_s: None }
    }
}

impl Issued {
    /// Of the texts of a document; `None` for what is missing in it.
    pub(super) fn of(
        id: Option<String>,
        secret: Option<String>,
        token: Option<String>,
        expires: Option<String>,
    ) -> Result<Issued> {
        let there = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (Some(id), Some(secret)) = (there(id), there(secret)) else {
            return Err(unavailable("the answer has no keys"));
        };
        let expires_s = match expires {
            None => None,
            Some(text) => {
                let moment = date::parse(&text);
                Some(moment.ok_or_else(|| unavailable("the answer ends at no known moment"))?)
            }
        };
        let credentials = Credentials::Keys(Keys { id, secret, token: there(token) });
        Ok(Issued { credentials, expires_s })
    }

    /// Of the document of a container's service or of a metadata service.
    pub(super) fn of_json(text: &str) -> Result<Issued> {
        let document: Value = serde_json::from_str(text)
            .map_err(|_| unavailable("the answer is no document with keys"))?;
        let field = |name: &str| document.get(name)?.as_str().map(str::to_owned);
        if let Some(code) = field("Code").filter(|code| code != "Success") {
            let code: String = code.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
            return Err(unavailable(&format!("it says {code}")));
        }
        Issued::of(
            field("AccessKeyId"),
            field("SecretAccessKey"),
            field("Token"),
            field("Expiration"),
        )
    }
}

/// Another try may help.
pub(super) fn unavailable(why: &str) -> Error {
    Error::new(ErrorKind::Unavailable, why)
}

/// Why a status is no success; what the body says is not shown, it may have secrets.
pub(super) fn refusal(service: &str, what: &str, status: u16) -> Error {
    let kind = match status {
        400..=499 if status != 408 && status != 429 => ErrorKind::Denied,
        _ => ErrorKind::Unavailable,
    };
    Error::new(kind, format!("{service} gives no {what}")).with_status(status)
}
