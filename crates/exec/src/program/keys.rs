//! Values of a row as one key, equal where the values are.

use std::ops::Range;

use types::cells::{Cells, Value};

/// The key of a row.
#[derive(Default)]
pub(super) struct RowKey {
    bytes: Vec<u8>,
    has_null: bool,
}

impl RowKey {
    /// Makes it that of some values of a row.
    pub(super) fn read(&mut self, rows: &Cells, row: usize, columns: Range<usize>) {
        self.bytes.clear();
        self.has_null = false;
        for column in columns {
            match rows.value(row, column) {
                Value::Null => {
                    self.has_null = true;
                    self.bytes.push(0);
                }
                Value::Word(word) => {
                    self.bytes.push(1);
                    self.bytes.extend(word.to_ne_bytes());
                }
                Value::Bytes(bytes) => {
                    self.bytes.push(2);
                    self.bytes.extend(bytes.len().to_ne_bytes());
                    self.bytes.extend(bytes);
                }
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// True if one of the values is null.
    pub(super) fn has_null(&self) -> bool {
        self.has_null
    }
}
