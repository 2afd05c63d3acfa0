//! The reader of rows: what a read of a tree collects.

use std::sync::Arc;

use arrow_array::RecordBatch;
use storage::LeafEntries;
use txn::visible::Entries;
use types::key::{KeyColumn, split_columns};
use types::row::{BatchBuilder, RowLayout, primary_key_columns};

use crate::catalog::entry::TableEntry;

/// Where the primary key lies in the keys of an index.
pub(crate) struct RowKeys {
    index_key: Vec<KeyColumn>,
    /// For each column of the primary key, its position in the index key.
    pieces: Vec<usize>,
}

impl RowKeys {
    pub(crate) fn new(entry: &TableEntry, index: &RowLayout) -> RowKeys {
        let index_key = index.key.clone();
        let position = |column: KeyColumn| {
            let found = index_key.iter().position(|k| k.ordinal == column.ordinal);
            found.expect("an index key holds the primary key")
        };
        let primary = primary_key_columns(&entry.def.schema, &entry.def.primary_key);
        let pieces = primary.into_iter().map(position).collect();
        RowKeys { index_key, pieces }
    }

    /// The primary key in an index key.
    pub(crate) fn of(&self, index_key: &[u8]) -> Vec<u8> {
        let columns = split_columns(&self.index_key, index_key);
        let piece = |&i: &usize| self.index_key[i].unhashed(columns[i]);
        self.pieces.iter().flat_map(piece).copied().collect()
    }
}

/// Entries on their way to rows: the rows, or their keys where entries only say where rows are.
pub(crate) struct Rows<'a> {
    layout: &'a Arc<RowLayout>,
    columns: &'a [usize],
    /// Rows that a builder has room for at first.
    room: usize,
    row_keys: Option<&'a RowKeys>,
    /// Made for the first row.
    builder: Option<BatchBuilder>,
    /// Of rows that are to be fetched.
    pub(crate) keys: Vec<Vec<u8>>,
    keeps_positions: bool,
    /// For each row, or key, the position of what asked for it.
    pub(crate) positions: Vec<u32>,
}

impl<'a> Rows<'a> {
    /// Reads these columns.
    pub(crate) fn new(layout: &'a Arc<RowLayout>, columns: &'a [usize], room: usize) -> Rows<'a> {
        Rows {
            layout,
            columns,
            room,
            row_keys: None,
            builder: None,
            keys: vec![],
            keeps_positions: false,
            positions: vec![],
        }
    }

    /// The same of keys of rows, if these are what entries have.
    pub(crate) fn keys_by(self, row_keys: Option<&'a RowKeys>) -> Rows<'a> {
        Rows { row_keys, ..self }
    }

    /// The same with the position of what asked for each.
    pub(crate) fn with_positions(self) -> Rows<'a> {
        Rows { keeps_positions: true, ..self }
    }

    /// The rows. There may be none.
    pub(crate) fn finish(&mut self) -> RecordBatch {
        self.builder().finish()
    }

    /// The rows, unless there are none.
    pub(crate) fn found(&mut self) -> Option<BatchBuilder> {
        self.builder.take().filter(|rows| rows.row_count() > 0)
    }

    pub(crate) fn builder(&mut self) -> &mut BatchBuilder {
        let new = || BatchBuilder::new(self.layout.clone(), self.columns, self.room);
        self.builder.get_or_insert_with(new)
    }
}

impl Entries for Rows<'_> {
    fn restart(&mut self) {
        self.builder = None;
        self.keys.clear();
        self.positions.clear();
    }

    fn take(&mut self, position: usize, key: &[u8], value: &[u8]) {
        match self.row_keys {
            Some(row_keys) => self.keys.push(row_keys.of(key)),
            None => self.builder().push(key, value),
        }
        if self.keeps_positions {
            self.positions.push(position as u32);
        }
    }

    fn take_leaf(&mut self, leaf: &LeafEntries<'_>) {
        match self.row_keys {
            Some(row_keys) => {
                let mut key = vec![];
                for index in 0..leaf.len() {
                    leaf.key_into(index, &mut key);
                    self.keys.push(row_keys.of(&key));
                }
            }
            None => {
                let values: Vec<&[u8]> = (0..leaf.len()).map(|index| leaf.value(index)).collect();
                self.builder().push_rows(&values, |row, key| leaf.key_into(row, key));
            }
        }
        if self.keeps_positions {
            self.positions.resize(self.positions.len() + leaf.len(), 0);
        }
    }
}
