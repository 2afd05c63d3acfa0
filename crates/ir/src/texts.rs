//! Questions about texts, asked of their views: a view has the length and the first four bytes, and
//! all of a text of at most twelve.

use arrow_array::builder::make_view;
use arrow_array::{Array, StringViewArray};
use arrow_buffer::BooleanBuffer;

use crate::program::Text;
use crate::words::bits_of;

/// Bytes of a text that lies wholly in its view.
const INLINE_BYTES_MAX: usize = 12;

/// Bytes of a text that each view has.
const PREFIX_BYTES: usize = 4;

/// The answer for each row; that for a null is arbitrary.
pub(crate) fn ask(texts: &StringViewArray, question: &Text) -> BooleanBuffer {
    match question {
        Text::OneOf(wanted) => match wanted.as_ref() {
            [] => BooleanBuffer::new_unset(texts.len()),
            [first, others @ ..] => {
                others.iter().fold(equal(texts, first), |all, text| &all | &equal(texts, text))
            }
        },
        Text::StartsWith(prefix) => starts_with(texts, prefix.as_bytes()),
    }
}

fn equal(texts: &StringViewArray, wanted: &str) -> BooleanBuffer {
    let bytes = wanted.as_bytes();
    let view = make_view(bytes, 0, 0);
    if bytes.len() <= INLINE_BYTES_MAX {
        return bits_of(texts.views(), |found| found == view);
    }
    // Length and prefix first.
    let head = bits_of(texts.views(), |found| found as u64 == view as u64);
    among(head, |row| texts.value(row) == wanted)
}

fn starts_with(texts: &StringViewArray, prefix: &[u8]) -> BooleanBuffer {
    let known = prefix.len().min(PREFIX_BYTES);
    let mut head = [0; 4];
    head[..known].copy_from_slice(&prefix[..known]);
    let head = u32::from_le_bytes(head);
    let mask = u32::MAX.checked_shr(32 - 8 * known as u32).unwrap_or(0);
    let begins = bits_of(texts.views(), |view| {
        view as u32 as usize >= prefix.len() && (view >> 32) as u32 & mask == head
    });
    match prefix.len() <= PREFIX_BYTES {
        true => begins,
        false => among(begins, |row| texts.value(row).as_bytes().starts_with(prefix)),
    }
}

/// The rows of `rows` for which the test holds, too.
fn among(rows: BooleanBuffer, test: impl Fn(usize) -> bool) -> BooleanBuffer {
    let mut kept = arrow_buffer::BooleanBufferBuilder::new(rows.len());
    kept.append_n(rows.len(), false);
    rows.set_indices().filter(|row| test(*row)).for_each(|row| kept.set_bit(row, true));
    kept.finish()
}
