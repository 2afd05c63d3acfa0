//! A table, or an index of it, as a reader sees it.

use std::sync::Arc;

use plan::IndexRef;
use txn::visible::VisibleTree;
use types::row::RowLayout;

use super::fetch::Fetch;
use super::rows::{RowKeys, Rows};
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::fetch::ChunkFetch;

/// A tree of a table as of a read view, with the columns that are wanted of it.
pub(crate) struct Relation {
    pub(crate) tree: VisibleTree,
    pub(crate) layout: Arc<RowLayout>,
    /// Ordinals of the columns that are produced.
    columns: Vec<usize>,
    /// The rows that entries lead to, where these do not have all columns.
    pub(crate) fetch: Option<(RowKeys, Fetch)>,
}

impl Relation {
    /// Columns of the tree that an access path names.
    pub(crate) fn of(
        snapshot: &Snapshot,
        entry: &TableEntry,
        index: &IndexRef,
        columns: &[usize],
    ) -> Relation {
        let (tree, layout) = entry.tree_of(index);
        let tree = snapshot.visible(tree);
        Relation { tree, layout, columns: columns.to_vec(), fetch: None }
    }

    /// Columns of the rows that its entries lead to; `chunks` fetches those in parts of a column table.
    pub(crate) fn fetched(
        mut self,
        snapshot: &Snapshot,
        entry: &TableEntry,
        chunks: Option<ChunkFetch>,
    ) -> Relation {
        let keys = RowKeys::new(entry, &self.layout);
        let columns = std::mem::take(&mut self.columns);
        let rows = snapshot.visible(entry.tree.clone());
        self.fetch = Some((keys, Fetch::new(entry, rows, columns, chunks)));
        self
    }

    /// Rows that are best read together by their keys.
    pub(crate) fn rows_at_once(&self) -> usize {
        match &self.fetch {
            Some((_, fetch)) => fetch.rows_at_once(),
            None => self.tree.tree.entries_at_once(),
        }
    }

    /// A reader of its rows, or of the keys of those that are to be fetched.
    pub(crate) fn reader(&self, room: usize) -> Rows<'_> {
        let keys = self.fetch.as_ref().map(|(keys, _)| keys);
        Rows::new(&self.layout, &self.columns, room).keys_by(keys)
    }
}

/// The request depth in the words of `storage`.
pub(crate) fn depth(depth: exec::Depth) -> storage::Depth {
    match depth {
        exec::Depth::One => storage::Depth::One,
        exec::Depth::Many => storage::Depth::Many,
    }
}
