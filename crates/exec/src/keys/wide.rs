//! Keys of two or three integers as words: compared and hashed without a loop over bytes.
//!
//! The first two columns have a word each; a third one, of 32 bits at most, shares the last word with a bit
//! for each column that says whether it is null. The value of a null is 0.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::{int_array, int_values, is_int, mix};

/// A key.
pub(crate) type WideKey = [u64; WORDS];

const WORDS: usize = 3;

/// The word of the third column and of the null bits.
const SHARED: usize = WORDS - 1;

/// The null bit of the first column.
const NULL_BIT: usize = 32;

/// Whether keys of these types have this form.
pub(super) fn is_wide(types: &[DataType]) -> bool {
    match types {
        [first, second] => is_int(first) && is_int(second),
        [first, second, third] => {
            let is_short = third.primitive_width().is_some_and(|bytes| bytes <= 4);
            is_int(first) && is_int(second) && is_int(third) && is_short
        }
        _ => false,
    }
}

/// The keys of the rows of some columns.
pub(super) fn encode(columns: &[ArrayRef]) -> Vec<WideKey> {
    let mut keys = vec![[0; WORDS]; columns.first().map_or(0, |column| column.len())];
    for (at, column) in columns.iter().enumerate() {
        let values = int_values(column);
        let low = |value: i64| if at == SHARED { u64::from(value as u32) } else { value as u64 };
        keys.iter_mut().zip(values).for_each(|(key, value)| key[at] |= low(value));
        let Some(nulls) = column.nulls().filter(|nulls| nulls.null_count() > 0) else { continue };
        let value_bits = if at == SHARED { u64::from(u32::MAX) } else { u64::MAX };
        for (_, key) in keys.iter_mut().enumerate().filter(|(row, _)| nulls.is_null(*row)) {
            key[at] &= !value_bits;
            key[SHARED] |= 1 << (NULL_BIT + at);
        }
    }
    keys
}

/// The columns that keys were made of.
pub(super) fn decode(types: &[DataType], keys: &[WideKey]) -> Vec<ArrayRef> {
    let column = |(at, ty): (usize, &DataType)| {
        let value =
            |key: &WideKey| if at == SHARED { key[at] as i32 as i64 } else { key[at] as i64 };
        let values: Vec<i64> = keys.iter().map(value).collect();
        let valid = keys.iter().map(|key| key[SHARED] >> (NULL_BIT + at) & 1 == 0);
        let nulls = Some(valid.collect::<NullBuffer>()).filter(|nulls| nulls.null_count() > 0);
        int_array(ty, &values, nulls)
    };
    types.iter().enumerate().map(column).collect()
}

/// The hash of a key.
#[inline]
pub(super) fn hash(key: &WideKey) -> u64 {
    mix(key[0] ^ mix(key[1] ^ mix(key[SHARED])))
}
