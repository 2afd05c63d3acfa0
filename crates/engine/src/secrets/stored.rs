//! Secrets as the catalog has them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::objects::location::is_within;

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
pub(crate) struct Secrets(pub(crate) BTreeMap<String, StoredSecret>);

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
    pub(crate) fn of_location(&self, text: &str) -> Option<&StoredSecret> {
        let fitting = self.0.values().filter(|secret| is_within(text, &secret.scope));
        fitting.max_by_key(|secret| secret.scope.trim_end_matches('/').len())
    }
}
