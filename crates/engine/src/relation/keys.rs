//! Bytes of keys: what the values of an access path come to.

use std::ops::Bound;

use plan::KeyRange;
use txn::visible::{Bounds, Range};
use types::SqlResult;
use types::key::{KeyColumn, KeyEncoder, encode_value_of, push_null_bound, successor};

/// The first key of the range of one value.
pub(crate) fn low_key(low: &Bound<Vec<u8>>) -> &[u8] {
    match low {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    }
}

/// The range as bytes; `None` when it is empty. A bound on one side excludes nulls.
pub(crate) fn bounds(key: &[KeyColumn], range: &KeyRange) -> SqlResult<Option<Bounds>> {
    let prefix = encode(key, &range.prefix)?;
    let next = key.get(range.prefix.len());
    let open = range.lower == Bound::Unbounded && range.upper == Bound::Unbounded;
    let one = |value| {
        let mut bytes = prefix.clone();
        bytes.extend(encode(&key[range.prefix.len()..], std::slice::from_ref(value))?);
        SqlResult::Ok(bytes)
    };
    let low = match &range.lower {
        Bound::Unbounded => Some(prefix.clone()),
        Bound::Included(value) => Some(one(value)?),
        Bound::Excluded(value) => successor(&one(value)?),
    };
    let Some(low) = low else { return Ok(None) };
    let high = match &range.upper {
        Bound::Unbounded if !open && next.is_some_and(|k| k.nullable) => {
            let mut bytes = prefix.clone();
            push_null_bound(&mut bytes);
            Some(bytes)
        }
        Bound::Unbounded => successor(&prefix),
        Bound::Included(value) => successor(&one(value)?),
        Bound::Excluded(value) => Some(one(value)?),
    };
    if high.as_ref().is_some_and(|high| *high <= low) {
        return Ok(None);
    }
    Ok(Some((Bound::Included(low), high.map_or(Bound::Unbounded, Bound::Excluded))))
}

/// The bytes of the leading columns of a key.
pub(crate) fn encode(key: &[KeyColumn], values: &[plan::ScalarValue]) -> SqlResult<Vec<u8>> {
    let mut bytes = vec![];
    for (column, value) in key.iter().zip(values) {
        push(column, value, &mut bytes)?;
    }
    Ok(bytes)
}

/// Appends the bytes of a value of a column of a key.
fn push(column: &KeyColumn, value: &plan::ScalarValue, bytes: &mut Vec<u8>) -> SqlResult<()> {
    if let Some(of_row) = plan::of_constant(value) {
        assert_eq!(column.ty.arrow(), value.data_type(), "key column {}", column.ordinal);
        return encode_value_of(column, of_row, bytes);
    }
    let vector = value.to_array().map_err(|e| types::SqlError::internal(e.to_string()))?;
    KeyEncoder::new(std::slice::from_ref(column), &[vector]).encode(0, bytes)
}

/// The whole keys that ranges name, which must have a value for each column of the key.
pub(crate) fn points(key: &[KeyColumn], ranges: &[KeyRange]) -> SqlResult<Vec<Vec<u8>>> {
    ranges.iter().map(|range| encode(key, &range.prefix)).collect()
}

/// Longer than any key: an entry has at most 8 KiB.
const LONGER_THAN_KEYS: usize = (8 << 10) + 1;

/// The least bytes above all keys that begin with `prefix`. Behind the greatest values of a type, of which
/// all bytes are ones, that is nothing shorter than a key can be.
pub(crate) fn end_of(prefix: &[u8]) -> Vec<u8> {
    successor(prefix).unwrap_or_else(|| vec![u8::MAX; LONGER_THAN_KEYS])
}

/// The range of the keys that begin with this one.
pub(crate) fn beginning_with(key: Vec<u8>) -> Range {
    let end = end_of(&key);
    (key, end)
}
