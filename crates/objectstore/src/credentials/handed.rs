//! Keys that somebody has handed out who is no source of this machine, as catalogs do for the files of a table. Whoever
//! was given them knows how to ask for others.

use std::fmt;
use std::pin::Pin;

use super::issued::Issued;
use super::{Credentials, Keys};
use crate::error::{Error, ErrorKind, Result};

/// A pair of keys, perhaps with the token of a session. Never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionKeys {
    /// The id of the key.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// The token of the session.
    pub token: Option<String>,
    /// Until when they are good, in seconds since 1970; `None` where nobody has said.
    pub expires_s: Option<i64>,
}

/// Asks for others; gives none where the answer has none any more.
pub type Handing = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Given>>> + Send + Sync>;

type Given = Result<Option<SessionKeys>>;

impl fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKeys(..)")
    }
}

impl From<SessionKeys> for Issued {
    fn from(keys: SessionKeys) -> Issued {
        let SessionKeys { id, secret, token, expires_s } = keys;
        Issued { credentials: Credentials::Keys(Keys { id, secret, token }), expires_s }
    }
}

/// The next ones.
///
/// # Errors
/// Those of asking; `Denied` when there are none any more.
pub(super) async fn next(again: &Handing) -> Result<Issued> {
    let given = again().await?.map(Issued::from);
    given.ok_or_else(|| Error::new(ErrorKind::Denied, "the answer has no keys any more"))
}
