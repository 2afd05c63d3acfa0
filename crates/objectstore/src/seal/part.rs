//! Parts of a chunk that is the only one of its file: whole segments, opened without the others.

use std::ops::Range;

use super::{
    ChunkPlace, HEADER_BYTES, Opener, SEGMENT_BYTES, Segment, TAG_BYTES, give_way, refused,
    sealed_len,
};
use crate::error::Result;

/// Segments of a chunk that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    numbers: Range<usize>,
    plain_len: usize,
}

impl Segments {
    /// Those that have the bytes `range` of a chunk of `plain_len` bytes; none for an empty range. What lies
    /// beyond the chunk is left out.
    pub fn around(range: &Range<usize>, plain_len: usize) -> Segments {
        let end = range.end.min(plain_len);
        let numbers = match range.start < end {
            true => range.start / SEGMENT_BYTES..end.div_ceil(SEGMENT_BYTES),
            false => 0..0,
        };
        Segments { numbers, plain_len }
    }

    /// The bytes of the chunk that they have.
    pub fn plain(&self) -> Range<usize> {
        let at = |number: usize| (number * SEGMENT_BYTES).min(self.plain_len);
        at(self.numbers.start)..at(self.numbers.end)
    }

    /// Where they lie in the sealed chunk.
    pub fn sealed(&self) -> Range<usize> {
        let at = |number: usize| HEADER_BYTES + number * (SEGMENT_BYTES + TAG_BYTES);
        let end = at(self.numbers.end).min(sealed_len(self.plain_len));
        at(self.numbers.start).min(end)..end
    }
}

impl Opener {
    /// Decrypts segments in place, giving way in between: `buf` has their sealed bytes, and afterwards begins
    /// with those of the chunk, as many as [`Segments::plain`] has.
    ///
    /// # Errors
    /// `Corrupt` for what are not just these segments of the only chunk of the file; `buf` is zeroes then.
    pub async fn open_segments(
        &self,
        place: ChunkPlace,
        segments: &Segments,
        buf: &mut [u8],
    ) -> Result<()> {
        let opened = self.try_open_segments(place, segments, buf).await;
        if opened.is_err() {
            buf.fill(0);
        }
        opened
    }

    async fn try_open_segments(
        &self,
        place: ChunkPlace,
        segments: &Segments,
        buf: &mut [u8],
    ) -> Result<()> {
        if buf.len() != segments.sealed().len() {
            return Err(refused());
        }
        let (plain_len, mut filled) = (segments.plain_len, 0);
        for (turn, number) in segments.numbers.clone().enumerate() {
            // Its file has no other chunk, so its numbers begin with zero.
            let segment = Segment { place, first: 0, number, plain_len };
            let at = turn * (SEGMENT_BYTES + TAG_BYTES);
            let end = buf.len().min(at + SEGMENT_BYTES + TAG_BYTES);
            let (nonce, context) = (segment.nonce()?, self.file.context(&segment));
            let opened = self.file.key.open_in_place(nonce, context, &mut buf[at..end]);
            let count = opened.map_err(|_| refused())?.len();
            buf.copy_within(at..at + count, filled);
            filled += count;
            give_way().await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
