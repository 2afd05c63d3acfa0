//! From entries of a secondary index to rows: of the clustered tree, and of the parts of a column table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use types::key::{KeyColumn, split_columns};
use types::row::{BatchBuilder, RowLayout, primary_key_columns, row_id_of};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::columns::ChunkFetch;
use crate::dml::internal;
use crate::visible::{Entries, VisibleTree};

/// Fetches rows by the primary keys that index entries end with.
pub(crate) struct Fetch {
    tree: VisibleTree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    index_key: Vec<KeyColumn>,
    /// For each column of the primary key, its position in the index key.
    pieces: Vec<usize>,
    /// The parts of a column table.
    chunks: Option<ChunkFetch>,
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
        Fetch { tree, layout, columns, index_key, pieces, chunks: None }
    }

    /// The same of a column table, whose rows are in its parts, too.
    pub(crate) fn with_chunks(self, chunks: Option<ChunkFetch>) -> Fetch {
        Fetch { chunks, ..self }
    }

    /// Whether rows may lie in chunks.
    pub(crate) fn has_chunks(&self) -> bool {
        self.chunks.is_some()
    }

    /// Whether rows may lie in chunks that are downloaded.
    pub(crate) fn downloads(&self) -> bool {
        self.chunks.as_ref().is_some_and(ChunkFetch::downloads)
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
        let Some(chunks) = &self.chunks else { return self.rows_of_tree(keys, access).await };
        let is_in_part = |position: &usize| chunks.has(row_id_of(&keys[*position]));
        let (in_parts, others): (Vec<usize>, Vec<usize>) = (0..keys.len()).partition(is_in_part);
        if in_parts.is_empty() {
            return self.rows_of_tree(keys, access).await;
        }
        let ids: Vec<i64> = in_parts.iter().map(|at| row_id_of(&keys[*at])).collect();
        let (rows, places) = chunks.rows(&ids, access).await?;
        let mut places: Vec<usize> = places.into_iter().map(|at| in_parts[at]).collect();
        if others.is_empty() {
            return Ok((rows, places));
        }
        let keys: Vec<Vec<u8>> = others.iter().map(|at| keys[*at].clone()).collect();
        let (more, more_places) = self.rows_of_tree(&keys, access).await?;
        places.extend(more_places.into_iter().map(|at| others[at]));
        let rows = concat_batches(&rows.schema(), [&rows, &more]).map_err(internal)?;
        Ok((rows, places))
    }

    async fn rows_of_tree(
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
