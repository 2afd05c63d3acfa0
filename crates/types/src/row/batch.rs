//! Decodes entries of a tree into vectors.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, GenericByteViewBuilder,
    PrimitiveBuilder, StringViewBuilder,
};
use arrow_array::types::{
    ByteViewType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::{Place, RowLayout, fixed_width};
use crate::key::{Decoded, take_value};
use crate::parse::ColumnParser;
use crate::{Column, LogicalType, numeric};

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
        let mut rest = key;
        for position in 0..self.key_count {
            let decoded = take_value(&self.layout.key[position], &mut rest);
            if let Some(target) = self.key_targets[position] {
                self.columns[target].1.push_decoded(decoded);
            }
        }
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

fn is_null(value: &[u8], bit: usize) -> bool {
    value[bit / 8] & (1 << (bit % 8)) != 0
}

fn variable<'a>(layout: &RowLayout, value: &'a [u8], number: usize) -> &'a [u8] {
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
    Int16(PrimitiveBuilder<Int16Type>),
    Int32(PrimitiveBuilder<Int32Type>),
    Int64(PrimitiveBuilder<Int64Type>),
    Oid(PrimitiveBuilder<UInt32Type>),
    Float32(PrimitiveBuilder<Float32Type>),
    Float64(PrimitiveBuilder<Float64Type>),
    Decimal(PrimitiveBuilder<Decimal128Type>, LogicalType),
    Numeric(PrimitiveBuilder<Decimal256Type>),
    Date(PrimitiveBuilder<Date32Type>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>),
    Text(StringViewBuilder),
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    Interval(PrimitiveBuilder<IntervalMonthDayNanoType>),
    Bytes(BinaryViewBuilder),
    Uuid(FixedSizeBinaryBuilder),
    Array(Box<ColumnParser>),
}

/// Rows up to which a builder of views takes small blocks for long values.
const FEW_ROWS: usize = 256;

/// Bytes of a long value, about.
const LONG_BYTES: usize = 32;

fn views<T: ByteViewType + ?Sized>(room: usize) -> GenericByteViewBuilder<T> {
    let views = GenericByteViewBuilder::with_capacity(room);
    match room <= FEW_ROWS {
        true => views.with_fixed_block_size((room * LONG_BYTES).max(64) as u32),
        false => views,
    }
}

macro_rules! each_builder {
    ($self:expr, $b:ident => $body:expr) => {
        match $self {
            ColumnBuilder::Bool($b) => $body,
            ColumnBuilder::Int16($b) => $body,
            ColumnBuilder::Int32($b) => $body,
            ColumnBuilder::Int64($b) => $body,
            ColumnBuilder::Oid($b) => $body,
            ColumnBuilder::Float32($b) => $body,
            ColumnBuilder::Float64($b) => $body,
            ColumnBuilder::Decimal($b, _) => $body,
            ColumnBuilder::Numeric($b) => $body,
            ColumnBuilder::Date($b) => $body,
            ColumnBuilder::Timestamp($b) => $body,
            ColumnBuilder::Text($b) => $body,
            ColumnBuilder::Time($b) => $body,
            ColumnBuilder::Interval($b) => $body,
            ColumnBuilder::Bytes($b) => $body,
            ColumnBuilder::Uuid($b) => $body,
            ColumnBuilder::Array(_) => unreachable!("arrays are built from text"),
        }
    };
}

impl ColumnBuilder {
    fn new(ty: LogicalType, room: usize) -> ColumnBuilder {
        match ty.plain() {
            LogicalType::Bool => ColumnBuilder::Bool(BooleanBuilder::with_capacity(room)),
            LogicalType::Int16 => ColumnBuilder::Int16(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Int32 => ColumnBuilder::Int32(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Int64 => ColumnBuilder::Int64(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Oid => ColumnBuilder::Oid(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Float32 => ColumnBuilder::Float32(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Float64 => ColumnBuilder::Float64(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Decimal { .. } => ColumnBuilder::Decimal(
                PrimitiveBuilder::with_capacity(room).with_data_type(ty.arrow()),
                ty,
            ),
            LogicalType::Numeric => ColumnBuilder::Numeric(
                PrimitiveBuilder::with_capacity(room).with_data_type(ty.arrow()),
            ),
            LogicalType::Date => ColumnBuilder::Date(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Timestamp | LogicalType::TimestampTz => ColumnBuilder::Timestamp(
                PrimitiveBuilder::with_capacity(room).with_data_type(ty.arrow()),
            ),
            LogicalType::Time => ColumnBuilder::Time(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Interval => ColumnBuilder::Interval(PrimitiveBuilder::with_capacity(room)),
            LogicalType::Bytea => ColumnBuilder::Bytes(views(room)),
            LogicalType::Uuid => {
                ColumnBuilder::Uuid(FixedSizeBinaryBuilder::with_capacity(room, 16))
            }
            LogicalType::Rounded(..) => unreachable!("a plain type keeps all digits"),
            LogicalType::Array(_) => {
                let column = Column { name: String::new(), ty, nullable: true };
                ColumnBuilder::Array(Box::new(ColumnParser::new(&column)))
            }
            LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => {
                ColumnBuilder::Text(views(room))
            }
        }
    }

    fn push_null(&mut self) {
        match self {
            ColumnBuilder::Array(parser) => {
                parser.push(None).expect("the column may be null");
            }
            other => each_builder!(other, b => b.append_null()),
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
            ColumnBuilder::Int16(b) => b.append_value(i16::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Int32(b) => b.append_value(i32::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Int64(b) => b.append_value(i64::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Oid(b) => b.append_value(u32::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Float32(b) => b.append_value(f32::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Float64(b) => b.append_value(f64::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Date(b) => b.append_value(i32::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Timestamp(b) => b.append_value(i64::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Decimal(b, ty) => b.append_value(match fixed_width(*ty) {
                Some(8) => i128::from(i64::from_le_bytes(chunk(bytes))),
                _ => i128::from_le_bytes(chunk(bytes)),
            }),
            ColumnBuilder::Time(b) => b.append_value(i64::from_le_bytes(chunk(bytes))),
            ColumnBuilder::Interval(b) => b.append_value(IntervalMonthDayNano::new(
                i32::from_le_bytes(chunk(bytes)),
                i32::from_le_bytes(chunk(&bytes[4..])),
                i64::from_le_bytes(chunk(&bytes[8..])),
            )),
            ColumnBuilder::Uuid(b) => b.append_value(&bytes[..16]).expect("a uuid has 16 bytes"),
            ColumnBuilder::Text(_)
            | ColumnBuilder::Bytes(_)
            | ColumnBuilder::Numeric(_)
            | ColumnBuilder::Array(_) => unreachable!("the type is not fixed"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Array(parser) => parser.finish(),
            other => each_builder!(other, b => Arc::new(b.finish()) as ArrayRef),
        }
    }
}

fn chunk<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk::<N>().expect("value is complete")
}
