//! Keys of a unique index that several rows have. Entries end with the key of their row
//! (`docs/format/row.md`), so they stand behind each other.

use std::ops::Bound;

use arrow_array::{ArrayRef, RecordBatch};
use runtime::IoCounters;
use runtime::sync::Cancel;
use sql::catalog::IndexDef;
use storage::{Cursor, Direction};
use types::SqlResult;
use types::row::BatchBuilder;
use types::text::format_value;

use crate::catalog::{IndexEntry, TableEntry};
use crate::fault;
use crate::load::same_key;
use crate::waiting::give_way;

/// A walk over all entries of a unique index.
pub(crate) struct RepeatedKeys<'a> {
    index: &'a IndexDef,
    stored: &'a IndexEntry,
    leaves: Cursor,
    /// The key of the last entry.
    last: Vec<u8>,
    /// Entries of the last leaf.
    walked: usize,
    cancel: &'a Cancel,
}

impl<'a> RepeatedKeys<'a> {
    /// That of the index at a position of the table's.
    pub(crate) fn new(
        entry: &'a TableEntry,
        position: usize,
        cancel: &'a Cancel,
    ) -> RepeatedKeys<'a> {
        let (index, stored) = (&*entry.def.indexes[position], &entry.indexes[position]);
        let leaves = stored.tree.range(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        RepeatedKeys { index, stored, leaves, last: vec![], walked: 0, cancel }
    }

    /// The keys in the next leaf that are those of the entry before them, without a null: a column for each
    /// of the index's; often none. `None` at the end.
    ///
    /// # Errors
    /// 57014; those of storage.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        give_way(self.cancel).await?;
        let leaf = self.leaves.next(&IoCounters::default()).await.map_err(fault::storage)?;
        let Some(leaf) = leaf else { return Ok(None) };
        self.walked = leaf.len();
        let layout = &self.stored.layout;
        let (columns, mut key) = (&layout.key, vec![]);
        let unique = &columns[..self.index.columns.len()];
        let mut found = BatchBuilder::new(layout.clone(), &self.index.columns, 0);
        for at in 0..leaf.len() {
            key.clear();
            let value = leaf.entry(at, &mut key);
            if same_key(unique, columns, &self.last, &key) {
                found.push(&key, value);
            }
            std::mem::swap(&mut self.last, &mut key);
        }
        Ok(Some(found.finish()))
    }

    /// How many entries the last step has seen.
    pub(crate) fn walked(&self) -> u64 {
        self.walked as u64
    }
}

/// `(a, b)=(1, 2)`: columns of a table by their ordinals, and their values in a row.
pub(crate) fn named_values(
    entry: &TableEntry,
    ordinals: &[usize],
    values: &[ArrayRef],
    row: usize,
) -> String {
    let names = ordinals.iter().map(|&column| entry.def.schema.columns[column].name.as_str());
    let names: Vec<&str> = names.collect();
    let value = |column: &ArrayRef| format_value(column, row).unwrap_or_else(|| "null".into());
    let values: Vec<String> = values.iter().map(value).collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}
