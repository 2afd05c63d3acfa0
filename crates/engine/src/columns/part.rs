//! A part: the chunks that one load wrote, in a tree of their own that is never changed.

use std::ops::Range;
use std::sync::Arc;

use runtime::IoCounters;
use storage::{Store, Tree, TreeId};
use types::SqlResult;

use super::stored::StoredPart;
use crate::fault;
use crate::fault::damaged_columns as damaged;

/// What an entry of a part's tree holds: the last byte of its key, behind the id of the chunk's first
/// row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The header of a chunk.
    Header = 0,
    /// The body of a chunk.
    Body = 1,
    /// The name of the object that is the body.
    Object = 2,
}

/// The key of the last entry: the number of rows of each chunk, in 4 bytes.
pub(crate) const COUNTS: [u8; 9] = [u8::MAX; 9];

/// A part of a column table.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) tree: Tree,
    pub(crate) first_row: i64,
    pub(crate) row_count: u64,
    pub(crate) column_bytes: Arc<[u64]>,
}

/// The key of an entry.
pub(crate) fn key(first_row: i64, kind: Kind) -> [u8; 9] {
    let mut key = [kind as u8; 9];
    key[..8].copy_from_slice(&row_key(first_row));
    key
}

/// A row id as it stands in keys: in their order.
pub(crate) fn row_key(row_id: i64) -> [u8; 8] {
    (row_id.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

impl Part {
    pub(crate) fn open(store: &Store, stored: &StoredPart) -> SqlResult<Part> {
        Ok(Part {
            tree: store.tree(TreeId(stored.tree)).map_err(fault::storage)?,
            first_row: stored.first_row,
            row_count: stored.rows,
            column_bytes: stored.column_bytes.clone().into(),
        })
    }

    pub(crate) fn stored(&self) -> StoredPart {
        StoredPart {
            tree: self.tree.id().0,
            first_row: self.first_row,
            rows: self.row_count,
            column_bytes: self.column_bytes.to_vec(),
        }
    }

    /// The row id behind its last row.
    pub(crate) fn end(&self) -> i64 {
        self.first_row.saturating_add_unsigned(self.row_count)
    }

    /// The row ids of each chunk, in order.
    ///
    /// # Errors
    /// Those of storage; XX001 when there is no such list.
    pub(crate) async fn chunks(&self, io: &IoCounters) -> SqlResult<Vec<Range<i64>>> {
        let counts = self.tree.get(&COUNTS, io, <[u8]>::to_vec).await.map_err(fault::storage)?;
        let counts = counts.ok_or_else(|| damaged("a part has no list of its chunks"))?;
        let (mut chunks, mut end) = (vec![], self.first_row);
        for count in counts.as_chunks::<4>().0 {
            let first = end;
            end = end.saturating_add(u32::from_le_bytes(*count).into());
            chunks.push(first..end);
        }
        match end == self.end() {
            true => Ok(chunks),
            false => Err(damaged("the chunks of a part have other rows than it")),
        }
    }
}
