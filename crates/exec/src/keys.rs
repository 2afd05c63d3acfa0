//! Keys of joins and groups: one integer column as it is, two or three as words, everything else as bytes.

mod layout;
#[cfg(test)]
mod tests;
mod wide;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, TimeUnit};
use plan::expr::Expr;
use types::SqlResult;
use types::equality::{canonical, canonical_type};

use crate::batch::arrow;
use layout::Layout;
pub(crate) use wide::WideKey;

/// Key values, one per row.
#[derive(Debug)]
pub(crate) enum Keys {
    /// A single integer or date column; the value of a null is arbitrary.
    Ints(Vec<i64>),
    /// Two or three such columns.
    Wide(Vec<WideKey>),
    /// Any columns, as bytes that are equal for equal keys.
    Bytes(ByteKeys),
}

/// Byte strings one after the other.
#[derive(Debug, Default)]
pub(crate) struct ByteKeys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// The keys of a batch.
pub(crate) struct KeyBatch {
    pub(crate) keys: Keys,
    pub(crate) hashes: Vec<u64>,
    /// Rows that have a null in a key column; `None` is no row.
    pub(crate) nulls: Option<NullBuffer>,
}

/// Encodes key columns of fixed types.
pub(crate) struct KeyCoder {
    types: Vec<DataType>,
    form: Form,
}

/// How keys are written.
enum Form {
    /// The one integer column.
    Int,
    /// Two or three integer columns.
    Wide,
    /// By our own layout.
    Bytes(Layout),
    /// In the row format of the vector library, which has all types.
    Rows(RowConverter),
}

impl ByteKeys {
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

impl Keys {
    fn len(&self) -> usize {
        match self {
            Keys::Ints(values) => values.len(),
            Keys::Wide(keys) => keys.len(),
            Keys::Bytes(keys) => keys.len(),
        }
    }

    /// Bytes that the keys take.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Keys::Ints(values) => values.capacity() * size_of::<i64>(),
            Keys::Wide(keys) => keys.capacity() * size_of::<WideKey>(),
            Keys::Bytes(keys) => keys.bytes.capacity() + keys.ends.capacity() * size_of::<usize>(),
        }
    }

    /// Whether key `i` of this equals key `j` of `other`, made by a coder of the same types.
    pub(crate) fn equal(&self, i: usize, other: &Keys, j: usize) -> bool {
        match (self, other) {
            (Keys::Ints(a), Keys::Ints(b)) => a[i] == b[j],
            (Keys::Wide(a), Keys::Wide(b)) => a[i] == b[j],
            (Keys::Bytes(a), Keys::Bytes(b)) => a.get(i) == b.get(j),
            _ => false,
        }
    }

    /// Appends key `j` of `other`.
    pub(crate) fn push_from(&mut self, other: &Keys, j: usize) {
        match (self, other) {
            (Keys::Ints(a), Keys::Ints(b)) => a.push(b[j]),
            (Keys::Wide(a), Keys::Wide(b)) => a.push(b[j]),
            (Keys::Bytes(a), Keys::Bytes(b)) => a.push(b.get(j)),
            _ => unreachable!("keys of one coder have one shape"),
        }
    }

    /// Appends all keys of `other`.
    pub(crate) fn append(&mut self, other: Keys) {
        match (self, other) {
            (Keys::Ints(a), Keys::Ints(b)) => a.extend(b),
            (Keys::Wide(a), Keys::Wide(b)) => a.extend(b),
            (Keys::Bytes(a), Keys::Bytes(b)) => (0..b.len()).for_each(|i| a.push(b.get(i))),
            _ => unreachable!("keys of one coder have one shape"),
        }
    }
}

impl KeyBatch {
    /// Whether some row has a null in its key.
    pub(crate) fn has_null(&self) -> bool {
        self.nulls.as_ref().is_some_and(|n| n.null_count() > 0)
    }

    /// Bytes that the keys and their hashes take.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.bytes() + self.hashes.capacity() * size_of::<u64>()
    }
}

impl KeyCoder {
    /// A coder for columns of `types`. Only with `distinct_nulls` are null keys unlike all others.
    pub(crate) fn new(types: Vec<DataType>, distinct_nulls: bool) -> SqlResult<KeyCoder> {
        let types: Vec<DataType> = types.iter().map(canonical_type).collect();
        let form = match (types.as_slice(), Layout::of(&types)) {
            ([one], _) if is_int(one) && !distinct_nulls => Form::Int,
            (types, _) if wide::is_wide(types) => Form::Wide,
            (_, Some(layout)) => Form::Bytes(layout),
            (_, None) => {
                let fields = types.iter().map(|t| SortField::new(t.clone())).collect();
                Form::Rows(RowConverter::new(fields).map_err(arrow)?)
            }
        };
        Ok(KeyCoder { types, form })
    }

    /// The types of the columns, in the form that equal values share.
    pub(crate) fn types(&self) -> &[DataType] {
        &self.types
    }

    /// A coder for the values of expressions.
    pub(crate) fn of(exprs: &[Expr], distinct_nulls: bool) -> SqlResult<KeyCoder> {
        KeyCoder::new(exprs.iter().map(|e| e.data_type().clone()).collect(), distinct_nulls)
    }

    /// No keys, of this coder's shape.
    pub(crate) fn empty(&self) -> Keys {
        self.room_for(std::iter::empty())
    }

    /// No keys, with room for those of `batches`.
    pub(crate) fn room_for<'a>(&self, batches: impl Iterator<Item = &'a Keys> + Clone) -> Keys {
        let key_count = batches.clone().map(Keys::len).sum();
        match self.form {
            Form::Int => Keys::Ints(Vec::with_capacity(key_count)),
            Form::Wide => Keys::Wide(Vec::with_capacity(key_count)),
            Form::Bytes(_) | Form::Rows(_) => {
                let bytes = batches.map(|keys| match keys {
                    Keys::Bytes(keys) => keys.bytes.len(),
                    Keys::Ints(_) | Keys::Wide(_) => 0,
                });
                Keys::Bytes(ByteKeys {
                    bytes: Vec::with_capacity(bytes.sum()),
                    ends: Vec::with_capacity(key_count),
                })
            }
        }
    }

    /// Encodes and hashes.
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> SqlResult<KeyBatch> {
        let columns: Vec<ArrayRef> = columns.iter().map(canonical).collect();
        let nulls = columns.iter().fold(None, |all, c| NullBuffer::union(all.as_ref(), c.nulls()));
        let keys = match &self.form {
            Form::Int => return Ok(int_keys(&columns[0], nulls)),
            Form::Wide => {
                let keys = wide::encode(&columns);
                let hashes = keys.iter().map(wide::hash).collect();
                return Ok(KeyBatch { keys: Keys::Wide(keys), hashes, nulls });
            }
            Form::Bytes(layout) => layout.encode(&columns),
            Form::Rows(converter) => {
                let mut keys = ByteKeys::default();
                let rows = converter.convert_columns(&columns).map_err(arrow)?;
                rows.iter().for_each(|row| keys.push(row.data()));
                keys
            }
        };
        let hashes = (0..keys.len()).map(|i| hash_bytes(keys.get(i))).collect();
        Ok(KeyBatch { keys: Keys::Bytes(keys), hashes, nulls })
    }

    /// The columns that `keys` were made of, in the form that equal values share; `null` is the
    /// position of the one null integer key.
    pub(crate) fn decode(&self, keys: &Keys, null: Option<usize>) -> SqlResult<Vec<ArrayRef>> {
        match (keys, &self.form) {
            (Keys::Ints(values), _) => {
                let nulls = null.map(|at| (0..values.len()).map(|i| i != at).collect());
                Ok(vec![int_array(&self.types[0], values, nulls)])
            }
            (Keys::Wide(keys), _) => Ok(wide::decode(&self.types, keys)),
            (Keys::Bytes(keys), Form::Bytes(layout)) => Ok(layout.decode(keys)),
            (Keys::Bytes(keys), Form::Rows(converter)) => {
                let parser = converter.parser();
                let rows = (0..keys.len()).map(|i| parser.parse(keys.get(i)));
                converter.convert_rows(rows).map_err(arrow)
            }
            (Keys::Bytes(_), Form::Int | Form::Wide) => unreachable!("integers are no byte keys"),
        }
    }
}

/// The keys of one integer column.
fn int_keys(column: &ArrayRef, nulls: Option<NullBuffer>) -> KeyBatch {
    let values = int_values(column);
    let mut hashes: Vec<u64> = values.iter().map(|&v| hash_int(v)).collect();
    if let Some(nulls) = nulls.as_ref().filter(|n| n.null_count() > 0) {
        // Null keys are spilled together, whatever their slots hold.
        let null_rows = hashes.iter_mut().enumerate().filter(|(i, _)| nulls.is_null(*i));
        null_rows.for_each(|(_, hash)| *hash = hash_int(0));
    }
    KeyBatch { keys: Keys::Ints(values), hashes, nulls }
}

/// Whether values of the type are keys as they are.
pub(crate) fn is_int(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Timestamp(TimeUnit::Microsecond, None)
    )
}

fn int_values(column: &ArrayRef) -> Vec<i64> {
    fn widen<T: arrow_array::ArrowPrimitiveType>(column: &ArrayRef) -> Vec<i64>
    where
        T::Native: Into<i64>,
    {
        column.as_primitive::<T>().values().iter().map(|&v| v.into()).collect()
    }
    match column.data_type() {
        DataType::Int8 => widen::<Int8Type>(column),
        DataType::Int16 => widen::<Int16Type>(column),
        DataType::Int32 => widen::<Int32Type>(column),
        DataType::Int64 => widen::<Int64Type>(column),
        DataType::Date32 => widen::<Date32Type>(column),
        DataType::Timestamp(..) => widen::<TimestampMicrosecondType>(column),
        other => unreachable!("{other} is no integer key"),
    }
}

/// Integer keys as a column of their type.
pub(crate) fn int_array(ty: &DataType, values: &[i64], nulls: Option<NullBuffer>) -> ArrayRef {
    macro_rules! narrow {
        ($t:ty, $native:ty) => {
            // The values came from this type, so they fit.
            Arc::new(PrimitiveArray::<$t>::new(
                values.iter().map(|&v| v as $native).collect::<Vec<_>>().into(),
                nulls,
            ))
        };
    }
    match ty {
        DataType::Int8 => narrow!(Int8Type, i8),
        DataType::Int16 => narrow!(Int16Type, i16),
        DataType::Int32 => narrow!(Int32Type, i32),
        DataType::Int64 => narrow!(Int64Type, i64),
        DataType::Date32 => narrow!(Date32Type, i32),
        DataType::Timestamp(..) => narrow!(TimestampMicrosecondType, i64),
        other => unreachable!("{other} is no integer key"),
    }
}

/// Folds the 128-bit product: every bit of the input reaches every bit of the result.
pub(crate) fn mix(x: u64) -> u64 {
    let product = u128::from(x ^ 0x9E37_79B9_7F4A_7C15)
        .wrapping_mul(0xD6E8_FEB8_6659_FD93_A076_1D64_78BD_642F);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of an integer key.
#[inline]
pub(crate) fn hash_int(value: i64) -> u64 {
    mix(value as u64)
}

/// The hash of bytes.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut hash = mix(bytes.len() as u64);
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word));
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        hash = mix(hash ^ u64::from_le_bytes(last));
    }
    hash
}
