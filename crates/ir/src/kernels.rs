//! The loops over words, compiled for each kind of processor.

use stdx::vectorised;

use crate::side::Side;

pub(crate) mod floats;

/// Rows whose answers make a word.
const WORD_ROWS: usize = 64;

vectorised! {
    /// The bits of all magnitudes together, of negative ones those of their complements.
    pub(crate) fn magnitudes(values: &[i64]) -> i64 {
        let mut all = 0;
        for value in values {
            all |= value ^ (value >> 63);
        }
        all
    }
}

vectorised! {
    /// Whether a word is outside of `least..=greatest`.
    pub(crate) fn has_outside(values: &[i64], least: i64, greatest: i64) -> bool {
        let mut is_outside = false;
        for value in values {
            is_outside |= (*value < least) | (*value > greatest);
        }
        is_outside
    }
}

vectorised! {
    /// The lower halves, and whether they are all there is of the values.
    pub(crate) fn halves(values: &[i128]) -> (Vec<i64>, bool) {
        let (mut halves, mut lost) = (vec![0; values.len()], 0);
        for (half, value) in halves.iter_mut().zip(values) {
            *half = *value as i64;
            lost |= (*value >> 64) as i64 ^ (*half >> 63);
        }
        (halves, lost == 0)
    }
}

vectorised! {
    /// `left + right`, modulo 2^64.
    pub(crate) fn sums(left: Side<'_>, right: Side<'_>, rows: usize) -> Vec<i64> {
        each(left, right, rows, i64::wrapping_add)
    }
}

vectorised! {
    /// `left - right`, modulo 2^64.
    pub(crate) fn differences(left: Side<'_>, right: Side<'_>, rows: usize) -> Vec<i64> {
        each(left, right, rows, i64::wrapping_sub)
    }
}

vectorised! {
    /// `left * right`, modulo 2^64.
    pub(crate) fn products(left: Side<'_>, right: Side<'_>, rows: usize) -> Vec<i64> {
        each(left, right, rows, i64::wrapping_mul)
    }
}

vectorised! {
    /// A bit for each row: `left = right`.
    pub(crate) fn equal(left: Side<'_>, right: Side<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| l == r)
    }
}

vectorised! {
    /// A bit for each row: `left <> right`.
    pub(crate) fn not_equal(left: Side<'_>, right: Side<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| l != r)
    }
}

vectorised! {
    /// A bit for each row: `left < right`.
    pub(crate) fn less(left: Side<'_>, right: Side<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| l < r)
    }
}

vectorised! {
    /// A bit for each row: `left <= right`.
    pub(crate) fn less_or_equal(left: Side<'_>, right: Side<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| l <= r)
    }
}

/// A value for each row.
#[inline(always)]
pub(crate) fn each<T: Copy + Default>(
    left: Side<'_, T>,
    right: Side<'_, T>,
    rows: usize,
    f: impl Fn(T, T) -> T,
) -> Vec<T> {
    let mut out = vec![T::default(); rows];
    match (left, right) {
        (Side::Vector(l), Side::Vector(r)) => {
            for ((to, l), r) in out.iter_mut().zip(l).zip(r) {
                *to = f(*l, *r);
            }
        }
        (Side::Vector(l), Side::Constant(r)) => {
            for (to, l) in out.iter_mut().zip(l) {
                *to = f(*l, r);
            }
        }
        (Side::Constant(l), Side::Vector(r)) => {
            for (to, r) in out.iter_mut().zip(r) {
                *to = f(l, *r);
            }
        }
        (Side::Constant(l), Side::Constant(r)) => out.fill(f(l, r)),
    }
    out
}

/// A bit for each row.
#[inline(always)]
fn answers<T: Copy>(
    left: Side<'_, T>,
    right: Side<'_, T>,
    rows: usize,
    test: impl Fn(T, T) -> bool,
) -> Vec<u64> {
    let mut words = Vec::with_capacity(rows.div_ceil(WORD_ROWS));
    let mut at = 0;
    while at < rows {
        let until = rows.min(at + WORD_ROWS);
        let mut flags = [0u8; WORD_ROWS];
        match (left, right) {
            (Side::Vector(l), Side::Vector(r)) => {
                for ((flag, l), r) in flags.iter_mut().zip(&l[at..until]).zip(&r[at..until]) {
                    *flag = u8::from(test(*l, *r));
                }
            }
            (Side::Vector(l), Side::Constant(r)) => {
                for (flag, l) in flags.iter_mut().zip(&l[at..until]) {
                    *flag = u8::from(test(*l, r));
                }
            }
            (Side::Constant(l), Side::Vector(r)) => {
                for (flag, r) in flags.iter_mut().zip(&r[at..until]) {
                    *flag = u8::from(test(l, *r));
                }
            }
            (Side::Constant(l), Side::Constant(r)) => {
                flags[..until - at].fill(u8::from(test(l, r)));
            }
        }
        words.push(bits(&flags));
        at = until;
    }
    words
}

/// The lowest bits of all flags.
#[inline(always)]
fn bits(flags: &[u8; WORD_ROWS]) -> u64 {
    // The product brings the lowest bit of each of eight bytes into the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut word = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        word |= (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << (i * 8);
    }
    word
}

#[cfg(test)]
mod tests;
