//! Rows of values in the form that row programs work on: no vectors, and no memory for each value.
//!
//! A value is a word of 64 bits, or bytes in memory that its rows share. The type says which, and
//! how they are read: it is known where values are, and stands in none of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryViewType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, StringViewType,
    Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeBinaryArray, LargeStringArray,
    PrimitiveArray,
};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer,
};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::error::{SqlError, SqlResult};
use crate::key::DECIMAL_NARROW_PRECISION;
use crate::logical::{Column, LogicalType};
use crate::parse::ColumnParser;
use crate::row::texts::Texts;
use crate::text::format_value;

/// A value, its bytes borrowed. An array is its text, as in stored rows; it has no form that a
/// program computes with ([`has_form`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Null.
    Null,
    /// A truth (0 or 1), a whole number, a date or a time as it is counted, the bits of a floating
    /// number of 64 bits, a decimal of at most 18 digits as a number of its last digit.
    Word(i64),
    /// The bytes of a text, of a byte string, of a uuid; those that the machine has for a wider
    /// decimal, for a number without precision, for an interval.
    Bytes(&'a [u8]),
}

/// A value in its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Null,
    Word(i64),
    Bytes { start: u32, len: u32 },
}

/// Rows of so many values each.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    width: usize,
    count: usize,
    cells: Vec<Cell>,
    bytes: Vec<u8>,
}

/// True if there is a form for values of this Arrow type.
pub fn has_form(ty: &DataType) -> bool {
    is_word(ty)
        || matches!(
            ty,
            DataType::Utf8View
                | DataType::LargeUtf8
                | DataType::BinaryView
                | DataType::FixedSizeBinary(16)
                | DataType::Decimal128(..)
                | DataType::Decimal256(..)
                | DataType::Interval(IntervalUnit::MonthDayNano)
        )
}

/// True if values of this Arrow type are words.
pub fn is_word(ty: &DataType) -> bool {
    match ty {
        DataType::Decimal128(precision, _) => *precision <= DECIMAL_NARROW_PRECISION,
        _ => is_counted(ty) || is_float(ty),
    }
}

/// True if values of this Arrow type are words in whose order they are.
pub fn is_counted(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Boolean
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt32
            | DataType::Date32
            | DataType::Time64(TimeUnit::Microsecond)
            | DataType::Timestamp(TimeUnit::Microsecond, _)
    )
}

fn is_float(ty: &DataType) -> bool {
    matches!(ty, DataType::Float32 | DataType::Float64)
}

impl Value<'_> {
    /// True if it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// True for a truth that is true; false for any other, and for null.
    pub fn is_true(&self) -> bool {
        matches!(self, Value::Word(1))
    }
}

impl Cells {
    /// No rows of `width` values each.
    pub fn new(width: usize) -> Cells {
        Cells { width, ..Cells::default() }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>() + self.bytes.capacity()
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.count = 0;
        self.cells.clear();
        self.bytes.clear();
    }

    /// Appends a value to the row that is being made.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.cells.push(Cell::Null),
            Value::Word(word) => self.cells.push(Cell::Word(word)),
            Value::Bytes(bytes) => self.push_bytes(bytes),
        }
    }

    /// Appends the value of a row of a vector to the row that is being made.
    ///
    /// # Errors
    /// As [`value_of`], of which an array has none.
    pub fn push_of(&mut self, array: &dyn Array, row: usize) -> SqlResult<()> {
        match array.data_type() {
            DataType::List(_) => match format_value(array, row) {
                Some(text) => self.push_bytes(text.as_bytes()),
                None => self.push(Value::Null),
            },
            _ => self.push(value_of(array, row)?),
        }
        Ok(())
    }

    /// Appends rows of the same width.
    ///
    /// # Panics
    /// If they have another one.
    pub fn append(&mut self, more: &Cells) {
        assert_eq!(self.width, more.width, "rows of one table");
        for row in 0..more.count {
            more.row(row).for_each(|value| self.push(value));
            self.end_row();
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        let start = u32::try_from(self.bytes.len()).expect("rows of a program are few");
        let len = u32::try_from(bytes.len()).expect("a value is no longer than a message");
        self.bytes.extend_from_slice(bytes);
        self.cells.push(Cell::Bytes { start, len });
    }

    /// The row that was being made is whole.
    #[inline]
    pub fn end_row(&mut self) {
        self.count += 1;
        debug_assert_eq!(self.cells.len(), self.count * self.width);
    }

    /// A value.
    #[inline]
    pub fn value(&self, row: usize, column: usize) -> Value<'_> {
        debug_assert!(column < self.width);
        match self.cells[row * self.width + column] {
            Cell::Null => Value::Null,
            Cell::Word(word) => Value::Word(word),
            Cell::Bytes { start, len } => {
                Value::Bytes(&self.bytes[start as usize..][..len as usize])
            }
        }
    }

    /// The values of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Value<'_>> {
        (0..self.width).map(move |column| self.value(row, column))
    }

    /// The rows at these places, in this order.
    pub fn take(mut self, places: &[u32]) -> Cells {
        let width = self.width;
        let row = |place: &u32| self.cells[*place as usize * width..][..width].iter().copied();
        let cells = places.iter().flat_map(row).collect();
        self.cells = cells;
        self.count = places.len();
        self
    }

    /// The rows at these places, in this order, with no memory of the others.
    pub fn copied(&self, places: &[u32]) -> Cells {
        let mut copied = Cells::new(self.width);
        for place in places {
            self.row(*place as usize).for_each(|value| copied.push(value));
            copied.end_row();
        }
        copied
    }

    /// These columns of the rows, in this order.
    pub fn columns(mut self, columns: &[usize]) -> Cells {
        let row = |row: usize| columns.iter().map(move |column| (row, column));
        let cell = |(row, column): (usize, &usize)| self.cells[row * self.width + column];
        self.cells = (0..self.count).flat_map(row).map(cell).collect();
        self.width = columns.len();
        self
    }

    /// Rows `skip` to `skip + fetch`, as far as there are such.
    pub fn slice(mut self, skip: usize, fetch: usize) -> Cells {
        let first = skip.min(self.count);
        if first == 0 && fetch >= self.count {
            return self;
        }
        self.count = fetch.min(self.count - first);
        self.cells.truncate((first + self.count) * self.width);
        self.cells.drain(..first * self.width);
        self
    }

    /// The values of a column as a vector of their type.
    ///
    /// # Errors
    /// XX000 for values that are not of the type.
    pub fn vector(&self, column: usize, ty: &DataType) -> SqlResult<ArrayRef> {
        macro_rules! words {
            ($arrow:ty, $of:expr) => {
                Ok(self.primitive::<$arrow>(column, ty, $of))
            };
        }
        match ty {
            DataType::Boolean => Ok(self.truths(column)),
            DataType::Int16 => words!(Int16Type, |word| word as i16),
            DataType::Int32 => words!(Int32Type, |word| word as i32),
            DataType::Int64 => words!(Int64Type, |word| word),
            DataType::UInt32 => words!(UInt32Type, |word| word as u32),
            DataType::Date32 => words!(Date32Type, |word| word as i32),
            DataType::Float32 => words!(Float32Type, |word| float(word) as f32),
            DataType::Float64 => words!(Float64Type, float),
            DataType::Time64(TimeUnit::Microsecond) => words!(Time64MicrosecondType, |word| word),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                words!(TimestampMicrosecondType, |word| word)
            }
            DataType::Decimal128(precision, _) if *precision <= DECIMAL_NARROW_PRECISION => {
                words!(Decimal128Type, i128::from)
            }
            DataType::Decimal128(..) => Ok(self.wide::<Decimal128Type>(column, ty)),
            DataType::Decimal256(..) => Ok(self.wide::<Decimal256Type>(column, ty)),
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Ok(self.wide::<IntervalMonthDayNanoType>(column, ty))
            }
            DataType::FixedSizeBinary(16) => self.uuids(column),
            DataType::Utf8View => Ok(self.texts(column)),
            DataType::LargeUtf8 => Ok(self.long_texts(column)),
            DataType::BinaryView => Ok(self.byte_strings(column)),
            DataType::List(_) => self.lists(column, ty),
            _ => Err(SqlError::internal(format!("a row program with values of {ty}"))),
        }
    }

    /// Which values of a column are not null, unless all are.
    fn nulls(&self, column: usize) -> Option<NullBuffer> {
        let is_null = |row| self.value(row, column).is_null();
        if !(0..self.count).any(is_null) {
            return None;
        }
        Some(NullBuffer::new(BooleanBuffer::collect_bool(self.count, |row| !is_null(row))))
    }

    fn truths(&self, column: usize) -> ArrayRef {
        let is_true = |row| self.value(row, column).is_true();
        let values = BooleanBuffer::collect_bool(self.count, is_true);
        Arc::new(BooleanArray::new(values, self.nulls(column)))
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        column: usize,
        ty: &DataType,
        of: impl Fn(i64) -> T::Native,
    ) -> ArrayRef {
        let value = |row| match self.value(row, column) {
            Value::Word(word) => of(word),
            _ => T::default_value(),
        };
        let values: ScalarBuffer<T::Native> = (0..self.count).map(value).collect();
        let array = PrimitiveArray::<T>::new(values, self.nulls(column));
        Arc::new(array.with_data_type(ty.clone()))
    }

    /// Of values that are the machine's bytes.
    fn wide<T: ArrowPrimitiveType>(&self, column: usize, ty: &DataType) -> ArrayRef {
        let bytes = self.fixed(column, size_of::<T::Native>());
        let values = ScalarBuffer::new(bytes, 0, self.count);
        let array = PrimitiveArray::<T>::new(values, self.nulls(column));
        Arc::new(array.with_data_type(ty.clone()))
    }

    fn uuids(&self, column: usize) -> SqlResult<ArrayRef> {
        let bytes = self.fixed(column, 16);
        let array = FixedSizeBinaryArray::try_new(16, bytes, self.nulls(column));
        array
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|e| SqlError::internal(e.to_string()))
    }

    /// The bytes of values of `width` each, zeros for null.
    fn fixed(&self, column: usize, width: usize) -> Buffer {
        // Aligned for all types.
        let mut all = MutableBuffer::from_len_zeroed(self.count * width);
        for (row, place) in all.as_slice_mut().chunks_exact_mut(width).enumerate() {
            if let Value::Bytes(bytes) = self.value(row, column) {
                place.copy_from_slice(bytes);
            }
        }
        all.into()
    }

    fn texts(&self, column: usize) -> ArrayRef {
        let mut texts = Texts::<StringViewType>::new(self.count);
        for row in 0..self.count {
            match self.value(row, column) {
                Value::Bytes(bytes) => {
                    let text = std::str::from_utf8(bytes).expect("a text is UTF-8");
                    texts.append_value(text);
                }
                _ => texts.append_null(),
            }
        }
        texts.finish()
    }

    /// Texts as aggregates of the library make them.
    fn long_texts(&self, column: usize) -> ArrayRef {
        let text = |row| match self.value(row, column) {
            Value::Bytes(bytes) => Some(std::str::from_utf8(bytes).expect("a text is UTF-8")),
            _ => None,
        };
        Arc::new((0..self.count).map(text).collect::<LargeStringArray>())
    }

    fn lists(&self, column: usize, ty: &DataType) -> SqlResult<ArrayRef> {
        let none = || SqlError::internal(format!("an array of no type: {ty}"));
        let ty = LogicalType::of_arrow(ty).ok_or_else(none)?;
        let mut parser = ColumnParser::new(&Column { name: String::new(), ty, nullable: true });
        for row in 0..self.count {
            match self.value(row, column) {
                Value::Bytes(bytes) => {
                    parser.push(Some(std::str::from_utf8(bytes).expect("a text is UTF-8")))?;
                }
                _ => parser.push(None)?,
            }
        }
        Ok(parser.finish())
    }

    fn byte_strings(&self, column: usize) -> ArrayRef {
        let mut strings = Texts::<BinaryViewType>::new(self.count);
        for row in 0..self.count {
            match self.value(row, column) {
                Value::Bytes(bytes) => strings.append_value(bytes),
                _ => strings.append_null(),
            }
        }
        strings.finish()
    }
}

/// The floating number that a word is.
pub(crate) fn float(word: i64) -> f64 {
    f64::from_bits(word.cast_unsigned())
}

/// The word of a floating number.
pub fn word_of_float(value: f64) -> i64 {
    value.to_bits().cast_signed()
}

/// The value of a row of a vector, which must be of a type that [`has_form`].
///
/// # Errors
/// XX000 for a vector of another type.
pub fn value_of(array: &dyn Array, row: usize) -> SqlResult<Value<'_>> {
    macro_rules! word {
        ($arrow:ty) => {
            Value::Word(array.as_primitive::<$arrow>().value(row).into())
        };
    }
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Word(array.as_boolean().value(row).into()),
        DataType::Int16 => word!(Int16Type),
        DataType::Int32 => word!(Int32Type),
        DataType::Int64 => word!(Int64Type),
        DataType::UInt32 => word!(UInt32Type),
        DataType::Date32 => word!(Date32Type),
        DataType::Time64(TimeUnit::Microsecond) => word!(Time64MicrosecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => word!(TimestampMicrosecondType),
        DataType::Float32 => {
            Value::Word(word_of_float(array.as_primitive::<Float32Type>().value(row).into()))
        }
        DataType::Float64 => {
            Value::Word(word_of_float(array.as_primitive::<Float64Type>().value(row)))
        }
        DataType::Decimal128(precision, _) if *precision <= DECIMAL_NARROW_PRECISION => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            Value::Word(i64::try_from(value).expect("value was checked against its precision"))
        }
        DataType::Decimal128(..) => machine_bytes::<Decimal128Type>(array, row),
        DataType::Decimal256(..) => machine_bytes::<Decimal256Type>(array, row),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            machine_bytes::<IntervalMonthDayNanoType>(array, row)
        }
        DataType::FixedSizeBinary(16) => Value::Bytes(array.as_fixed_size_binary().value(row)),
        DataType::Utf8View => Value::Bytes(array.as_string_view().value(row).as_bytes()),
        DataType::LargeUtf8 => Value::Bytes(array.as_string::<i64>().value(row).as_bytes()),
        DataType::BinaryView => Value::Bytes(array.as_binary_view().value(row)),
        other => return Err(SqlError::internal(format!("a row program with values of {other}"))),
    })
}

fn machine_bytes<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Value<'_> {
    let width = T::Native::get_byte_width();
    Value::Bytes(&array.as_primitive::<T>().values().inner().as_slice()[row * width..][..width])
}

#[cfg(test)]
mod tests;
