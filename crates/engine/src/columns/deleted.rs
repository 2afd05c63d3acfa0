//! Which rows of a chunk are no more.

use std::ops::Range;

use columnar::{Mask, VECTOR_ROWS};
use runtime::IoCounters;
use storage::Depth;
use txn::visible::{Entries, VisibleTree};
use types::SqlResult;
use types::row::row_id_of;

use super::part::row_key;

/// The deleted rows of a table, as one who reads sees them.
pub(crate) struct Deleted(pub(crate) VisibleTree);

/// Gathers row ids.
#[derive(Default)]
pub(crate) struct Ids(pub(crate) Vec<i64>);

impl Entries for Ids {
    fn restart(&mut self) {
        self.0.clear();
    }

    fn take(&mut self, _: usize, key: &[u8], _: &[u8]) {
        self.0.push(row_id_of(key));
    }
}

impl Deleted {
    /// The rows of each vector that are still there: `rows` are the row ids of some whole vectors
    /// (and of the last one of a chunk).
    ///
    /// # Errors
    /// Those of storage.
    pub(crate) async fn remaining(
        &self,
        rows: Range<i64>,
        io: &IoCounters,
    ) -> SqlResult<Vec<Mask>> {
        let count = (rows.end - rows.start) as usize;
        let rows_of = |start: usize| VECTOR_ROWS.min(count - start);
        let vectors = (0..count).step_by(VECTOR_ROWS);
        let mut masks: Vec<Mask> = vectors.map(|start| Mask::first(rows_of(start))).collect();
        let mut gone = vec![Mask::NONE; masks.len()];
        for row_id in self.ids(&rows, io).await? {
            let at = (row_id - rows.start) as usize;
            gone[at / VECTOR_ROWS].insert(at % VECTOR_ROWS);
        }
        masks.iter_mut().zip(&gone).for_each(|(mask, gone)| *mask = mask.and_not(gone));
        Ok(masks)
    }

    /// The row ids in `rows` that are deleted.
    async fn ids(&self, rows: &Range<i64>, io: &IoCounters) -> SqlResult<Vec<i64>> {
        let range = [(row_key(rows.start).to_vec(), row_key(rows.end).to_vec())];
        let mut ids = Ids::default();
        self.0.range_batch(&range, Depth::Many, io, &mut ids).await?;
        Ok(ids.0)
    }
}
