//! What a column table has beside its delta.

use std::sync::Arc;

use storage::{Store, Tree, TreeId};
use types::SqlResult;

use super::part::Part;
use super::remote::stored::StoredRemote;
use super::stored::StoredColumns;
use crate::fault;

/// What a column table has beside its delta.
#[derive(Clone)]
pub(crate) struct Columns {
    /// In the order of their row ids.
    pub(crate) parts: Arc<[Part]>,
    /// The row ids of rows of parts that are no more.
    pub(crate) deleted: Tree,
    /// Where the bodies of chunks are, if not in the parts.
    pub(crate) remote: Option<StoredRemote>,
}

impl Columns {
    /// Those that a record names.
    ///
    /// # Errors
    /// XX001 for trees that there are not.
    pub(crate) fn open(store: &Store, stored: &StoredColumns) -> SqlResult<Columns> {
        let parts = stored.parts.iter().map(|part| Part::open(store, part));
        let parts = parts.collect::<SqlResult<_>>()?;
        let deleted = store.tree(TreeId(stored.deleted)).map_err(fault::storage)?;
        Ok(Columns { parts, deleted, remote: stored.remote.clone() })
    }

    /// What a record says of them.
    pub(crate) fn stored(&self) -> StoredColumns {
        let parts = self.parts.iter().map(Part::stored).collect();
        StoredColumns { deleted: self.deleted.id().0, parts, remote: self.remote.clone() }
    }

    /// All their trees.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.parts.iter().map(|part| part.tree.id()).chain([self.deleted.id()])
    }

    /// Rows of parts, those left out that are no more.
    pub(crate) fn row_count(&self) -> u64 {
        let rows: u64 = self.parts.iter().map(|part| part.row_count).sum();
        rows.saturating_sub(self.deleted.stats().entries)
    }

    /// Bytes that each column takes, headers left out.
    pub(crate) fn column_bytes(&self, column_count: usize) -> Vec<u64> {
        let bytes = |column: usize| {
            self.parts.iter().filter_map(|part| part.column_bytes.get(column)).sum()
        };
        (0..column_count).map(bytes).collect()
    }

    /// Pages of all parts.
    pub(crate) fn page_count(&self) -> u64 {
        let stats = self.parts.iter().map(|part| part.tree.stats());
        stats.map(|stats| stats.leaf_pages + stats.inner_pages + stats.overflow_pages).sum()
    }

    /// The row id behind those of all parts; `None` without parts.
    pub(crate) fn next_row_id(&self) -> Option<i64> {
        self.parts.last().map(Part::end)
    }

    /// Whether the row with this id is, or was, in a part.
    pub(crate) fn has(&self, row_id: i64) -> bool {
        let behind = self.parts.partition_point(|part| part.first_row <= row_id);
        behind.checked_sub(1).is_some_and(|at| row_id < self.parts[at].end())
    }
}
