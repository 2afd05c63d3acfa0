//! Random vectors, with the values at which things end.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal64Array, Decimal128Array, Float64Array, Int16Array,
    Int32Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use stdx::Prng;

use super::pick::pick;

/// Texts that begin alike, of lengths around what a view holds.
pub(super) const TEXTS: [&str; 8] =
    ["", "f", "fore", "forest", "twelve bytes", "forest green hills", "forest greener", "ünï"];

/// Words at which things end.
const EDGES: [i64; 12] =
    [0, 1, -1, -1, 63, 1 << 31, -1 << 31, 1 << 32, -1 << 62, i64::MAX, i64::MIN, i64::MIN];

/// Floats at which things end; the last NaN has a sign and bits of its own.
const ODD_FLOATS: [f64; 20] = [
    0.0,
    -0.0,
    f64::from_bits(1),
    -f64::from_bits(1),
    f64::from_bits((1 << 52) - 1),
    f64::MIN_POSITIVE,
    1e-200,
    -1e-160,
    1e160,
    -1e200,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::from_bits(0xfff8_0000_0000_0001),
    1.0,
    -1.0,
    9_007_199_254_740_993.0,
    0.1,
];

/// How large the values of a case are. Cases in which most values overflow say little about the
/// others.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// Bits of a word; of 64 many are those at which things end.
    bits: u32,
    floats: FloatSizes,
}

#[derive(Clone, Copy)]
enum FloatSizes {
    /// Halves of small numbers, both zeroes among them.
    Halves,
    /// Halves, with some that are infinite or NaN.
    Unbounded,
    /// Values at which things end.
    Odd,
    /// Any bits.
    Any,
}

impl Sizes {
    pub(super) fn any(random: &mut Prng) -> Sizes {
        let bits = *pick(random, &[4, 12, 30, 64]);
        let floats = [FloatSizes::Halves, FloatSizes::Unbounded, FloatSizes::Odd, FloatSizes::Any];
        Sizes { bits, floats: *pick(random, &floats) }
    }

    /// The least and the greatest word of at most so many bits, or of fewer.
    pub(super) fn range(self, bits_max: u32) -> (i64, i64) {
        let bits = self.bits.min(bits_max);
        (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))
    }

    pub(super) fn word(self, random: &mut Prng) -> i64 {
        match random.below(6) {
            0..3 if self.bits == 64 => *pick(random, &EDGES),
            3 => random.below(5).cast_signed() - 2,
            _ => random.next_u64().cast_signed() >> (64 - self.bits),
        }
    }

    pub(super) fn float(self, random: &mut Prng) -> f64 {
        let halves = |random: &mut Prng| (random.below(33) as f64 - 16.0) / 2.0;
        let unbounded = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0];
        match self.floats {
            FloatSizes::Unbounded if random.below(8) == 0 => *pick(random, &unbounded),
            FloatSizes::Halves | FloatSizes::Unbounded => halves(random),
            FloatSizes::Odd if random.below(3) > 0 => *pick(random, &ODD_FLOATS),
            FloatSizes::Odd => halves(random),
            FloatSizes::Any => f64::from_bits(random.next_u64()),
        }
    }
}

/// A column of any type.
pub(super) fn column(random: &mut Prng, rows: usize, sizes: Sizes, has_nulls: bool) -> ArrayRef {
    let valid: Vec<bool> = (0..rows).map(|_| random.below(4) > 0).collect();
    let nulls = has_nulls.then(|| NullBuffer::from(valid));
    // Words of nulls are arbitrary.
    let words = |random: &mut Prng| (0..rows).map(|_| sizes.word(random)).collect::<Vec<i64>>();
    let ints = |random: &mut Prng| words(random).into_iter().map(|w| w as i32).collect::<Vec<_>>();
    match random.below(12) {
        0 => {
            let shorts: Vec<i16> = words(random).into_iter().map(|w| w as i16).collect();
            Arc::new(Int16Array::new(shorts.into(), nulls))
        }
        1 => Arc::new(Int32Array::new(ints(random).into(), nulls)),
        2 => Arc::new(Date32Array::new(ints(random).into(), nulls)),
        3 => Arc::new(TimestampMicrosecondArray::new(words(random).into(), nulls)),
        4 => Arc::new(Decimal64Array::new(words(random).into(), nulls)),
        5 => {
            let wide = words(random).into_iter().map(i128::from);
            // A few do not fit.
            let wide: Vec<i128> =
                wide.map(|w| w << if random.below(500) == 0 { 60 } else { 0 }).collect();
            Arc::new(Decimal128Array::new(wide.into(), nulls))
        }
        6 => {
            let truths: BooleanBuffer = (0..rows).map(|_| random.below(2) == 0).collect();
            Arc::new(BooleanArray::new(truths, nulls))
        }
        7 => {
            let text = |row: usize| {
                let text = *pick(random, &TEXTS);
                nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then_some(text)
            };
            Arc::new((0..rows).map(text).collect::<StringViewArray>())
        }
        8..11 => {
            let floats: Vec<f64> = (0..rows).map(|_| sizes.float(random)).collect();
            Arc::new(Float64Array::new(floats.into(), nulls))
        }
        _ => Arc::new(Int64Array::new(words(random).into(), nulls)),
    }
}
