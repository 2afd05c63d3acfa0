//! Reals and doubles: decimals in disguise (ALP, Afroozeh, Kuffo and Boncz, 2023), or their bits.
//!
//! The arithmetic is part of the format (`docs/format/block.md`, section 4.3), so it stands here
//! and not in a library whose next version may round otherwise.

use crate::encoding::Encoding;
use crate::error::Result;
use crate::view::{View, pad8, push_pad8};
use crate::words::{self, Decoder, Packed, Word, push_packed};

/// A word that holds the bits of a number with a point.
pub(crate) trait FloatWord: Word {
    /// Greatest exponent `e`.
    const EXPONENT_MAX: u8;
    /// The bits of `(digits * 10^f) * 10^-e`.
    fn of_digits(digits: Self, e: u8, f: u8) -> Self;
    /// The integer nearest to `(value * 10^e) * 10^-f`, if it is one of the word's size.
    fn digits(self, e: u8, f: u8) -> Option<Self>;
}

macro_rules! float_word {
    ($word:ident, $signed:ident, $float:ident, $max:literal, $round:expr, $powers:ident, $inverse:ident) => {
        impl FloatWord for $word {
            const EXPONENT_MAX: u8 = $max;

            #[inline]
            fn of_digits(digits: $word, e: u8, f: u8) -> $word {
                let digits = digits.cast_signed() as $float;
                (digits * $powers[usize::from(f)] * $inverse[usize::from(e)]).to_bits()
            }

            #[inline]
            fn digits(self, e: u8, f: u8) -> Option<$word> {
                let scaled = $float::from_bits(self) * $powers[usize::from(e)];
                let scaled = scaled * $inverse[usize::from(f)];
                // Numbers of this size have no digits after the point; adding one rounds.
                let rounded = scaled + $round - $round;
                let digits = (rounded as $signed).cast_unsigned();
                (<$word as FloatWord>::of_digits(digits, e, f) == self).then_some(digits)
            }
        }
    };
}

const POWERS: [f64; 19] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];
const INVERSE: [f64; 19] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15, 1e-16, 1e-17, 1e-18,
];
const REAL_POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
const REAL_INVERSE: [f32; 11] = [1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];

float_word!(u64, i64, f64, 18, (3_i64 << 51) as f64, POWERS, INVERSE);
float_word!(u32, i32, f32, 10, (3_i32 << 22) as f32, REAL_POWERS, REAL_INVERSE);

/// Numbers in one of their encodings.
pub(crate) enum Floats<'a> {
    Words(Decoder<'a>),
    Digits(Digits<'a>),
}

/// Numbers as integers and powers of ten, and the exceptions from that.
pub(crate) struct Digits<'a> {
    view: View<'a>,
    e: u8,
    f: u8,
    rows_at: usize,
    words_at: usize,
    exception_count: usize,
    digits: Packed<'a>,
}

impl<'a> Floats<'a> {
    pub fn parse<W: FloatWord>(
        view: View<'a>,
        at: usize,
        encoding: Encoding,
        count: usize,
    ) -> Result<Floats<'a>> {
        match encoding {
            Encoding::Digits => Ok(Floats::Digits(Digits::parse::<W>(view, at, count)?)),
            Encoding::Plain | Encoding::Dictionary | Encoding::Runs => {
                Ok(Floats::Words(Decoder::parse::<W>(view, at, encoding, count)?))
            }
            _ => Err(view.damage(at, "an encoding that reals and doubles do not have")),
        }
    }

    pub fn decode<W: FloatWord>(&self) -> Result<Vec<W>> {
        match self {
            Floats::Words(decoder) => decoder.decode(),
            Floats::Digits(digits) => digits.decode(),
        }
    }

    pub fn get<W: FloatWord>(&self, index: usize) -> Result<W> {
        match self {
            Floats::Words(decoder) => decoder.get(index),
            Floats::Digits(digits) => digits.get(index),
        }
    }
}

impl<'a> Digits<'a> {
    fn parse<W: FloatWord>(view: View<'a>, at: usize, count: usize) -> Result<Digits<'a>> {
        let (e, f) = (view.u8(at)?, view.u8(at + 1)?);
        if e > W::EXPONENT_MAX || f > e {
            return Err(view.damage(at, "exponents that cannot be"));
        }
        let exception_count = view.count(at + 2, count)?;
        let rows_at = at + 8;
        let words_at = pad8(rows_at + 2 * exception_count);
        let digits_at = pad8(words_at + W::BYTES * exception_count);
        let (digits, _) = Packed::parse::<W>(view, digits_at, count)?;
        Ok(Digits { view, e, f, rows_at, words_at, exception_count, digits })
    }

    fn decode<W: FloatWord>(&self) -> Result<Vec<W>> {
        let mut words: Vec<W> = self.digits.decode()?;
        let (e, f) = (self.e, self.f);
        words.iter_mut().for_each(|word| *word = W::of_digits(*word, e, f));
        let rows = u16::read_all(self.view.bytes(self.rows_at, 2 * self.exception_count)?);
        let bytes = self.view.bytes(self.words_at, W::BYTES * self.exception_count)?;
        for (row, word) in rows.into_iter().zip(W::read_all(bytes)) {
            let Some(place) = words.get_mut(usize::from(row)) else {
                return Err(self.view.damage(self.rows_at, "an exception is in no row"));
            };
            *place = word;
        }
        Ok(words)
    }

    fn get<W: FloatWord>(&self, index: usize) -> Result<W> {
        let rows = u16::read_all(self.view.bytes(self.rows_at, 2 * self.exception_count)?);
        match rows.binary_search_by_key(&index, |row| usize::from(*row)) {
            Ok(exception) => W::read(&self.view, self.words_at + exception * W::BYTES),
            Err(_) => Ok(W::of_digits(self.digits.get(index)?, self.e, self.f)),
        }
    }
}

/// Appends numbers in the encoding that takes least.
pub(crate) fn encode<W: FloatWord>(values: &[W], out: &mut Vec<u8>) -> Encoding {
    let mut bits = Vec::new();
    let as_bits = encode_bits(values, &mut bits);
    let mut digits = Vec::new();
    if let Some((e, f)) = best_exponents(values) {
        push_digits(values, e, f, &mut digits);
    }
    let (encoding, bytes) = match !digits.is_empty() && digits.len() < bits.len() {
        true => (Encoding::Digits, digits),
        false => (as_bits, bits),
    };
    out.extend_from_slice(&bytes);
    encoding
}

fn encode_bits<W: FloatWord>(values: &[W], out: &mut Vec<u8>) -> Encoding {
    let encoding =
        words::smallest_of(values, &[Encoding::Plain, Encoding::Runs, Encoding::Dictionary]);
    words::encode_as(values, encoding, out);
    encoding
}

/// Rows that are looked at to find exponents.
const SAMPLE_ROWS: usize = 32;

/// The exponents with which a sample takes least, or `None` if it is no sample of decimals.
fn best_exponents<W: FloatWord>(values: &[W]) -> Option<(u8, u8)> {
    let step = values.len().div_ceil(SAMPLE_ROWS).max(1);
    let sample: Vec<W> = values.iter().step_by(step).copied().collect();
    let all = (0..=W::EXPONENT_MAX).rev().flat_map(|e| (0..=e).rev().map(move |f| (e, f)));
    let (mut bits, mut best) = (sample.len() * W::BITS, None);
    for (e, f) in all {
        if let Some(fewer) = sample_bits(&sample, e, f, bits) {
            (bits, best) = (fewer, Some((e, f)));
        }
    }
    best
}

/// Bits of the sample with these exponents, if they are less than `bits`.
fn sample_bits<W: FloatWord>(sample: &[W], e: u8, f: u8, bits: usize) -> Option<usize> {
    let exception_bits = W::BITS + 16;
    let (mut min, mut max, mut exceptions) = (i64::MAX, i64::MIN, 0);
    for word in sample {
        match word.digits(e, f) {
            Some(digits) => (min, max) = (min.min(digits.signed()), max.max(digits.signed())),
            None if (exceptions + 1) * exception_bits >= bits => return None,
            None => exceptions += 1,
        }
    }
    let spread = if min > max { 0 } else { max.wrapping_sub(min).cast_unsigned() };
    let width = 64 - spread.leading_zeros() as usize;
    let found = (sample.len() - exceptions) * width + exceptions * exception_bits;
    (found < bits).then_some(found)
}

fn push_digits<W: FloatWord>(values: &[W], e: u8, f: u8, out: &mut Vec<u8>) {
    let all: Vec<Option<W>> = values.iter().map(|word| word.digits(e, f)).collect();
    let filler = all.iter().flatten().next().copied().unwrap_or(W::low(0));
    let exceptions = || values.iter().zip(&all).enumerate().filter(|(_, (_, d))| d.is_none());
    let count = exceptions().count() as u16;
    out.extend_from_slice(&[e, f]);
    out.extend_from_slice(&count.to_le_bytes());
    push_pad8(out);
    exceptions().for_each(|(row, _)| (row as u16).push(out));
    push_pad8(out);
    exceptions().for_each(|(_, (word, _))| word.push(out));
    push_pad8(out);
    let digits: Vec<W> = all.iter().map(|digits| digits.unwrap_or(filler)).collect();
    push_packed(&digits, out);
}
