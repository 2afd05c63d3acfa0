//! Keys of S3 that a catalog hands out for the files of a table. Neither they nor what stands in their place is shown:
//! errors name a member and never its value.

use std::fmt;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::catalog::CatalogConfig;
use crate::document::Object;
use crate::fault::{Error, Result};

const ID: &str = "s3.access-key-id";
const SECRET: &str = "s3.secret-access-key";
const TOKEN: &str = "s3.session-token";
const EXPIRES: &str = "s3.session-token-expires-at-ms";

/// Kinds of stores that are S3, as names of objects begin.
const SCHEMES: [&str; 3] = ["s3", "s3a", "s3n"];

/// Sets of keys of one table, at most: for each of its files the one that fits is looked for.
const SETS_MAX: usize = 1000;

/// Where a store is, as far as that is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePlace {
    /// Where requests go, if not to AWS.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// Whether the bucket's name stands in the path.
    pub path_style: Option<bool>,
}

/// A set of keys, and for which files it is.
#[derive(Clone, PartialEq, Eq)]
pub struct VendedKeys {
    /// What the names of the files begin with, by whole parts and without a slash at the end; `s3://` for all.
    pub prefix: String,
    /// The id of the key.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// The token of a session.
    pub token: Option<String>,
    /// Until when they are good, in milliseconds since 1970.
    pub expires_ms: Option<i64>,
    /// Where they are to be sent.
    pub store: StorePlace,
}

/// What is wanted of the answer to who asks for a table; the metadata is passed over.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    config: Json,
    #[serde(default, rename = "storage-credentials")]
    credentials: Json,
}

impl fmt::Debug for VendedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VendedKeys(for {})", self.prefix)
    }
}

impl StorePlace {
    pub(crate) fn of(properties: Object<'_>) -> Result<StorePlace> {
        let text = |name| given(properties, name).map(|text| text.map(str::to_owned));
        let path_style = match given(properties, "s3.path-style-access")? {
            None => None,
            Some(text) => Some(truth(text)?),
        };
        let region = match text("s3.region")? {
            Some(region) => Some(region),
            None => text("client.region")?,
        };
        Ok(StorePlace { endpoint: text("s3.endpoint")?, region, path_style })
    }

    /// The same, with what it does not say as another one has it.
    pub(crate) fn or(self, other: &StorePlace) -> StorePlace {
        StorePlace {
            endpoint: self.endpoint.or_else(|| other.endpoint.clone()),
            region: self.region.or_else(|| other.region.clone()),
            path_style: self.path_style.or(other.path_style),
        }
    }
}

impl VendedKeys {
    /// All sets of an answer: the one for the whole table, and behind it those of its prefixes. None of them has
    /// anything of another one; where the store is, the table and the catalog say for all that do not say it themselves.
    ///
    /// # Errors
    /// Damaged: a key without its secret, what is no text, and others.
    pub fn of_answer(bytes: &[u8], catalog: &CatalogConfig) -> Result<Vec<VendedKeys>> {
        let answer: Answer = serde_json::from_slice(bytes).map_err(|e| unreadable(&e))?;
        let config = match answer.config {
            Json::Null => Json::Object(serde_json::Map::new()),
            config => config,
        };
        let config = Object::of(&config, "\"config\"")?;
        let store = StorePlace::of(config)?.or(catalog.store());
        // Of sets for the same prefix the last one counts: those of prefixes go before the one for the whole table.
        let mut sets: Vec<_> =
            VendedKeys::of("s3://".to_owned(), config, &store)?.into_iter().collect();
        for one in credentials(&answer.credentials)? {
            let one = Object::of(one, "an element of \"storage-credentials\"")?;
            let properties = one.get("config").ok_or_else(|| missing("config"))?;
            let properties = Object::of(properties, "\"config\"")?;
            if let Some(prefix) = scope_of(one.text("prefix")?) {
                sets.extend(VendedKeys::of(prefix, properties, &store)?);
            }
        }
        Ok(sets)
    }

    /// Those of some properties, if there are any.
    fn of(prefix: String, from: Object<'_>, store: &StorePlace) -> Result<Option<VendedKeys>> {
        let token = given(from, TOKEN)?.map(str::to_owned);
        let (id, secret) = match (given(from, ID)?, given(from, SECRET)?) {
            (None, None) if token.is_none() => return Ok(None),
            (Some(id), Some(secret)) => (id.to_owned(), secret.to_owned()),
            (None, _) => return Err(missing(ID)),
            (_, None) => return Err(missing(SECRET)),
        };
        let wrong = |_| Error::damaged(format!("\"{EXPIRES}\" is no number of milliseconds"));
        let expires_ms = given(from, EXPIRES)?.map(|text| text.parse().map_err(wrong));
        let store = StorePlace::of(from)?.or(store);
        Ok(Some(VendedKeys {
            prefix,
            id,
            secret,
            token,
            expires_ms: expires_ms.transpose()?,
            store,
        }))
    }
}

fn credentials(all: &Json) -> Result<&[Json]> {
    let list = match all {
        Json::Null => &[],
        Json::Array(list) => list.as_slice(),
        _ => return Err(Error::damaged("\"storage-credentials\" is no list")),
    };
    match list.len() > SETS_MAX {
        true => Err(Error::too_large(format!("keys for more than {SETS_MAX} prefixes"))),
        false => Ok(list),
    }
}

/// What a prefix stands for among the names of objects; `None` of what is in no store of S3. Some catalogs write only
/// `s3`.
fn scope_of(prefix: &str) -> Option<String> {
    let (scheme, rest) = prefix.split_once("://").unwrap_or((prefix.trim_end_matches(':'), ""));
    SCHEMES.contains(&scheme).then(|| format!("s3://{}", rest.trim_end_matches('/')))
}

/// A text that is there and not empty.
fn given<'a>(properties: Object<'a>, name: &str) -> Result<Option<&'a str>> {
    Ok(properties.text_if(name)?.filter(|text| !text.is_empty()))
}

fn truth(text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Error::damaged("\"s3.path-style-access\" is neither true nor false")),
    }
}

fn missing(name: &str) -> Error {
    Error::damaged(format!("\"{name}\" is missing in the keys that the catalog hands out"))
}

/// Where an answer goes wrong. What stands there may be a key, so it is not told.
fn unreadable(error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    Error::damaged(format!("it is no answer about a table (line {line}, column {column})"))
}

#[cfg(test)]
mod tests;
