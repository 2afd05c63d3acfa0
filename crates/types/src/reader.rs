//! Decodes entries of a tree into rows of values.

use std::sync::Arc;

use crate::cells::{Cells, Value, word_of_float};
use crate::key::{Decoded, take_value};
use crate::logical::LogicalType;
use crate::numeric;
use crate::row::batch::{is_null, variable};
use crate::row::{Place, RowLayout, fixed_width};

/// Reads chosen columns of the entries of one tree.
pub struct RowReader {
    layout: Arc<RowLayout>,
    columns: Vec<(Place, LogicalType)>,
    /// Key columns that must be decoded: up to the last wanted one.
    key_count: usize,
}

impl RowReader {
    /// A reader of the columns at `ordinals`, in this order, none of which is an array.
    ///
    /// # Panics
    /// If the tree does not hold one of them.
    pub fn new(layout: Arc<RowLayout>, ordinals: &[usize]) -> RowReader {
        let column = |&i: &usize| {
            let place = layout.places[i].expect("the tree holds the column");
            (place, layout.schema.columns[i].ty.plain())
        };
        let columns: Vec<_> = ordinals.iter().map(column).collect();
        let position = |(place, _): &(Place, LogicalType)| match place {
            Place::Key(position) => position + 1,
            Place::Fixed { .. } | Place::Variable { .. } => 0,
        };
        let key_count = columns.iter().map(position).max().unwrap_or(0);
        RowReader { layout, columns, key_count }
    }

    /// Appends the columns of an entry as a row.
    pub fn read(&self, key: &[u8], value: &[u8], rows: &mut Cells) {
        let mut decoded: [Option<Decoded<'_>>; KEY_COLUMNS] = [const { None }; KEY_COLUMNS];
        let mut rest = key;
        for position in 0..self.key_count {
            let column = take_value(&self.layout.key[position], &mut rest);
            if let Some(place) = decoded.get_mut(position) {
                *place = Some(column);
            }
        }
        for (place, ty) in &self.columns {
            match *place {
                Place::Key(position) => match decoded.get(position) {
                    Some(Some(column)) => push_decoded(*ty, column, rows),
                    _ => push_decoded(*ty, &self.key_value(position, key), rows),
                },
                Place::Fixed { bit, .. } | Place::Variable { bit, .. } if is_null(value, bit) => {
                    rows.push(Value::Null);
                }
                Place::Fixed { offset, .. } => rows.push(fixed(*ty, &value[offset..])),
                Place::Variable { number, .. } => {
                    push_variable(*ty, variable(&self.layout, value, number), rows);
                }
            }
        }
        rows.end_row();
    }

    fn key_value<'a>(&self, position: usize, mut key: &'a [u8]) -> Decoded<'a> {
        self.layout.key[..position].iter().for_each(|column| _ = take_value(column, &mut key));
        take_value(&self.layout.key[position], &mut key)
    }
}

/// Columns of a key that are decoded once for a row; those behind them are for each column.
const KEY_COLUMNS: usize = 4;

fn chunk<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("a row has all its bytes")
}

fn fixed(ty: LogicalType, bytes: &[u8]) -> Value<'_> {
    use LogicalType as T;
    match ty {
        T::Bool => Value::Word(i64::from(bytes[0] != 0)),
        T::Int16 => Value::Word(i16::from_le_bytes(chunk(bytes)).into()),
        T::Int32 | T::Date => Value::Word(i32::from_le_bytes(chunk(bytes)).into()),
        T::Oid => Value::Word(u32::from_le_bytes(chunk(bytes)).into()),
        T::Int64 | T::Timestamp | T::TimestampTz | T::Time => {
            Value::Word(i64::from_le_bytes(chunk(bytes)))
        }
        T::Float32 => Value::Word(word_of_float(f32::from_le_bytes(chunk(bytes)).into())),
        T::Float64 => Value::Word(i64::from_le_bytes(chunk(bytes))),
        T::Decimal { .. } if fixed_width(ty) == Some(8) => {
            Value::Word(i64::from_le_bytes(chunk(bytes)))
        }
        // Machines of the other order of bytes are not among those that this is built for.
        T::Decimal { .. } | T::Uuid | T::Interval => Value::Bytes(&bytes[..16]),
        T::Numeric
        | T::Text
        | T::Varchar(_)
        | T::Char(_)
        | T::Bytea
        | T::Rounded(..)
        | T::Array(_) => unreachable!("the type is not fixed"),
    }
}

fn push_variable(ty: LogicalType, bytes: &[u8], rows: &mut Cells) {
    match ty {
        LogicalType::Numeric => {
            rows.push(Value::Bytes(&numeric::from_short(bytes).to_le_bytes()));
        }
        _ => rows.push(Value::Bytes(bytes)),
    }
}

fn push_decoded(ty: LogicalType, decoded: &Decoded<'_>, rows: &mut Cells) {
    match decoded {
        Decoded::Null => rows.push(Value::Null),
        Decoded::Integer(value) if is_wide(ty) => rows.push(Value::Bytes(&value.to_le_bytes())),
        Decoded::Integer(value) => rows.push(Value::Word(*value as i64)),
        Decoded::Wide(value) => rows.push(Value::Bytes(&value.to_le_bytes())),
        Decoded::Float(value) => rows.push(Value::Word(word_of_float(*value))),
        Decoded::Text(text) => rows.push(Value::Bytes(text.as_bytes())),
        Decoded::Bytes(bytes) => rows.push(Value::Bytes(bytes)),
    }
}

/// True for decimals that need more than a word.
fn is_wide(ty: LogicalType) -> bool {
    matches!(ty, LogicalType::Decimal { .. }) && fixed_width(ty) == Some(16)
}
