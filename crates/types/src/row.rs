//! Rows of clustered trees: where each column lies in key and value, encoding and decoding.
//!
//! The key holds the primary key (or the hidden row id), the value all other columns; nothing is
//! stored twice. The layout is specified in `docs/format/row.md`.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
    UInt32Type,
};
use arrow_array::{ArrayRef, RecordBatch};

use crate::error::{SqlError, SqlResult, SqlState};
use crate::key::{DECIMAL_NARROW_PRECISION, KeyColumn};
use crate::logical::{Column, LogicalType, Schema};
use crate::numeric;

pub(crate) mod batch;
mod numbers;
pub(crate) mod texts;

pub use batch::BatchBuilder;

/// Where the columns of a table lie in the entries of one of its trees.
#[derive(Clone, Debug)]
pub struct RowLayout {
    /// The table's columns, then the hidden row id of a table without primary key.
    pub schema: Schema,
    /// The columns of the key, in order.
    pub key: Vec<KeyColumn>,
    /// For each table ordinal (and then the hidden row id): its place, if the tree has it.
    pub(crate) places: Vec<Option<Place>>,
    /// Ordinals in the value, in order: fixed and variable interleaved as in the table.
    value_columns: Vec<usize>,
    bitmap_bytes: usize,
    fixed_bytes: usize,
    variable_count: usize,
}

/// The place of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Position in the key.
    Key(usize),
    /// Byte offset in the value, and position in the null bitmap.
    Fixed { offset: usize, bit: usize },
    /// Number among the variable columns, and position in the null bitmap.
    Variable { number: usize, bit: usize },
}

/// The hidden row id of a table without primary key: a bigint, one past the last column.
fn row_id(schema: &Schema) -> KeyColumn {
    KeyColumn {
        ordinal: schema.columns.len(),
        ty: LogicalType::Int64,
        nullable: false,
        hashed: false,
    }
}

/// The row id in the clustered key of a table without primary key.
///
/// # Panics
/// If the bytes are not such a key.
pub fn row_id_of(key: &[u8]) -> i64 {
    let bytes = key.try_into().expect("a row id is the whole key");
    (u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed()
}

fn with_row_id(schema: &Schema, primary_key: &[usize]) -> Schema {
    let mut schema = schema.clone();
    if primary_key.is_empty() {
        let name = "row id".to_owned();
        schema.columns.push(Column { name, ty: LogicalType::Int64, nullable: false });
    }
    schema
}

fn key_column(schema: &Schema, ordinal: usize) -> KeyColumn {
    let column = &schema.columns[ordinal];
    KeyColumn { ordinal, ty: column.ty, nullable: column.nullable, hashed: false }
}

/// The key columns of a clustered tree.
pub fn primary_key_columns(schema: &Schema, primary_key: &[usize]) -> Vec<KeyColumn> {
    match primary_key {
        [] => vec![row_id(schema)],
        columns => columns.iter().map(|&i| key_column(schema, i)).collect(),
    }
}

/// The key columns of a secondary index: its own, then those of the primary key that are not among them.
pub fn index_key_columns(
    schema: &Schema,
    primary_key: &[usize],
    columns: &[usize],
) -> Vec<KeyColumn> {
    let own = columns.iter().map(|&i| key_column(schema, i));
    let rest = primary_key_columns(schema, primary_key);
    own.chain(rest.into_iter().filter(|c| !columns.contains(&c.ordinal))).collect()
}

impl RowLayout {
    /// The clustered tree: the key, and all other columns in the value.
    pub fn clustered(schema: &Schema, primary_key: &[usize]) -> RowLayout {
        let key = primary_key_columns(schema, primary_key);
        let in_key = |ordinal: &usize| key.iter().any(|k| k.ordinal == *ordinal);
        let value: Vec<usize> = (0..schema.columns.len()).filter(|i| !in_key(i)).collect();
        RowLayout::new(with_row_id(schema, primary_key), key.clone(), value)
    }

    /// A secondary index: its columns and the primary key in the key, the columns of `included` that
    /// are not among these in the value.
    pub fn index(
        schema: &Schema,
        primary_key: &[usize],
        columns: &[usize],
        included: &[usize],
    ) -> RowLayout {
        let key = index_key_columns(schema, primary_key, columns);
        let mut value: Vec<usize> = vec![];
        for &ordinal in included {
            if !value.contains(&ordinal) && !key.iter().any(|k| k.ordinal == ordinal) {
                value.push(ordinal);
            }
        }
        RowLayout::new(with_row_id(schema, primary_key), key, value)
    }

    /// A hash index on one column: in the key the column, its hash before it, and the primary key.
    pub fn hash_index(schema: &Schema, primary_key: &[usize], column: usize) -> RowLayout {
        let mut key = index_key_columns(schema, primary_key, &[column]);
        key[0].hashed = true;
        RowLayout::new(with_row_id(schema, primary_key), key, vec![])
    }

    fn new(schema: Schema, key: Vec<KeyColumn>, value_columns: Vec<usize>) -> RowLayout {
        let mut places = vec![None; schema.columns.len()];
        for (position, column) in key.iter().enumerate() {
            places[column.ordinal] = Some(Place::Key(position));
        }
        let bitmap_bytes = value_columns.len().div_ceil(8);
        let (mut offset, mut variable_count) = (bitmap_bytes, 0);
        for (bit, &ordinal) in value_columns.iter().enumerate() {
            places[ordinal] = Some(match fixed_width(schema.columns[ordinal].ty) {
                Some(width) => {
                    offset += width;
                    Place::Fixed { offset: offset - width, bit }
                }
                None => {
                    variable_count += 1;
                    Place::Variable { number: variable_count - 1, bit }
                }
            });
        }
        let fixed_bytes = offset - bitmap_bytes;
        RowLayout { schema, key, places, value_columns, bitmap_bytes, fixed_bytes, variable_count }
    }

    /// Ordinals of the columns in a value, in its order.
    pub fn value_columns(&self) -> &[usize] {
        &self.value_columns
    }

    /// Whether entries of this tree hold the column.
    pub fn holds(&self, ordinal: usize) -> bool {
        self.places[ordinal].is_some()
    }

    /// Start of the offsets of variable columns in a value.
    pub(crate) fn offsets_start(&self) -> usize {
        self.bitmap_bytes + self.fixed_bytes
    }

    /// Start of the bytes of variable columns in a value with end offsets of `width` bytes.
    pub(crate) fn variable_start(&self, width: usize) -> usize {
        self.offsets_start() + width * self.variable_count
    }

    /// Bytes of an end offset in a value of `len` bytes. Only a value that needs four has them, and
    /// is longer for that than any other could be.
    pub(crate) fn offset_width(&self, len: usize) -> usize {
        if len > self.variable_start(2) + usize::from(u16::MAX) { 4 } else { 2 }
    }

    /// Appends the value of `row` of `batch` (all table columns in order) to `out`.
    pub fn encode_value(
        &self,
        batch: &RecordBatch,
        row: usize,
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        self.encode(&Vectors { column: |_, ordinal| batch.column(ordinal), row }, out)
    }

    /// Appends the value of `row` of `columns`, which are those of [`RowLayout::value_columns`], to
    /// `out`.
    pub fn encode_columns(
        &self,
        columns: &[ArrayRef],
        row: usize,
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        self.encode(&Vectors { column: |position, _| &columns[position], row }, out)
    }

    /// Appends the value of a row to `out`.
    ///
    /// # Errors
    /// 54000 for a row that is too big.
    pub(crate) fn encode(&self, values: &impl RowValues, out: &mut Vec<u8>) -> SqlResult<()> {
        let start = out.len();
        if self.encode_with(2, values, out) {
            return Ok(());
        }
        out.truncate(start);
        if self.encode_with(4, values, out) {
            return Ok(());
        }
        let message = format!("row is too big: {} bytes", out.len() - start);
        Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message))
    }

    /// Encodes with end offsets of `width` bytes; false when these are too short.
    fn encode_with(&self, width: usize, values: &impl RowValues, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + self.variable_start(width), 0);
        let mut fits = true;
        for (position, &ordinal) in self.value_columns.iter().enumerate() {
            let (at, ty) = ((position, ordinal), self.schema.columns[ordinal].ty.plain());
            match self.places[ordinal].expect("value column has a place") {
                Place::Key(_) => unreachable!("value columns are not in the key"),
                Place::Fixed { bit, .. } | Place::Variable { bit, .. } if values.is_null(at) => {
                    out[start + bit / 8] |= 1 << (bit % 8);
                    fits &= self.end_variable(width, ordinal, start, out);
                }
                Place::Fixed { offset, .. } => {
                    values.write_fixed(at, ty, &mut out[start + offset..]);
                }
                Place::Variable { .. } => {
                    values.write_variable(at, ty, out);
                    fits &= self.end_variable(width, ordinal, start, out);
                }
            }
        }
        fits
    }

    /// Notes where a variable column ends, relative to the variable area. False when the offset
    /// does not fit its width.
    fn end_variable(&self, width: usize, ordinal: usize, start: usize, out: &mut [u8]) -> bool {
        let Some(Place::Variable { number, .. }) = self.places[ordinal] else { return true };
        let end = out.len() - start - self.variable_start(width);
        let at = start + self.offsets_start() + width * number;
        out[at..at + width].copy_from_slice(&end.to_le_bytes()[..width]);
        end >> (8 * width) == 0
    }
}

/// Bytes of a type in the fixed area of a value; `None` for text, byte strings and arrays.
pub(crate) fn fixed_width(ty: LogicalType) -> Option<usize> {
    Some(match ty.plain() {
        LogicalType::Bool => 1,
        LogicalType::Int16 => 2,
        LogicalType::Int32 | LogicalType::Float32 | LogicalType::Date | LogicalType::Oid => 4,
        LogicalType::Int64
        | LogicalType::Float64
        | LogicalType::Timestamp
        | LogicalType::TimestampTz
        | LogicalType::Time => 8,
        LogicalType::Uuid | LogicalType::Interval => 16,
        LogicalType::Decimal { precision, .. } if precision <= DECIMAL_NARROW_PRECISION => 8,
        LogicalType::Decimal { .. } => 16,
        LogicalType::Numeric
        | LogicalType::Text
        | LogicalType::Varchar(_)
        | LogicalType::Char(_)
        | LogicalType::Bytea
        | LogicalType::Rounded(..)
        | LogicalType::Array(_) => return None,
    })
}

/// The values of a row that is encoded. Each is asked for by its position in the encoded value and
/// its ordinal, and written as its type, which is plain.
pub(crate) trait RowValues {
    fn is_null(&self, at: (usize, usize)) -> bool;
    fn write_fixed(&self, at: (usize, usize), ty: LogicalType, out: &mut [u8]);
    fn write_variable(&self, at: (usize, usize), ty: LogicalType, out: &mut Vec<u8>);
}

/// A row of vectors; `column` has that of a position and an ordinal.
struct Vectors<F> {
    column: F,
    row: usize,
}

impl<'a, F: Fn(usize, usize) -> &'a ArrayRef> RowValues for Vectors<F> {
    fn is_null(&self, (position, ordinal): (usize, usize)) -> bool {
        (self.column)(position, ordinal).is_null(self.row)
    }

    fn write_fixed(&self, (position, ordinal): (usize, usize), ty: LogicalType, out: &mut [u8]) {
        write_fixed(ty, (self.column)(position, ordinal), self.row, out);
    }

    fn write_variable(&self, at: (usize, usize), ty: LogicalType, out: &mut Vec<u8>) {
        write_variable(ty, (self.column)(at.0, at.1), self.row, out);
    }
}

/// Text and byte strings as they are, arrays in their text form, numbers without the bytes that only
/// repeat their sign.
fn write_variable(ty: LogicalType, array: &ArrayRef, row: usize, out: &mut Vec<u8>) {
    match ty {
        LogicalType::Bytea => out.extend_from_slice(array.as_binary_view().value(row)),
        LogicalType::Numeric => {
            numeric::push_short(out, array.as_primitive::<Decimal256Type>().value(row));
        }
        LogicalType::Array(_) => {
            let text = crate::text::format_value(array.as_ref(), row).unwrap_or_default();
            out.extend_from_slice(text.as_bytes());
        }
        _ => out.extend_from_slice(array.as_string_view().value(row).as_bytes()),
    }
}

fn write_fixed(ty: LogicalType, array: &ArrayRef, row: usize, out: &mut [u8]) {
    macro_rules! put {
        ($arrow:ty) => {
            put_bytes(out, &array.as_primitive::<$arrow>().value(row).to_le_bytes())
        };
    }
    match ty {
        LogicalType::Bool => out[0] = u8::from(array.as_boolean().value(row)),
        LogicalType::Int16 => put!(Int16Type),
        LogicalType::Int32 => put!(Int32Type),
        LogicalType::Date => put!(Date32Type),
        LogicalType::Int64 => put!(Int64Type),
        LogicalType::Oid => put!(UInt32Type),
        LogicalType::Timestamp | LogicalType::TimestampTz => put!(TimestampMicrosecondType),
        LogicalType::Time => put!(Time64MicrosecondType),
        LogicalType::Uuid => put_bytes(out, array.as_fixed_size_binary().value(row)),
        LogicalType::Interval => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            put_bytes(out, &value.months.to_le_bytes());
            put_bytes(&mut out[4..], &value.days.to_le_bytes());
            put_bytes(&mut out[8..], &value.nanoseconds.to_le_bytes());
        }
        LogicalType::Float32 => put!(Float32Type),
        LogicalType::Float64 => put!(Float64Type),
        LogicalType::Decimal { precision, .. } if precision <= DECIMAL_NARROW_PRECISION => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            let narrow = i64::try_from(value).expect("value was checked against its precision");
            put_bytes(out, &narrow.to_le_bytes());
        }
        LogicalType::Decimal { .. } => put!(Decimal128Type),
        LogicalType::Numeric
        | LogicalType::Text
        | LogicalType::Varchar(_)
        | LogicalType::Char(_)
        | LogicalType::Bytea
        | LogicalType::Rounded(..)
        | LogicalType::Array(_) => unreachable!("the type is not fixed"),
    }
}

pub(crate) fn put_bytes(out: &mut [u8], bytes: &[u8]) {
    out[..bytes.len()].copy_from_slice(bytes);
}
