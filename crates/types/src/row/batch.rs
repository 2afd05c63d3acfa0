//! Decodes entries of a tree into vectors.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, FixedSizeBinaryBuilder};
use arrow_array::types::{
    BinaryViewType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    StringViewType, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::numbers::Numbers;
use super::texts::Texts;
use super::{Place, RowLayout, fixed_width};
use crate::key::{Decoded, take_value};
use crate::logical::{Column, LogicalType};
use crate::numeric;
use crate::parse::ColumnParser;

/// Builds a batch of chosen columns from entries of one tree.
pub struct BatchBuilder {
    layout: Arc<RowLayout>,
    ordinals: Vec<usize>,
    /// Of the batches, once there is one.
    schema: Option<SchemaRef>,
    columns: Vec<(Place, ColumnBuilder)>,
    /// Key columns that must be decoded: up to the last wanted one.
    key_count: usize,
    /// For each key position, the wanted column that takes it.
    key_targets: Vec<Option<usize>>,
    row_count: usize,
}

impl BatchBuilder {
    /// A builder of the columns at `ordinals`, in this order, with room for `room` rows; it takes any
    /// number. Batches wait in memory by the thousand, so that room which is not needed costs.
    ///
    /// # Panics
    /// If the tree does not hold one of them.
    pub fn new(layout: Arc<RowLayout>, ordinals: &[usize], room: usize) -> BatchBuilder {
        let place = |&i: &usize| layout.places[i].expect("the tree holds the column");
        let columns: Vec<_> = ordinals
            .iter()
            .map(|i| (place(i), ColumnBuilder::new(layout.schema.columns[*i].ty, room)))
            .collect();
        let mut key_targets = vec![None; layout.key.len()];
        for (target, (place, _)) in columns.iter().enumerate() {
            if let Place::Key(position) = place {
                key_targets[*position] = Some(target);
            }
        }
        let key_count = key_targets.iter().rposition(Option::is_some).map_or(0, |p| p + 1);
        let (ordinals, schema) = (ordinals.to_vec(), None);
        BatchBuilder { layout, ordinals, schema, columns, key_count, key_targets, row_count: 0 }
    }

    /// Appends the row of an entry.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.push_key(key);
        for (place, builder) in &mut self.columns {
            match *place {
                Place::Key(_) => {}
                Place::Fixed { bit, .. } | Place::Variable { bit, .. } if is_null(value, bit) => {
                    builder.push_null();
                }
                Place::Fixed { offset, .. } => builder.push_fixed(&value[offset..]),
                Place::Variable { number, .. } => {
                    builder.push_variable(variable(&self.layout, value, number));
                }
            }
        }
        self.row_count += 1;
    }

    /// Appends rows, column by column; `key` writes the key of one of them.
    ///
    /// What a type is asked for once a column costs little even where a leaf has few rows.
    pub fn push_rows(&mut self, values: &[&[u8]], key: impl Fn(usize, &mut Vec<u8>)) {
        if self.key_count > 0 {
            let mut bytes = Vec::new();
            for row in 0..values.len() {
                key(row, &mut bytes);
                self.push_key(&bytes);
            }
        }
        for (place, builder) in &mut self.columns {
            match *place {
                Place::Key(_) => {}
                Place::Fixed { bit, offset } => builder.push_fixed_of(values, bit, offset),
                Place::Variable { bit, number } => {
                    let of = |value| variable(&self.layout, value, number);
                    builder.push_variable_of(values, bit, of);
                }
            }
        }
        self.row_count += values.len();
    }

    fn push_key(&mut self, key: &[u8]) {
        let mut rest = key;
        for position in 0..self.key_count {
            let decoded = take_value(&self.layout.key[position], &mut rest);
            if let Some(target) = self.key_targets[position] {
                self.columns[target].1.push_decoded(decoded);
            }
        }
    }

    /// Rows so far.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The batch; the builder is empty afterwards.
    pub fn finish(&mut self) -> RecordBatch {
        let options = RecordBatchOptions::new().with_row_count(Some(self.row_count));
        let arrays = self.finish_columns();
        let project = || self.layout.schema.project(&self.ordinals);
        let schema = self.schema.get_or_insert_with(project).clone();
        RecordBatch::try_new_with_options(schema, arrays, &options)
            .expect("builders follow the schema")
    }

    /// The columns alone; the builder is empty afterwards.
    pub fn finish_columns(&mut self) -> Vec<ArrayRef> {
        self.row_count = 0;
        self.columns.iter_mut().map(|(_, builder)| builder.finish()).collect()
    }
}

pub(crate) fn is_null(value: &[u8], bit: usize) -> bool {
    value[bit / 8] & (1 << (bit % 8)) != 0
}

pub(crate) fn variable<'a>(layout: &RowLayout, value: &'a [u8], number: usize) -> &'a [u8] {
    let width = layout.offset_width(value.len());
    let end_of = |n: usize| {
        let at = layout.offsets_start() + width * n;
        let end = &value[at..at + width];
        match *end {
            [a, b] => usize::from(u16::from_le_bytes([a, b])),
            _ => end.iter().rev().fold(0, |end, byte| end << 8 | usize::from(*byte)),
        }
    };
    let start = if number == 0 { 0 } else { end_of(number - 1) };
    let area = &value[layout.variable_start(width)..];
    &area[start..end_of(number)]
}

fn stored_text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("stored text is UTF-8")
}

enum ColumnBuilder {
    Bool(BooleanBuilder),
    Int16(Numbers<Int16Type>),
    Int32(Numbers<Int32Type>),
    Int64(Numbers<Int64Type>),
    Oid(Numbers<UInt32Type>),
    Float32(Numbers<Float32Type>),
    Float64(Numbers<Float64Type>),
    Decimal(Numbers<Decimal128Type>, usize),
    Numeric(Numbers<Decimal256Type>),
    Date(Numbers<Date32Type>),
    Timestamp(Numbers<TimestampMicrosecondType>),
    Text(Texts<StringViewType>),
    Time(Numbers<Time64MicrosecondType>),
    Interval(Numbers<IntervalMonthDayNanoType>),
    Bytes(Texts<BinaryViewType>),
    Uuid(FixedSizeBinaryBuilder),
    Array(Box<ColumnParser>),
}

/// Makes a number of its bytes.
macro_rules! of_le_bytes {
    ($number:ty) => {
        |bytes: &[u8]| <$number>::from_le_bytes(chunk(bytes))
    };
}

/// Calls `$body` with the column of numbers of a fixed type, and with what makes one of its bytes.
macro_rules! each_number {
    ($self:expr, ($b:ident, $of:ident) => $body:expr) => {
        each_number!(@ $self, $b, $of, $body,
            Int16 i16, Int32 i32, Int64 i64, Oid u32, Float32 f32, Float64 f64, Date i32,
            Timestamp i64, Time i64)
    };
    (@ $self:expr, $b:ident, $of:ident, $body:expr, $($name:ident $number:ty),*) => {
        match $self {
            $(ColumnBuilder::$name($b) => {
                let $of = of_le_bytes!($number);
                $body
            })*
            ColumnBuilder::Decimal($b, 8) => {
                let $of = |bytes: &[u8]| i128::from(i64::from_le_bytes(chunk(bytes)));
                $body
            }
            ColumnBuilder::Decimal($b, _) => {
                let $of = of_le_bytes!(i128);
                $body
            }
            ColumnBuilder::Interval($b) => {
                let $of = interval;
                $body
            }
            ColumnBuilder::Bool(_)
            | ColumnBuilder::Uuid(_)
            | ColumnBuilder::Text(_)
            | ColumnBuilder::Bytes(_)
            | ColumnBuilder::Numeric(_)
            | ColumnBuilder::Array(_) => unreachable!("the type is not fixed"),
        }
    };
}

fn interval(bytes: &[u8]) -> IntervalMonthDayNano {
    IntervalMonthDayNano::new(
        i32::from_le_bytes(chunk(bytes)),
        i32::from_le_bytes(chunk(&bytes[4..])),
        i64::from_le_bytes(chunk(&bytes[8..])),
    )
}

impl ColumnBuilder {
    fn new(ty: LogicalType, room: usize) -> ColumnBuilder {
        match ty.plain() {
            LogicalType::Bool => ColumnBuilder::Bool(BooleanBuilder::with_capacity(room)),
            LogicalType::Int16 => ColumnBuilder::Int16(Numbers::new(ty, room)),
            LogicalType::Int32 => ColumnBuilder::Int32(Numbers::new(ty, room)),
            LogicalType::Int64 => ColumnBuilder::Int64(Numbers::new(ty, room)),
            LogicalType::Oid => ColumnBuilder::Oid(Numbers::new(ty, room)),
            LogicalType::Float32 => ColumnBuilder::Float32(Numbers::new(ty, room)),
            LogicalType::Float64 => ColumnBuilder::Float64(Numbers::new(ty, room)),
            LogicalType::Decimal { .. } => {
                let width = fixed_width(ty).expect("decimals have a width");
                ColumnBuilder::Decimal(Numbers::new(ty, room), width)
            }
            LogicalType::Numeric => ColumnBuilder::Numeric(Numbers::new(ty, room)),
            LogicalType::Date => ColumnBuilder::Date(Numbers::new(ty, room)),
            LogicalType::Timestamp | LogicalType::TimestampTz => {
                ColumnBuilder::Timestamp(Numbers::new(ty, room))
            }
            LogicalType::Time => ColumnBuilder::Time(Numbers::new(ty, room)),
            LogicalType::Interval => ColumnBuilder::Interval(Numbers::new(ty, room)),
            LogicalType::Bytea => ColumnBuilder::Bytes(Texts::new(room)),
            LogicalType::Uuid => {
                ColumnBuilder::Uuid(FixedSizeBinaryBuilder::with_capacity(room, 16))
            }
            LogicalType::Rounded(..) => unreachable!("a plain type keeps all digits"),
            LogicalType::Array(_) => {
                let column = Column { name: String::new(), ty, nullable: true };
                ColumnBuilder::Array(Box::new(ColumnParser::new(&column)))
            }
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
                ColumnBuilder::Text(Texts::new(room))
            }
        }
    }

    fn push_null(&mut self) {
        match self {
            ColumnBuilder::Array(parser) => {
                parser.push(None).expect("the column may be null");
            }
            ColumnBuilder::Bool(b) => b.append_null(),
            ColumnBuilder::Text(b) => b.append_null(),
            ColumnBuilder::Bytes(b) => b.append_null(),
            ColumnBuilder::Uuid(b) => b.append_null(),
            ColumnBuilder::Numeric(b) => b.append_null(),
            other => each_number!(other, (b, _of) => b.append_null()),
        }
    }

    fn push_variable(&mut self, bytes: &[u8]) {
        match self {
            ColumnBuilder::Text(b) => b.append_value(stored_text(bytes)),
            ColumnBuilder::Bytes(b) => b.append_value(bytes),
            ColumnBuilder::Numeric(b) => b.append_value(numeric::from_short(bytes)),
            ColumnBuilder::Array(parser) => {
                parser.push(Some(stored_text(bytes))).expect("a stored array has its text form");
            }
            _ => unreachable!("the type is not variable"),
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        match self {
            ColumnBuilder::Bytes(b) => b.append_value(bytes),
            ColumnBuilder::Uuid(b) => b.append_value(bytes).expect("a uuid has 16 bytes"),
            _ => unreachable!("bytes in a column of bytes"),
        }
    }

    fn push_decoded(&mut self, decoded: Decoded<'_>) {
        match decoded {
            Decoded::Null => self.push_null(),
            Decoded::Integer(value) => self.push_integer(value),
            Decoded::Wide(value) => match self {
                ColumnBuilder::Numeric(b) => b.append_value(value),
                _ => unreachable!("a number without precision in its column"),
            },
            Decoded::Float(value) => match self {
                ColumnBuilder::Float32(b) => b.append_value(value as f32),
                ColumnBuilder::Float64(b) => b.append_value(value),
                _ => unreachable!("a float in a float column"),
            },
            Decoded::Text(text) => self.push_variable(text.as_bytes()),
            Decoded::Bytes(bytes) => self.push_bytes(&bytes),
        }
    }

    fn push_integer(&mut self, value: i128) {
        match self {
            ColumnBuilder::Bool(b) => b.append_value(value != 0),
            ColumnBuilder::Int16(b) => b.append_value(value as i16),
            ColumnBuilder::Int32(b) => b.append_value(value as i32),
            ColumnBuilder::Int64(b) => b.append_value(value as i64),
            ColumnBuilder::Oid(b) => b.append_value(value as u32),
            ColumnBuilder::Decimal(b, _) => b.append_value(value),
            ColumnBuilder::Date(b) => b.append_value(value as i32),
            ColumnBuilder::Timestamp(b) => b.append_value(value as i64),
            ColumnBuilder::Time(b) => b.append_value(value as i64),
            _ => unreachable!("an integer in an integer column"),
        }
    }

    fn push_fixed(&mut self, bytes: &[u8]) {
        match self {
            ColumnBuilder::Bool(b) => b.append_value(bytes[0] != 0),
            ColumnBuilder::Uuid(b) => b.append_value(&bytes[..16]).expect("a uuid has 16 bytes"),
            other => each_number!(other, (b, of) => b.append_value(of(bytes))),
        }
    }

    /// As `push_fixed` for the value of each row, or null.
    fn push_fixed_of(&mut self, rows: &[&[u8]], bit: usize, offset: usize) {
        match self {
            ColumnBuilder::Bool(_) | ColumnBuilder::Uuid(_) => {
                for row in rows {
                    match is_null(row, bit) {
                        true => self.push_null(),
                        false => self.push_fixed(&row[offset..]),
                    }
                }
            }
            other => each_number!(other, (b, of) => b.append_rows(rows, (bit, offset), of)),
        }
    }

    /// As `push_variable` for the value of each row, or null.
    fn push_variable_of<'a>(
        &mut self,
        rows: &[&'a [u8]],
        bit: usize,
        of: impl Fn(&'a [u8]) -> &'a [u8],
    ) {
        match self {
            ColumnBuilder::Text(b) => {
                for row in rows {
                    match is_null(row, bit) {
                        true => b.append_null(),
                        false => b.append_value(stored_text(of(row))),
                    }
                }
            }
            other => {
                for row in rows {
                    match is_null(row, bit) {
                        true => other.push_null(),
                        false => other.push_variable(of(row)),
                    }
                }
            }
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Array(parser) => parser.finish(),
            ColumnBuilder::Bool(b) => Arc::new(b.finish()),
            ColumnBuilder::Text(b) => b.finish(),
            ColumnBuilder::Bytes(b) => b.finish(),
            ColumnBuilder::Uuid(b) => Arc::new(b.finish()),
            ColumnBuilder::Numeric(b) => b.finish(),
            other => each_number!(other, (b, _of) => b.finish()),
        }
    }
}

fn chunk<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk::<N>().expect("value is complete")
}
