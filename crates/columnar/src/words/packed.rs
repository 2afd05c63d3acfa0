//! Frame of reference and bit packing in lanes (`docs/format/block.md`, section 4.1).

use stdx::Vectors;

use super::{ROW_BYTES, Word};
use crate::error::Result;
use crate::layout::VECTOR_ROWS;
use crate::mask::Mask;
use crate::view::View;

/// Bytes before the codes.
const HEAD_BYTES: usize = 24;

/// A packed block: `count` words as `base + code * factor`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    view: View<'a>,
    base: u64,
    factor: u64,
    width: usize,
    count: usize,
}

impl<'a> Packed<'a> {
    /// The block of `count` words that begins at `at`, and where it ends.
    pub fn parse<W: Word>(view: View<'a>, at: usize, count: usize) -> Result<(Packed<'a>, usize)> {
        let (base, factor) = (view.u64(at)?, view.u64(at + 8)?);
        let (width, bits) = (usize::from(view.u8(at + 16)?), usize::from(view.u8(at + 17)?));
        if bits != W::BITS || width > bits {
            return Err(view.damage(at + 16, "a packed block has a width that cannot be"));
        }
        if count > VECTOR_ROWS {
            return Err(view.damage(at, "a packed block has more values than a vector"));
        }
        let end = at + HEAD_BYTES + codes_len::<W>(count, width);
        if end > view.len() {
            return Err(view.damage(at, "a packed block reaches beyond its end"));
        }
        let packed = Packed { view: view.tail(at + HEAD_BYTES)?, base, factor, width, count };
        Ok((packed, end))
    }

    /// All words.
    pub fn decode<W: Word>(&self) -> Result<Vec<W>> {
        self.decode_by(Vectors::widest())
    }

    /// The same with these vector instructions.
    pub(super) fn decode_by<W: Word>(&self, vectors: Vectors) -> Result<Vec<W>> {
        self.unpack(vectors, (W::low(self.base), W::low(self.factor)))
    }

    /// The same into the first words of a vector's room, and how many they are; those that complete the
    /// lanes are arbitrary.
    pub fn decode_into<W: Word>(&self, out: &mut [W; VECTOR_ROWS]) -> Result<usize> {
        let scale = (W::low(self.base), W::low(self.factor));
        self.unpack_into(Vectors::widest(), scale, &mut out[..self.whole_lanes::<W>()])?;
        Ok(self.count)
    }

    fn unpack<W: Word>(&self, vectors: Vectors, scale: (W, W)) -> Result<Vec<W>> {
        let mut words = vec![W::low(0); self.whole_lanes::<W>()];
        self.unpack_into(vectors, scale, &mut words)?;
        words.truncate(self.count);
        Ok(words)
    }

    fn unpack_into<W: Word>(&self, vectors: Vectors, scale: (W, W), out: &mut [W]) -> Result<()> {
        let codes = self.view.bytes(0, codes_len::<W>(self.count, self.width))?;
        W::unpack(vectors, codes, self.width, scale, out);
        Ok(())
    }

    /// The number of words with those that complete the lanes: no more than a vector has.
    fn whole_lanes<W: Word>(&self) -> usize {
        self.count.next_multiple_of(W::LANES)
    }

    /// The word at `index`, which is below the count.
    pub fn get<W: Word>(&self, index: usize) -> Result<W> {
        let base = W::low(self.base);
        if self.width == 0 {
            return Ok(base);
        }
        let (row, lane) = (index / W::LANES, index % W::LANES);
        let (word, shift) = (row * self.width / W::BITS, row * self.width % W::BITS);
        let read = |word: usize| W::read(&self.view, word * ROW_BYTES + lane * W::BYTES);
        let mut code = read(word)?.bits() >> shift;
        if shift + self.width > W::BITS {
            code |= read(word + 1)?.bits() << (W::BITS - shift);
        }
        code &= u64::MAX >> (64 - self.width);
        Ok(base.plus(W::low(code.wrapping_mul(self.factor))))
    }

    /// The rows with a word in `least..=greatest` (signed), found without decoding where the codes
    /// have the order of the words.
    pub fn in_range<W: Word>(&self, least: i64, greatest: i64) -> Result<Mask> {
        let Some((first, last)) = self.codes_between::<W>(least, greatest) else {
            let words = self.decode::<W>()?;
            return Ok(in_signed_range(&words, least, greatest));
        };
        if first > last {
            return Ok(Mask::NONE);
        }
        let vectors = Vectors::widest();
        let codes: Vec<W> = self.unpack(vectors, (W::low(0), W::low(1)))?;
        Ok(W::in_range(vectors, &codes, W::low(first), W::low(last - first)))
    }

    /// The codes whose words are between two values, or `None` if words may wrap.
    fn codes_between<W: Word>(&self, least: i64, greatest: i64) -> Option<(u64, u64)> {
        let code_max = if self.width == 0 { 0 } else { u64::MAX >> (64 - self.width) };
        let base = i128::from(self.base.cast_signed());
        let factor = i128::from(self.factor);
        let word_min = i128::from(i64::MIN >> (64 - W::BITS));
        let word_max = i128::from(i64::MAX >> (64 - W::BITS));
        let last_word = factor.checked_mul(i128::from(code_max))?.checked_add(base)?;
        if factor == 0 || base < word_min || last_word > word_max {
            return None;
        }
        let first = (i128::from(least) - base).max(0);
        let first = (first + factor - 1) / factor;
        let last = (i128::from(greatest) - base).div_euclid(factor).min(i128::from(code_max));
        if last < 0 || first > last {
            return Some((1, 0));
        }
        Some((u64::try_from(first).ok()?, u64::try_from(last).ok()?))
    }
}

/// The rows with a word in `least..=greatest`, both signed.
pub(crate) fn in_signed_range<W: Word>(words: &[W], least: i64, greatest: i64) -> Mask {
    let word_min = i64::MIN >> (64 - W::BITS);
    let word_max = i64::MAX >> (64 - W::BITS);
    let (least, greatest) = (least.max(word_min), greatest.min(word_max));
    if least > greatest {
        return Mask::NONE;
    }
    let least = W::low(least.cast_unsigned());
    let span = W::low(greatest.cast_unsigned()).minus(least);
    let mask = W::in_range(Vectors::widest(), words, least, span);
    mask.and(&Mask::first(words.len()))
}

/// Bytes of `count` codes of `width` bits: whole rows of words.
fn codes_len<W: Word>(count: usize, width: usize) -> usize {
    (count.div_ceil(W::LANES) * width).div_ceil(W::BITS) * ROW_BYTES
}

/// Bytes of a packed block of words whose codes are at most `code_max`.
pub(super) fn packed_len<W: Word>(count: usize, code_max: u64) -> usize {
    HEAD_BYTES + codes_len::<W>(count, width_of(code_max))
}

/// Appends a packed block with the base and the factor that fit the words best.
pub(crate) fn push_packed<W: Word>(words: &[W], out: &mut Vec<u8>) {
    let base = words.iter().map(|word| word.signed()).min().unwrap_or(0);
    let factor = common_factor(words, base).max(1);
    push_block(words, base, factor, out);
}

/// Appends a packed block whose codes are the words.
pub(crate) fn push_unscaled<W: Word>(words: &[W], out: &mut Vec<u8>) {
    push_block(words, 0, 1, out);
}

fn push_block<W: Word>(words: &[W], base: i64, factor: u64, out: &mut Vec<u8>) {
    let low = W::low(base.cast_unsigned());
    let mut codes: Vec<W> = words.iter().map(|word| word.minus(low)).collect();
    if factor > 1 {
        codes.iter_mut().for_each(|code| *code = W::low(code.bits() / factor));
    }
    let width = width_of(codes.iter().map(|code| code.bits()).max().unwrap_or(0));
    out.extend_from_slice(&base.to_le_bytes());
    out.extend_from_slice(&factor.to_le_bytes());
    out.extend_from_slice(&[width as u8, W::BITS as u8, 0, 0, 0, 0, 0, 0]);
    push_codes(&codes, width, out);
}

fn push_codes<W: Word>(codes: &[W], width: usize, out: &mut Vec<u8>) {
    let mut rows = vec![W::low(0); codes_len::<W>(codes.len(), width) / W::BYTES];
    for (row, codes) in codes.chunks(W::LANES).enumerate() {
        let (word, shift) = (row * width / W::BITS, row * width % W::BITS);
        let at = word * W::LANES;
        for (place, code) in rows[at..].iter_mut().zip(codes) {
            *place = W::low(place.bits() | code.bits() << shift);
        }
        if shift + width > W::BITS {
            for (place, code) in rows[at + W::LANES..].iter_mut().zip(codes) {
                *place = W::low(place.bits() | code.bits() >> (W::BITS - shift));
            }
        }
    }
    rows.iter().for_each(|word| word.push(out));
}

/// The greatest number that divides each word's distance to `base`; 0 if there is no distance.
pub(super) fn common_factor<W: Word>(words: &[W], base: i64) -> u64 {
    let low = W::low(base.cast_unsigned());
    let mut factor = 0;
    for word in words {
        factor = greatest_divisor(word.minus(low).bits(), factor);
        if factor == 1 {
            break;
        }
    }
    factor
}

fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn width_of(code_max: u64) -> usize {
    64 - code_max.leading_zeros() as usize
}
