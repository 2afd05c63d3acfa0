//! Encodes rows of values as entries of a tree.

use arrow_buffer::i256;

use crate::cells::{Cells, Value, float};
use crate::error::SqlResult;
use crate::key::{KeyColumn, encode_value_of};
use crate::logical::LogicalType;
use crate::numeric;
use crate::row::{RowLayout, RowValues, fixed_width, put_bytes};

/// Appends the value of a row, which has all columns of the table in order, none of them an array,
/// to `out`.
///
/// # Errors
/// 54000 for a row that is too big.
pub fn encode_row(
    layout: &RowLayout,
    rows: &Cells,
    row: usize,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    layout.encode(&OfCells { rows, row }, out)
}

/// Appends the key of a row to `out`. A hidden row id stands behind the columns of the table.
///
/// # Errors
/// As [`encode_value_of`].
pub fn encode_key(key: &[KeyColumn], rows: &Cells, row: usize, out: &mut Vec<u8>) -> SqlResult<()> {
    key.iter().try_for_each(|column| encode_value_of(column, rows.value(row, column.ordinal), out))
}

/// A row of cells.
struct OfCells<'a> {
    rows: &'a Cells,
    row: usize,
}

impl RowValues for OfCells<'_> {
    fn is_null(&self, (_, ordinal): (usize, usize)) -> bool {
        self.rows.value(self.row, ordinal).is_null()
    }

    fn write_fixed(&self, (_, ordinal): (usize, usize), ty: LogicalType, out: &mut [u8]) {
        match self.rows.value(self.row, ordinal) {
            Value::Word(word) if ty == LogicalType::Float32 => {
                put_bytes(out, &(float(word) as f32).to_le_bytes());
            }
            // Narrower numbers are the low bytes of the word.
            Value::Word(word) => {
                let width = fixed_width(ty).expect("the type is fixed");
                put_bytes(out, &word.to_le_bytes()[..width]);
            }
            Value::Bytes(bytes) => put_bytes(out, bytes),
            Value::Null => unreachable!("null has no bytes"),
        }
    }

    fn write_variable(&self, (_, ordinal): (usize, usize), ty: LogicalType, out: &mut Vec<u8>) {
        match (self.rows.value(self.row, ordinal), ty) {
            (Value::Bytes(bytes), LogicalType::Numeric) => {
                let bytes = bytes.try_into().expect("a number without precision has 32 bytes");
                numeric::push_short(out, i256::from_le_bytes(bytes));
            }
            (Value::Bytes(bytes), _) => out.extend_from_slice(bytes),
            (other, ty) => unreachable!("{other:?} as {ty}"),
        }
    }
}
