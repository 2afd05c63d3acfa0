//! Where each string of a vector lies: a start for each 64 of them, and packed lengths.

use crate::error::Result;
use crate::view::{View, pad8, push_pad8};
use crate::words::{Packed, RESTART_ROWS, Word, push_packed};

/// Starts and lengths of strings.
#[derive(Clone, Copy)]
pub(super) struct Lengths<'a> {
    view: View<'a>,
    starts_at: usize,
    lengths: Packed<'a>,
    count: usize,
}

impl<'a> Lengths<'a> {
    /// The lengths of `count` strings that begin at `at`, and where they end.
    pub fn parse(view: View<'a>, at: usize, count: usize) -> Result<(Lengths<'a>, usize)> {
        let lengths_at = pad8(at + count.div_ceil(RESTART_ROWS) * 4);
        let (lengths, end) = Packed::parse::<u32>(view, lengths_at, count)?;
        Ok((Lengths { view, starts_at: at, lengths, count }, end))
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Offset and length of each string; they adjoin and lie in `bytes_len` bytes.
    pub fn spans(&self, bytes_len: usize) -> Result<Vec<(u32, u32)>> {
        let lengths: Vec<u32> = self.lengths.decode()?;
        let starts = self.view.bytes(self.starts_at, self.count.div_ceil(RESTART_ROWS) * 4)?;
        let mut spans = Vec::with_capacity(self.count);
        let mut offset = 0_u32;
        for (start, block) in u32::read_all(starts).into_iter().zip(lengths.chunks(RESTART_ROWS)) {
            if start != offset {
                return Err(self.view.damage(self.starts_at, "strings do not adjoin"));
            }
            for len in block {
                spans.push((offset, *len));
                offset = offset.checked_add(*len).ok_or_else(|| self.too_long())?;
            }
        }
        if offset as usize > bytes_len {
            return Err(self.too_long());
        }
        Ok(spans)
    }

    /// Offset and length of one string.
    pub fn span(&self, index: usize) -> Result<(usize, usize)> {
        let block = index / RESTART_ROWS;
        let mut offset = self.view.u32(self.starts_at + block * 4)? as usize;
        for row in block * RESTART_ROWS..index {
            offset += self.lengths.get::<u32>(row)? as usize;
        }
        Ok((offset, self.lengths.get::<u32>(index)? as usize))
    }

    fn too_long(&self) -> crate::error::Error {
        self.view.damage(self.starts_at, "a string reaches beyond the vector")
    }
}

/// Appends starts and lengths.
pub(super) fn push_lengths(lengths: &[u32], out: &mut Vec<u8>) {
    let mut offset = 0_u32;
    for block in lengths.chunks(RESTART_ROWS) {
        offset.push(out);
        offset += block.iter().sum::<u32>();
    }
    push_pad8(out);
    push_packed(lengths, out);
}
