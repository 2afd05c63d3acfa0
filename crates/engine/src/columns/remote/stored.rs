//! What the catalog keeps of a table's location, and which versions of it are still read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Where the bodies of a table's chunks are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredRemote {
    /// `s3://bucket/prefix`
    pub(crate) location: String,
    /// Who writes there, by a number drawn once for each table; none of a table that is only read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) writer: Option<String>,
    /// How often the list was written, as far as this database knows.
    pub(crate) sequence: u64,
    /// The list's tag at the store.
    pub(crate) tag: String,
    /// The list that it is read by, where it is not the newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot: Option<u64>,
    /// The number, in hexadecimal, under which its objects are encrypted, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sealed: Option<String>,
    /// All versions of the table that share this list have it, so it lives as long as one of them.
    #[serde(skip)]
    pub(crate) lease: Arc<()>,
}

impl PartialEq for StoredRemote {
    fn eq(&self, other: &StoredRemote) -> bool {
        let of = |remote: &StoredRemote| {
            let StoredRemote { location, writer, sequence, tag, snapshot, sealed, .. } =
                remote.clone();
            (location, writer, sequence, tag, snapshot, sealed)
        };
        of(self) == of(other)
    }
}

impl Eq for StoredRemote {}
