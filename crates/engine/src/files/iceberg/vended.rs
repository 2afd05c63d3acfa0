//! Keys that a catalog has handed out for the files of a table: which of them a file is read with, where they may be
//! sent, and how others are got when their time is over. They are shown nowhere, and go with the statement.

use std::fmt;
use std::sync::Arc;

use iceberg::{StorePlace, VendedKeys};
use objectstore::{CredentialChain, ErrorKind, Handing, SessionKeys};
use types::{SqlError, SqlResult, SqlState};

use super::lake::{self, server_of};
use super::rest::Question;
use crate::catalog::snapshot::Snapshot;
use crate::objects::fault::of_store;
use crate::objects::location::{Location, is_within};
use crate::objects::path::ObjectPath;
use crate::objects::stores::Bucket;
use crate::secrets::stored::StoredSecret;

/// All sets of keys of a table; none for one that no catalog has.
#[derive(Default)]
pub(super) struct Vended {
    /// The URL of the catalog.
    catalog: String,
    sets: Vec<Set>,
}

/// Keys, and for which files they are.
struct Set {
    /// What the names of the files begin with.
    prefix: String,
    /// Where the store is, as far as the catalog says.
    place: StorePlace,
    keys: CredentialChain,
}

impl fmt::Debug for Vended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vended({} sets)", self.sets.len())
    }
}

impl Vended {
    /// Those of the answer of a catalog that has been asked so.
    ///
    /// # Errors
    /// XX001 for keys that are none.
    pub(super) fn of_answer(answer: &[u8], asked: &Arc<Question>, path: &str) -> SqlResult<Vended> {
        let found = VendedKeys::of_answer(answer, &asked.config).map_err(|error| {
            let hint = "With vended_credentials => false the keys of secrets are used instead.";
            lake::fault(path, &error).with_hint(hint)
        })?;
        let catalog = asked.bucket.location.to_string();
        let set = |found: VendedKeys| {
            let again = again(asked, &found.prefix);
            let (prefix, place) = (found.prefix.clone(), found.store.clone());
            let keys = CredentialChain::handed_out(session_keys(found), again);
            let keys = keys.map_err(|error| of_store(&error, &asked.bucket.location))?;
            Ok(Set { prefix, place, keys })
        };
        let sets = found.into_iter().map(set).collect::<SqlResult<_>>()?;
        Ok(Vended { catalog, sets })
    }

    /// The bucket of a file. Of the sets whose prefix it lies below that with the longest is for it, unless a secret has
    /// a longer scope. Where the store is, the secret says as far as the catalog does not.
    ///
    /// # Errors
    /// 42501 when the keys are to be sent to a host that nobody has named who runs the database; those of opening it.
    pub(super) fn bucket_of(&self, path: &ObjectPath, snapshot: &Snapshot) -> SqlResult<Bucket> {
        let fitting = self.sets.iter().filter(|set| is_within(&path.text, &set.prefix));
        let secret = snapshot.secret_of(&path.text);
        let of_secret = secret.map_or(0, |secret| length(&secret.scope));
        let longest = fitting.max_by_key(|set| length(&set.prefix));
        let Some(set) = longest.filter(|set| length(&set.prefix) >= of_secret) else {
            return snapshot.bucket_of(path);
        };
        if let Some(endpoint) = &set.place.endpoint {
            self.check(endpoint, snapshot)?;
        }
        let store = store_of(set, secret);
        snapshot.stores.open_as(set.keys.clone().into(), &store, &path.location)
    }

    /// Whether keys may be sent to an endpoint. It is the word of a server.
    fn check(&self, endpoint: &str, snapshot: &Snapshot) -> SqlResult<()> {
        let server = server_of(endpoint);
        let is_named = snapshot.endpoints().any(|named| server_of(named) == server);
        let is_known = server == server_of(&self.catalog) || is_named || is_amazon(endpoint);
        if is_known || snapshot.names_server_of(endpoint) {
            return Ok(());
        }
        // What is no plain URL may have anything in it.
        let shown = Location::parse(endpoint).map_or("..".to_owned(), |url| url.bucket);
        let message =
            format!("the catalog \"{}\" names the endpoint \"{shown}\" for files", self.catalog);
        Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
            .with_detail("It is another server than the catalog's, and no secret names it.")
            .with_hint(
                "List its host in object_store_hosts, create a secret with this endpoint, or say \
                 vended_credentials => false.",
            ))
    }
}

/// Whether requests would go there, too, if no endpoint was named.
fn is_amazon(endpoint: &str) -> bool {
    let server = server_of(endpoint).map(|(_, host)| host).unwrap_or_default();
    let is_plain = server.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    endpoint.starts_with("https://s3.") && server.ends_with(".amazonaws.com") && is_plain
}

/// Scopes are compared without the slashes at their ends.
fn length(scope: &str) -> usize {
    scope.trim_end_matches('/').len()
}

/// Where the store of a set is; without keys.
fn store_of(set: &Set, secret: Option<&StoredSecret>) -> StoredSecret {
    let of_secret = |field: fn(&StoredSecret) -> Option<String>| secret.and_then(field);
    let StorePlace { endpoint, region, path_style } = set.place.clone();
    StoredSecret {
        scope: set.prefix.clone(),
        endpoint: endpoint.or_else(|| of_secret(|secret| secret.endpoint.clone())),
        region: region.or_else(|| of_secret(|secret| secret.region.clone())),
        path_style: path_style.unwrap_or_else(|| secret.is_some_and(|secret| secret.path_style)),
        ..StoredSecret::default()
    }
}

fn session_keys(keys: VendedKeys) -> SessionKeys {
    let VendedKeys { id, secret, token, expires_ms, .. } = keys;
    SessionKeys { id, secret, token, expires_s: expires_ms.map(|ms| ms.div_euclid(1000)) }
}

/// How other keys are got for a prefix: the catalog is asked for the table once more.
fn again(asked: &Arc<Question>, prefix: &str) -> Handing {
    let (asked, prefix) = (asked.clone(), prefix.to_owned());
    Box::new(move || {
        let (asked, prefix) = (asked.clone(), prefix.clone());
        Box::pin(async move {
            // That the table has gone from the catalog does not mean that the file of a scan has. There are no keys
            // for it any more, nor are there in an answer that is none.
            let answer = match asked.answer().await {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                answer => answer?,
            };
            let found = VendedKeys::of_answer(&answer, &asked.config).unwrap_or_default();
            // Of several for the same prefix the last one counts, as it did before.
            let keys = found.into_iter().rev().find(|keys| keys.prefix == prefix);
            Ok(keys.map(session_keys))
        })
    })
}
