//! Columns of words: integers, dates, times, decimals of 18 digits, codes, lengths.
//!
//! A word is unsigned and arithmetic on it wraps; its order is that of the signed integer with the
//! same bits. Loops over words have fixed lengths and no branches, so that they become vector code.

mod codec;
mod delta;
mod dictionary;
mod kernels;
mod packed;
mod runs;
#[cfg(test)]
mod tests;

pub(crate) use codec::{Decoder, encode, encode_as, smallest_of};
pub(crate) use delta::RESTART_ROWS;
pub(crate) use dictionary::{Coded, checked_codes, codes_mask, push_coded};
pub(crate) use packed::{Packed, in_signed_range, push_packed, push_unscaled};

use arrow_buffer::ArrowNativeType;
use stdx::Vectors;

use crate::error::Result;
use crate::mask::Mask;
use crate::view::View;

/// Bytes of one row of words: those at the same place in all lanes.
pub(crate) const ROW_BYTES: usize = 128;

/// An unsigned integer of 16, 32 or 64 bits.
pub(crate) trait Word: ArrowNativeType + Ord {
    /// Number of bits.
    const BITS: usize;
    /// Number of bytes.
    const BYTES: usize = Self::BITS / 8;
    /// Words in a row, which is the number of lanes.
    const LANES: usize = ROW_BYTES / Self::BYTES;

    /// The low bits of `value`.
    fn low(value: u64) -> Self;
    /// The bits as an unsigned number.
    fn bits(self) -> u64;
    /// The bits as a signed number.
    fn signed(self) -> i64;
    /// The sum, modulo 2^BITS.
    fn plus(self, other: Self) -> Self;
    /// The difference, modulo 2^BITS.
    fn minus(self, other: Self) -> Self;
    /// The word at `at`.
    fn read(view: &View<'_>, at: usize) -> Result<Self>;
    /// Appends the bytes.
    fn push(self, out: &mut Vec<u8>);
    /// The words in `bytes`.
    fn read_all(bytes: &[u8]) -> Vec<Self>;
    /// Writes `base + code * factor` for the first codes of `width` bits in whole rows of words; `out` is
    /// whole lanes. Reads zeros beyond the end.
    fn unpack(vectors: Vectors, packed: &[u8], width: usize, scale: (Self, Self), out: &mut [Self]);
    /// The rows whose word is in `least..=least + span`, compared as unsigned distances to `least`.
    fn in_range(vectors: Vectors, words: &[Self], least: Self, span: Self) -> Mask;
}

macro_rules! word {
    ($word:ident, $signed:ident) => {
        impl Word for $word {
            const BITS: usize = $word::BITS as usize;

            #[inline]
            fn low(value: u64) -> $word {
                value as $word
            }

            #[inline]
            fn bits(self) -> u64 {
                u64::from(self)
            }

            #[inline]
            fn signed(self) -> i64 {
                i64::from(self as $signed)
            }

            #[inline]
            fn plus(self, other: $word) -> $word {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: $word) -> $word {
                self.wrapping_sub(other)
            }

            #[inline]
            fn read(view: &View<'_>, at: usize) -> Result<$word> {
                view.array(at).map($word::from_le_bytes)
            }

            fn push(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read_all(bytes: &[u8]) -> Vec<$word> {
                let words = bytes.as_chunks::<{ <$word as Word>::BYTES }>().0;
                words.iter().map(|word| $word::from_le_bytes(*word)).collect()
            }

            fn unpack(
                vectors: Vectors,
                packed: &[u8],
                width: usize,
                scale: ($word, $word),
                out: &mut [$word],
            ) {
                kernels::$word::unpack(vectors, packed, width, scale, out);
            }

            fn in_range(vectors: Vectors, words: &[$word], least: $word, span: $word) -> Mask {
                kernels::$word::in_range(vectors, words, least, span)
            }
        }
    };
}

word!(u16, i16);
word!(u32, i32);
word!(u64, i64);
