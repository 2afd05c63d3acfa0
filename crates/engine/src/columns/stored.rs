//! What the catalog keeps of a column table (`docs/format/catalog.md`, kind 8).

use serde::{Deserialize, Serialize};
use storage::TreeId;

use super::remote::stored::StoredRemote;

/// The trees of a column table beside its clustered one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredColumns {
    /// The tree of deleted row ids.
    pub(crate) deleted: u32,
    /// In the order of their row ids.
    pub(crate) parts: Vec<StoredPart>,
    /// Where the bodies of chunks are, if not in the parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remote: Option<StoredRemote>,
}

impl StoredColumns {
    /// No parts, and a tree of deleted row ids.
    pub(crate) fn empty(deleted: TreeId) -> StoredColumns {
        StoredColumns { deleted: deleted.0, parts: vec![], remote: None }
    }

    /// All its trees.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.parts.iter().map(StoredPart::tree_id).chain([TreeId(self.deleted)])
    }
}

/// A part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredPart {
    /// Its tree.
    pub(crate) tree: u32,
    /// The id of its first row.
    pub(crate) first_row: i64,
    /// How many rows it was made with.
    pub(crate) rows: u64,
    /// Bytes of each column in the bodies of its chunks.
    pub(crate) column_bytes: Vec<u64>,
}

impl StoredPart {
    /// Its tree.
    pub(crate) fn tree_id(&self) -> TreeId {
        TreeId(self.tree)
    }

    /// The row id behind its last row.
    pub(crate) fn end(&self) -> i64 {
        self.first_row.saturating_add_unsigned(self.rows)
    }
}
