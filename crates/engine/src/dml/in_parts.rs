//! Rows that go from parts of a column table: a part never changes, so their ids are noted.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use storage::Tree;
use types::SqlResult;

use super::rows::Rows;
use crate::catalog::entry::TableEntry;

/// Which of the rows that go are in parts, if any is.
pub(super) struct InParts(Option<Split>);

struct Split {
    /// The tree of deleted row ids.
    tree: Tree,
    /// The ids of rows that are in parts, as keys.
    keys: Vec<Vec<u8>>,
    /// The rows that are in the clustered tree.
    others: Rows,
}

impl InParts {
    pub(super) fn of(entry: &TableEntry, removed: &Rows) -> SqlResult<InParts> {
        let Some(columns) = &entry.columns else { return Ok(InParts(None)) };
        let ids = removed.ids().as_primitive::<Int64Type>();
        let is_in_part = |row: &u32| columns.has(ids.value(*row as usize));
        let (in_parts, others): (Vec<u32>, Vec<u32>) =
            (0..removed.len() as u32).partition(is_in_part);
        if in_parts.is_empty() {
            return Ok(InParts(None));
        }
        Ok(InParts(Some(Split {
            tree: columns.deleted.clone(),
            keys: removed.take(&in_parts)?.keys(entry)?,
            others: removed.take(&others)?,
        })))
    }

    /// The rows that go from the clustered tree.
    pub(super) fn others<'a>(&'a self, removed: &'a Rows) -> &'a Rows {
        self.0.as_ref().map_or(removed, |split| &split.others)
    }

    /// The tree of deleted row ids, and those that come.
    pub(super) fn deleted(&self) -> Option<(&Tree, &[Vec<u8>])> {
        self.0.as_ref().map(|split| (&split.tree, split.keys.as_slice()))
    }
}
