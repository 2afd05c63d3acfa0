//! Hidden row ids: the clustered keys of tables without primary key.
//!
//! They are not on disk. A table's next one is one more than that of its last row, which is looked up
//! before the first row is added; from then on the table counts. So the id of a row that is no more may
//! come again after a restart; nothing refers to it then.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow_array::{ArrayRef, Int64Array};
use runtime::IoCounters;
use storage::{Direction, planted};
use types::SqlResult;
use types::row::row_id_of;

use super::entry::TableEntry;
use crate::columns::table::Columns;
use crate::fault;

/// The first one.
pub(crate) const FIRST_ROW_ID: i64 = 1;

/// The next one, which the versions of a table share; 0 while it is not known.
#[derive(Clone, Default)]
pub(super) struct RowIds(Arc<AtomicI64>);

/// Row ids from `first` on.
pub(crate) fn row_ids(first: i64, count: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(first..first + count as i64))
}

impl TableEntry {
    /// Ids for rows that are added, without meaning where the table has a primary key. The caller has the
    /// right to write.
    ///
    /// # Errors
    /// Those of storage.
    pub(crate) async fn take_row_ids(&self, count: usize) -> SqlResult<ArrayRef> {
        let first = self.next_row_id().await?;
        let taken = count as i64 - i64::from(planted::is("row-id-twice"));
        self.row_ids.0.store(first + taken, Ordering::Relaxed);
        Ok(row_ids(first, count))
    }

    /// The first of so many ids for rows that move. The caller has the right to write, and looks again whether
    /// others have taken some of them at the same time.
    ///
    /// # Errors
    /// Those of storage.
    pub(crate) async fn take_row_id_range(&self, count: usize) -> SqlResult<i64> {
        let first = self.next_row_id().await?;
        self.row_ids.0.fetch_max(first + count as i64, Ordering::Relaxed);
        Ok(first)
    }

    /// The next one.
    pub(crate) async fn next_row_id(&self) -> SqlResult<i64> {
        if !self.def.primary_key.is_empty() {
            return Ok(FIRST_ROW_ID);
        }
        match self.row_ids.0.load(Ordering::Relaxed) {
            0 => {
                let behind_rows = self.last_row_id().await?.map(|last| last + 1);
                let behind_parts = self.columns.as_ref().and_then(Columns::next_row_id);
                Ok(behind_rows.max(behind_parts).unwrap_or(FIRST_ROW_ID))
            }
            next => Ok(next),
        }
    }

    async fn last_row_id(&self) -> SqlResult<Option<i64>> {
        let (io, mut key) = (IoCounters::default(), vec![]);
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut rows = self.tree.range(all.0, all.1, Direction::Backward);
        while let Some(leaf) = rows.next(&io).await.map_err(fault::storage)? {
            if !leaf.is_empty() {
                leaf.entry(0, &mut key);
                return Ok(Some(row_id_of(&key)));
            }
        }
        Ok(None)
    }
}
