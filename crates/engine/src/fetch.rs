//! From entries of a secondary index to rows of the clustered tree.

use std::sync::Arc;

use storage::Tree;
use types::key::{KeyColumn, split_columns};
use types::row::{BatchBuilder, RowLayout, index_key_columns, primary_key_columns};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::fault;

/// Fetches rows by the primary keys that index entries end with.
pub(crate) struct Fetch {
    tree: Tree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    index_key: Vec<KeyColumn>,
    /// For each column of the primary key, its position in the index key.
    pieces: Vec<usize>,
}

impl Fetch {
    pub(crate) fn new(
        entry: &TableEntry,
        tree: Tree,
        index_columns: &[usize],
        columns: &[usize],
    ) -> Fetch {
        let def = &entry.def;
        let index_key = index_key_columns(&def.schema, &def.primary_key, index_columns);
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
        self.pieces.iter().flat_map(|&i| columns[i]).copied().collect()
    }

    /// A builder of the wanted columns of so many rows.
    pub(crate) fn builder(&self, room: usize) -> BatchBuilder {
        BatchBuilder::new(self.layout.clone(), &self.columns, room)
    }

    /// Reads the rows with these keys into `builder`; `found` gets the position of each row's key.
    pub(crate) async fn rows(
        &self,
        keys: &[Vec<u8>],
        access: exec::Access<'_>,
        builder: &mut BatchBuilder,
        mut found: impl FnMut(usize),
    ) -> SqlResult<()> {
        let before = builder.row_count();
        let mut visit = |position: usize, value: &[u8]| {
            builder.push(&keys[position], value);
            found(position);
        };
        let depth = crate::source::depth(access.depth);
        self.tree.get_batch(keys, depth, access.io, &mut visit).await.map_err(fault::storage)?;
        if builder.row_count() - before == keys.len() {
            return Ok(());
        }
        let message = "an index entry points to a row that does not exist";
        Err(SqlError::new(SqlState::DATA_CORRUPTED, message))
    }
}
