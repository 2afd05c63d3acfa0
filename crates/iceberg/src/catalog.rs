//! What REST catalogs are asked, and what they answer about themselves.

use crate::document::Object;
use crate::fault::{Error, Result};
use crate::metadata::json_of;
use crate::vended::StorePlace;

/// Between the parts of a namespace.
const SEPARATOR: &str = "\u{1f}";

/// What a catalog answers who asks for its configuration (`v1/config`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogConfig {
    default_prefix: Option<String>,
    prefix: Option<String>,
    uri: Option<String>,
    store: StorePlace,
}

impl CatalogConfig {
    /// Reads the answer.
    ///
    /// # Errors
    /// Damaged.
    pub fn parse(bytes: &[u8]) -> Result<CatalogConfig> {
        let json = json_of(bytes)?;
        let object = Object::of(&json, "it")?;
        let part = |name: &str| -> Result<(Option<String>, StorePlace)> {
            let Some(settings) = object.get(name) else { return Ok((None, StorePlace::default())) };
            let settings = Object::of(settings, name)?;
            let prefix = settings.text_if("prefix")?.map(str::to_owned);
            Ok((prefix, StorePlace::of(settings)?))
        };
        let ((default_prefix, default_store), (prefix, store)) =
            (part("defaults")?, part("overrides")?);
        let uri = match object.get("overrides") {
            None => None,
            Some(settings) => Object::of(settings, "overrides")?.text_if("uri")?.map(str::to_owned),
        };
        Ok(CatalogConfig { default_prefix, prefix, uri, store: store.or(&default_store) })
    }

    /// Where it wants to be asked from now on, if it says so. What it proposes for those who name no place counts for
    /// nothing: whoever asks has named one.
    pub fn uri(&self) -> Option<&str> {
        self.uri.as_deref()
    }

    /// Where the store of its tables is, as far as a table says nothing else.
    pub fn store(&self) -> &StorePlace {
        &self.store
    }

    /// What stands in front of all names: what the catalog insists on, what was given, or what it proposes.
    pub fn prefix<'a>(&'a self, given: Option<&'a str>) -> Option<&'a str> {
        self.prefix.as_deref().or(given).or(self.default_prefix.as_deref())
    }
}

/// Below which path a catalog has the table `namespace.table`; it is not encoded yet.
///
/// # Errors
/// Absent for what names no table.
pub fn table_key(prefix: Option<&str>, name: &str) -> Result<String> {
    let parts: Vec<&str> = name.split('.').collect();
    let is_part = |part: &&str| !part.is_empty() && !part.contains(['/', '\u{1f}']);
    match parts.split_last() {
        Some((table, namespace)) if !namespace.is_empty() && parts.iter().all(is_part) => {
            let prefix = prefix.map(|prefix| format!("{prefix}/")).unwrap_or_default();
            let namespace = namespace.join(SEPARATOR);
            Ok(format!("v1/{prefix}namespaces/{namespace}/tables/{table}"))
        }
        _ => Err(Error::absent(format!("\"{name}\" names no table as namespace.table does"))),
    }
}

#[cfg(test)]
mod tests;
