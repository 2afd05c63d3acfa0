//! Booleans: a bit for each row.

use crate::error::Result;
use crate::layout::VECTOR_ROWS;
use crate::mask::Mask;
use crate::view::View;

/// Appends a bit for each value.
pub(crate) fn encode(values: &[bool], out: &mut Vec<u8>) {
    let mut bytes = vec![0; values.len().div_ceil(64) * 8];
    for (row, _) in values.iter().enumerate().filter(|(_, value)| **value) {
        bytes[row / 8] |= 1 << (row % 8);
    }
    out.extend_from_slice(&bytes);
}

/// The rows of `count` whose bit is set.
pub(crate) fn decode(view: View<'_>, at: usize, count: usize) -> Result<Mask> {
    let bits = view.bytes(at, count.min(VECTOR_ROWS).div_ceil(64) * 8)?;
    Ok(Mask::from_bits(bits).and(&Mask::first(count)))
}

/// The bit of one row.
pub(crate) fn get(view: View<'_>, at: usize, row: usize) -> Result<bool> {
    Ok(view.u8(at + row / 8)? >> (row % 8) & 1 == 1)
}
