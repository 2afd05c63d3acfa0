//! From entries of a secondary index to rows of the clustered tree.

use std::sync::Arc;

use arrow_array::RecordBatch;
use types::key::{KeyColumn, split_columns};
use types::row::{BatchBuilder, RowLayout, primary_key_columns};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::visible::{Entries, VisibleTree};

/// Fetches rows by the primary keys that index entries end with.
pub(crate) struct Fetch {
    tree: VisibleTree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    index_key: Vec<KeyColumn>,
    /// For each column of the primary key, its position in the index key.
    pieces: Vec<usize>,
}

impl Fetch {
    pub(crate) fn new(
        entry: &TableEntry,
        tree: VisibleTree,
        index: &RowLayout,
        columns: &[usize],
    ) -> Fetch {
        let def = &entry.def;
        let index_key = index.key.clone();
        let position = |column: KeyColumn| {
            let found = index_key.iter().position(|k| k.ordinal == column.ordinal);
            found.expect("an index key holds the primary key")
        };
        let primary = primary_key_columns(&def.schema, &def.primary_key);
        let pieces = primary.into_iter().map(position).collect();
        let (layout, columns) = (entry.layout.clone(), columns.to_vec());
        Fetch { tree, layout, columns, index_key, pieces }
    }

    /// The primary key in an index key.
    pub(crate) fn primary_key(&self, index_key: &[u8]) -> Vec<u8> {
        let columns = split_columns(&self.index_key, index_key);
        let piece = |&i: &usize| self.index_key[i].unhashed(columns[i]);
        self.pieces.iter().flat_map(piece).copied().collect()
    }

    /// The rows with these keys, and the position of each row's key.
    ///
    /// # Errors
    /// XX001 when one of them is not there: entries and rows are seen as of the same version.
    pub(crate) async fn rows(
        &self,
        keys: &[Vec<u8>],
        access: exec::Access<'_>,
    ) -> SqlResult<(RecordBatch, Vec<usize>)> {
        let mut found = Found { fetch: self, builder: self.builder(keys.len()), positions: vec![] };
        let depth = crate::source::depth(access.depth);
        self.tree.get_batch(keys, depth, access.io, &mut found).await?;
        let Found { mut builder, positions, .. } = found;
        if positions.len() == keys.len() {
            return Ok((builder.finish(), positions));
        }
        let message = "an index entry points to a row that does not exist";
        Err(SqlError::new(SqlState::DATA_CORRUPTED, message))
    }

    fn builder(&self, room: usize) -> BatchBuilder {
        BatchBuilder::new(self.layout.clone(), &self.columns, room)
    }
}

/// Rows that were found, and whose they are.
struct Found<'a> {
    fetch: &'a Fetch,
    builder: BatchBuilder,
    positions: Vec<usize>,
}

impl Entries for Found<'_> {
    fn restart(&mut self) {
        self.builder = self.fetch.builder(self.positions.len());
        self.positions.clear();
    }

    fn take(&mut self, position: usize, key: &[u8], value: &[u8]) {
        self.builder.push(key, value);
        self.positions.push(position);
    }
}
