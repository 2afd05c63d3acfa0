//! Arrays in binary format (PostgreSQL's `array_recv` and `array_send`).

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::{bad, decode, encode, sized};
use crate::error::{SqlError, SqlResult};
use crate::oid;

/// Writes a list with its length.
///
/// # Errors
/// 0A000 for elements without binary form.
pub(super) fn encode_list(body: &mut Vec<u8>, array: &ArrayRef, row: usize) -> SqlResult<()> {
    let mut elements = array.as_list::<i32>().value(row);
    let mut lengths = vec![elements.len()];
    // The inner arrays are as long as each other, and lie behind each other.
    while let DataType::List(_) = elements.data_type() {
        let inner = elements.as_list::<i32>();
        let length = if inner.is_empty() { 0 } else { inner.value(0).len() };
        if inner.null_count() > 0 || (0..inner.len()).any(|i| inner.value(i).len() != length) {
            return Err(SqlError::unsupported("an array of arrays of several lengths"));
        }
        lengths.push(length);
        let begin = inner.value_offsets()[0] as usize;
        elements = inner.values().slice(begin, inner.len() * length);
    }
    let element = oid::of(elements.data_type()).oid;
    let mut value = Vec::new();
    let dimensions = if elements.is_empty() { 0 } else { lengths.len() as i32 };
    value.extend_from_slice(&dimensions.to_be_bytes());
    value.extend_from_slice(&i32::from(elements.logical_null_count() > 0).to_be_bytes());
    value.extend_from_slice(&element.to_be_bytes());
    for length in lengths.iter().take(dimensions as usize) {
        value.extend_from_slice(&(*length as i32).to_be_bytes());
        value.extend_from_slice(&1i32.to_be_bytes());
    }
    for i in 0..elements.len() {
        encode(&mut value, &elements, i)?;
    }
    sized(body, &value);
    Ok(())
}

/// The text form of an array: `{1,2,NULL}`.
///
/// # Errors
/// 22P03 for bytes that are no array; 0A000 for more than one dimension.
pub(super) fn decode_list(bytes: &[u8]) -> SqlResult<String> {
    let mut rest = bytes;
    let (dimensions, _nulls) = (int(&mut rest)?, int(&mut rest)?);
    let element = int(&mut rest)? as u32;
    if dimensions == 0 {
        return Ok("{}".into());
    }
    // An array of arrays has dimensions instead; following it here could go as deep as it likes.
    if dimensions != 1 || oid::is_array(element) {
        return Err(SqlError::unsupported("an array of several dimensions"));
    }
    let (count, _lower) = (int(&mut rest)?, int(&mut rest)?);
    let mut text = String::from("{");
    for i in 0..count {
        if i > 0 {
            text.push(',');
        }
        let length = int(&mut rest)?;
        let Ok(length) = usize::try_from(length) else {
            text.push_str("NULL");
            continue;
        };
        let (value, after) = rest.split_at_checked(length).ok_or_else(bad)?;
        rest = after;
        quote(&decode(element, value)?, &mut text);
    }
    if !rest.is_empty() {
        return Err(bad());
    }
    text.push('}');
    Ok(text)
}

fn int(rest: &mut &[u8]) -> SqlResult<i32> {
    let (head, tail) = rest.split_first_chunk::<4>().ok_or_else(bad)?;
    *rest = tail;
    Ok(i32::from_be_bytes(*head))
}

fn quote(value: &str, text: &mut String) {
    text.push('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
}
