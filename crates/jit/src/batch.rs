//! Vectors of a batch as generated code sees them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal64Type, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};

/// How the values of a column lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Whole numbers of 16 bits.
    Int16,
    /// Whole numbers of 32 bits, dates.
    Int32,
    /// Whole numbers, timestamps and decimals of 64 bits.
    Int64,
    /// Decimals of 128 bits, of which those with 64 are taken.
    Int128,
    /// Floats of 64 bits.
    Float64,
    /// Booleans.
    Truths,
    /// Strings.
    Texts,
}

impl ColumnKind {
    /// The kind of vectors of that type, if programs can have them.
    pub fn of(ty: &DataType) -> Option<ColumnKind> {
        Some(match ty {
            DataType::Int16 => ColumnKind::Int16,
            DataType::Int32 | DataType::Date32 => ColumnKind::Int32,
            DataType::Int64
            | DataType::Timestamp(TimeUnit::Microsecond, _)
            | DataType::Decimal64(..) => ColumnKind::Int64,
            DataType::Decimal128(..) => ColumnKind::Int128,
            DataType::Float64 => ColumnKind::Float64,
            DataType::Boolean => ColumnKind::Truths,
            DataType::Utf8View => ColumnKind::Texts,
            _ => return None,
        })
    }
}

/// A column as generated code reads it; a column that is not used is all nulls.
#[repr(C)]
pub(crate) struct View {
    /// Words, views of texts, or a bit for each row.
    pub(crate) values: *const u8,
    /// A bit for each row that has a value; not read where no column has nulls.
    pub(crate) validity: *const u64,
    /// The vector of texts, for proxies.
    pub(crate) array: *const ArrayRef,
}

impl View {
    pub(crate) const UNUSED: View =
        View { values: std::ptr::null(), validity: std::ptr::null(), array: std::ptr::null() };
}

/// Bits that views point to, each beginning at its first row and ending with a whole word.
#[derive(Default)]
pub(crate) struct Bitmaps(Vec<Vec<u64>>);

impl Bitmaps {
    fn add(&mut self, words: Vec<u64>) -> *const u64 {
        // The words stay where they are when the list of bitmaps grows.
        let at = words.as_ptr();
        self.0.push(words);
        at
    }

    fn copy(&mut self, bits: &BooleanBuffer) -> *const u64 {
        self.add(bits.bit_chunks().iter_padded().collect())
    }

    /// The view of a vector, with its validity if the code reads it.
    pub(crate) fn view(&mut self, array: &ArrayRef, is_nullable: bool) -> View {
        let values = match array.data_type() {
            DataType::Boolean => self.copy(array.as_boolean().values()).cast(),
            DataType::Utf8View => array.as_string_view().views().as_ptr().cast(),
            DataType::Int16 => words::<Int16Type>(array),
            DataType::Int32 => words::<Int32Type>(array),
            DataType::Date32 => words::<Date32Type>(array),
            DataType::Int64 => words::<Int64Type>(array),
            DataType::Timestamp(..) => words::<TimestampMicrosecondType>(array),
            DataType::Decimal64(..) => words::<Decimal64Type>(array),
            DataType::Decimal128(..) => words::<Decimal128Type>(array),
            DataType::Float64 => words::<Float64Type>(array),
            other => unreachable!("{other} has a kind of column"),
        };
        let validity = match (is_nullable, array.nulls()) {
            (false, _) => std::ptr::null(),
            (true, Some(nulls)) => self.copy(nulls.inner()),
            (true, None) => self.add(vec![u64::MAX; array.len().div_ceil(64)]),
        };
        View { values, validity, array }
    }
}

fn words<T: ArrowPrimitiveType>(array: &ArrayRef) -> *const u8 {
    array.as_primitive::<T>().values().as_ptr().cast()
}
