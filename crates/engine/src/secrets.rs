//! Keys of object stores: `CREATE SECRET` and `DROP SECRET`. They are kept in the catalog and shown
//! nowhere: not by `Debug`, not in errors, not in the text of statements (`secrecy.rs`).

pub(crate) mod options;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sql::parse::{CreateSecret, SecretStatement};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::Snapshot;
use crate::objects::location::{Location, is_within};
use crate::objects::path::ObjectPath;
use crate::objects::stores::Bucket;
use crate::writing::Writing;

/// Secrets of a database, at most: all of them are one record of the catalog.
const SECRETS_MAX: usize = 1000;

/// The keys of a store, and which locations they are for. The default has none.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSecret {
    pub(crate) name: String,
    /// What the locations begin with.
    pub(crate) scope: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    #[serde(default)]
    pub(crate) path_style: bool,
    /// By which the tables of its scope are encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encryption_key: Option<String>,
    /// Who gives tokens for the id and the secret of a client, and what they are for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_service: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_scope: Option<String>,
    /// What a million gets cost in dollars, where the price list of the store is not the one that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_price: Option<String>,
    /// The keys are found and renewed by this process, as the tools of AWS find them.
    #[serde(default)]
    pub(crate) uses_chain: bool,
}

impl fmt::Debug for StoredSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredSecret({} for {})", self.name, self.scope)
    }
}

/// All secrets, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(BTreeMap<String, StoredSecret>);

impl Secrets {
    /// Those of a record.
    pub(crate) fn of(stored: Vec<StoredSecret>) -> Secrets {
        Secrets(stored.into_iter().map(|secret| (secret.name.clone(), secret)).collect())
    }

    /// In the order of their names, as a record has them.
    pub(crate) fn stored(&self) -> Vec<&StoredSecret> {
        self.0.values().collect()
    }

    /// That for a location or the name of an object: of those whose scope it lies in the one with the
    /// longest.
    fn of_location(&self, text: &str) -> Option<&StoredSecret> {
        let fitting = self.0.values().filter(|secret| is_within(text, &secret.scope));
        fitting.max_by_key(|secret| secret.scope.trim_end_matches('/').len())
    }
}

impl Snapshot {
    /// A location, opened with its secret.
    ///
    /// # Errors
    /// As [`crate::objects::stores::Stores::open`], and 22023 for what is no location.
    pub(crate) fn bucket(&self, location: &str) -> SqlResult<Bucket> {
        let location = Location::parse(location)?;
        self.stores.open(self.secrets.of_location(&location.to_string()), &location)
    }

    /// The bucket of an object, opened with the secret for the object.
    ///
    /// # Errors
    /// As [`crate::objects::stores::Stores::open`].
    pub(crate) fn bucket_of(&self, path: &ObjectPath) -> SqlResult<Bucket> {
        self.stores.open(self.secrets.of_location(&path.text), &path.location)
    }

    /// The secret for a location or the name of an object.
    pub(crate) fn secret_of(&self, text: &str) -> Option<&StoredSecret> {
        self.secrets.of_location(text)
    }

    /// The endpoints that secrets name.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.secrets.0.values().filter_map(|secret| secret.endpoint.as_deref())
    }

    /// Whether a secret or the list of hosts names the server of a path. What the list does not name is not spoken to
    /// in any case.
    pub(crate) fn names_server_of(&self, path: &str) -> bool {
        self.stores.has_hosts() || self.secrets.of_location(path).is_some()
    }
}

/// Creates or drops secrets; the tag of what was done. Who may is asked before.
///
/// # Errors
/// 42710 for a name that is taken, 42704 for one that is none, and what is wrong with the options.
pub(crate) async fn change(
    writing: &Writing<'_>,
    statement: &SecretStatement,
) -> SqlResult<&'static str> {
    let mut secrets = (*writing.snapshot().secrets).clone();
    let tag = match statement {
        SecretStatement::Create(create) => {
            if !put(&mut secrets, writing.snapshot(), create)? {
                return Ok("CREATE SECRET");
            }
            "CREATE SECRET"
        }
        SecretStatement::Drop { names, if_exists } => {
            for name in names {
                if secrets.0.remove(name).is_none() && !if_exists {
                    let message = format!("secret \"{name}\" does not exist");
                    return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, message));
                }
            }
            "DROP SECRET"
        }
    };
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            snapshot.secrets = Arc::new(secrets);
            Ok(())
        })
    });
    change.await.map(|()| tag)
}

/// Adds a secret; whether it did.
fn put(secrets: &mut Secrets, snapshot: &Snapshot, create: &CreateSecret) -> SqlResult<bool> {
    if secrets.0.contains_key(&create.name) && !create.or_replace {
        if create.if_not_exists {
            return Ok(false);
        }
        let message = format!("secret \"{}\" already exists", create.name);
        return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, message));
    }
    if secrets.0.len() >= SECRETS_MAX {
        let message = format!("there are {SECRETS_MAX} secrets, and no more can be");
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let secret = options::read(create)?;
    // Endpoints that cannot be, or may not be spoken to, are told now.
    snapshot.stores.open(Some(&secret), &options::example(&secret)?)?;
    secrets.0.insert(create.name.clone(), secret);
    Ok(true)
}
