//! Rows by their keys: of the clustered tree, and of the parts of a column table.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use txn::visible::VisibleTree;
use types::row::{RowLayout, row_id_of};
use types::{SqlError, SqlResult, SqlState};

use super::access::depth;
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::columns::fetch::ChunkFetch;
use crate::fault::internal;

/// Fetches rows by their primary keys, those that index entries end with.
pub(crate) struct Fetch {
    tree: VisibleTree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    /// The parts of a column table.
    chunks: Option<ChunkFetch>,
}

impl Fetch {
    /// Fetches these columns from the table's clustered tree, and from chunks.
    pub(crate) fn new(
        entry: &TableEntry,
        tree: VisibleTree,
        columns: Vec<usize>,
        chunks: Option<ChunkFetch>,
    ) -> Fetch {
        Fetch { tree, layout: entry.layout.clone(), columns, chunks }
    }

    /// Rows of the clustered tree that are best read together.
    pub(crate) fn rows_at_once(&self) -> usize {
        self.tree.tree.entries_at_once()
    }

    /// Whether rows may lie in chunks.
    pub(crate) fn has_chunks(&self) -> bool {
        self.chunks.is_some()
    }

    /// Whether rows may lie in chunks that are downloaded.
    pub(crate) fn downloads(&self) -> bool {
        self.chunks.as_ref().is_some_and(ChunkFetch::downloads)
    }

    /// The rows with these keys, and the position of each row's key.
    ///
    /// # Errors
    /// XX001 when one of them is not there: entries and rows are seen as of the same version.
    pub(crate) async fn rows(
        &self,
        keys: &[Vec<u8>],
        access: exec::Access<'_>,
    ) -> SqlResult<(RecordBatch, Vec<u32>)> {
        let Some(chunks) = &self.chunks else { return self.rows_of_tree(keys, access).await };
        let is_in_part = |position: &u32| chunks.has(row_id_of(&keys[*position as usize]));
        let (in_parts, others): (Vec<u32>, Vec<u32>) = (0..keys.len() as u32).partition(is_in_part);
        if in_parts.is_empty() {
            return self.rows_of_tree(keys, access).await;
        }
        let ids: Vec<i64> = in_parts.iter().map(|at| row_id_of(&keys[*at as usize])).collect();
        let (rows, places) = chunks.rows(&ids, access).await?;
        let mut places: Vec<u32> = places.into_iter().map(|at| in_parts[at]).collect();
        if others.is_empty() {
            return Ok((rows, places));
        }
        let keys: Vec<Vec<u8>> = others.iter().map(|at| keys[*at as usize].clone()).collect();
        let (more, more_places) = self.rows_of_tree(&keys, access).await?;
        places.extend(more_places.into_iter().map(|at| others[at as usize]));
        let rows = concat_batches(&rows.schema(), [&rows, &more]).map_err(internal)?;
        Ok((rows, places))
    }

    async fn rows_of_tree(
        &self,
        keys: &[Vec<u8>],
        access: exec::Access<'_>,
    ) -> SqlResult<(RecordBatch, Vec<u32>)> {
        let mut found = Rows::new(&self.layout, &self.columns, keys.len()).with_positions();
        self.tree.get_batch(keys, depth(access.depth), access.io, &mut found).await?;
        if found.positions.len() == keys.len() {
            return Ok((found.finish(), found.positions));
        }
        let message = "an index entry points to a row that does not exist";
        Err(SqlError::new(SqlState::DATA_CORRUPTED, message))
    }
}
