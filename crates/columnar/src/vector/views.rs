//! Strings as views: those of at most twelve bytes lie in their view, others point into a buffer.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::types::ByteViewType;
use arrow_array::{ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBuffer};

use crate::strings::Texts;

/// Bytes of a string that lies wholly in its view.
const MAX_INLINE_VIEW_LEN: u32 = 12;

/// Views of strings from one vector after the other.
#[derive(Default)]
pub(super) struct Views {
    views: Vec<u128>,
    /// What the longer ones point into.
    buffers: Vec<Buffer>,
}

impl Views {
    /// No strings, with room for some.
    pub(super) fn with_capacity(rows: usize) -> Views {
        Views { views: Vec::with_capacity(rows), buffers: vec![] }
    }

    /// Appends strings.
    pub(super) fn push(&mut self, texts: Texts) {
        let Texts { buffer, spans, codes } = texts;
        let number = self.number_of(&buffer);
        let view = |&(offset, len): &(u32, u32)| view_of(&buffer, number, offset, len);
        match codes {
            Some(codes) => {
                let entries: Vec<u128> = spans.iter().map(view).collect();
                self.views.extend(codes.iter().map(|code| entries[usize::from(*code)]));
            }
            None => self.views.extend(spans.iter().map(view)),
        }
        let is_kept = self.buffers.len() > number as usize;
        if !is_kept && spans.iter().any(|(_, len)| *len > MAX_INLINE_VIEW_LEN) {
            self.buffers.push(buffer);
        }
    }

    /// The number that a buffer has, or will have. Vectors that share a dictionary share a buffer.
    fn number_of(&self, buffer: &Buffer) -> u32 {
        let is_last =
            |last: &Buffer| last.as_ptr() == buffer.as_ptr() && last.len() == buffer.len();
        (self.buffers.len() - usize::from(self.buffers.last().is_some_and(is_last))) as u32
    }

    /// The array. All strings must be what `T` asks for, which [`is_text`] tells of text.
    pub(super) fn into_array<T: ByteViewType>(
        self,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, &'static str> {
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != self.views.len()) {
            return Err("validity of another number of rows");
        }
        // SAFETY: each view was made by `view_of` for a string that lies in the buffer of its number,
        // has its prefix or its bytes, and zeros after them; who pushed them has looked at the strings;
        // the nulls are as many as the views.
        let array = unsafe {
            GenericByteViewArray::<T>::new_unchecked(self.views.into(), self.buffers, nulls)
        };
        Ok(Arc::new(array))
    }
}

/// The view of one string of the buffer with that number.
#[inline]
fn view_of(buffer: &[u8], number: u32, offset: u32, len: u32) -> u128 {
    let start = offset as usize;
    match buffer.get(start..start + MAX_INLINE_VIEW_LEN as usize) {
        // The same for short and long strings, without a call to copy some bytes.
        Some(first) if len <= MAX_INLINE_VIEW_LEN => {
            let mut bytes = [0; 16];
            bytes[4..].copy_from_slice(first);
            let kept = u128::MAX >> (8 * (MAX_INLINE_VIEW_LEN - len));
            (u128::from_le_bytes(bytes) & kept) | u128::from(len)
        }
        Some(first) => {
            let prefix = u128::from(u32::from_le_bytes([first[0], first[1], first[2], first[3]]));
            u128::from(len) | prefix << 32 | u128::from(number) << 64 | u128::from(offset) << 96
        }
        None => make_view(&buffer[start..][..len as usize], number, offset),
    }
}

/// Whether each string is UTF-8: the buffer is, and no string begins or ends within a character.
pub(super) fn is_text(texts: &Texts) -> bool {
    if texts.buffer.is_ascii() {
        return true;
    }
    let Ok(text) = std::str::from_utf8(&texts.buffer) else { return false };
    texts.spans.iter().all(|&(offset, len)| {
        text.is_char_boundary(offset as usize) && text.is_char_boundary((offset + len) as usize)
    })
}
