//! Arithmetic on words of 64 bits: exact, or refused.
//!
//! How many bits the operands need is found first, in a loop that the compiler turns into vector
//! instructions; only where they could be too many is each result checked.

use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use stdx::Vectors;

use crate::program::{Arithmetic, Comparison};
use crate::refused::Refused;
use crate::side::Side;
use crate::{division, kernels};

/// Whole numbers, dates, or decimals without their points; the word of a null is arbitrary.
#[derive(Clone, Debug)]
pub struct Words {
    /// One for each row.
    pub values: ScalarBuffer<i64>,
    /// Rows that have no value; `None` is no row.
    pub nulls: Option<NullBuffer>,
}

/// Bits that the magnitudes of a side need at most, the sign not counted.
fn bits(side: Side<'_>, vectors: Vectors) -> u32 {
    let folded = match side {
        Side::Constant(value) => value ^ (value >> 63),
        Side::Vector(values) => kernels::magnitudes(vectors, values),
    };
    64 - folded.leading_zeros()
}

/// The operation on each pair of words. Overflows of rows that are null refuse, too; divisions by
/// zero do not.
pub(crate) fn compute(
    vectors: Vectors,
    operation: Arithmetic,
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Vec<i64>, Refused> {
    // A sum needs one bit more than its terms, a product as many as its factors together; one more
    // for the word that is its own negative.
    let bits = || (bits(left, vectors), bits(right, vectors));
    let is_short = || {
        let (l, r) = bits();
        l.max(r) <= 62
    };
    match operation {
        Arithmetic::Add if is_short() => Ok(kernels::sums(vectors, left, right, rows)),
        Arithmetic::Add => checked(left, right, rows, i64::overflowing_add),
        Arithmetic::Subtract if is_short() => Ok(kernels::differences(vectors, left, right, rows)),
        Arithmetic::Subtract => checked(left, right, rows, i64::overflowing_sub),
        Arithmetic::Multiply => {
            let (l, r) = bits();
            match l + r <= 62 {
                true => Ok(kernels::products(vectors, left, right, rows)),
                false => checked(left, right, rows, i64::overflowing_mul),
            }
        }
        Arithmetic::Divide => division::quotients(left, right, rows, nulls),
        Arithmetic::Remainder => division::remainders(left, right, rows, nulls),
    }
}

/// Refuses words outside of `least..=greatest`, those of nulls included.
pub(crate) fn within(values: &[i64], least: i64, greatest: i64) -> Result<(), Refused> {
    match kernels::has_outside(Vectors::widest(), values, least, greatest) {
        true => Err(Refused),
        false => Ok(()),
    }
}

/// The comparison of each pair of words.
pub(crate) fn compare(
    vectors: Vectors,
    comparison: Comparison,
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
) -> BooleanBuffer {
    let (l, r) = (left, right);
    let words = match comparison {
        Comparison::Equal => kernels::equal(vectors, l, r, rows),
        Comparison::NotEqual => kernels::not_equal(vectors, l, r, rows),
        Comparison::Less => kernels::less(vectors, l, r, rows),
        Comparison::LessOrEqual => kernels::less_or_equal(vectors, l, r, rows),
        // The other way round, it is one of the two.
        Comparison::Greater => kernels::less(vectors, r, l, rows),
        Comparison::GreaterOrEqual => kernels::less_or_equal(vectors, r, l, rows),
    };
    BooleanBuffer::new(words.into(), 0, rows)
}

/// One bit for each row: whether `test` holds.
pub(crate) fn bits_of<T: Copy>(values: &[T], test: impl Fn(T) -> bool) -> BooleanBuffer {
    let mut words = Vec::with_capacity(values.len().div_ceil(64));
    for chunk in values.chunks(64) {
        let word = chunk.iter().rev().fold(0u64, |word, v| word << 1 | u64::from(test(*v)));
        words.push(word);
    }
    BooleanBuffer::new(words.into(), 0, values.len())
}

fn checked(
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
    f: impl Fn(i64, i64) -> (i64, bool),
) -> Result<Vec<i64>, Refused> {
    let overflowed = std::cell::Cell::new(false);
    let results = kernels::each(left, right, rows, |l, r| {
        let (value, over) = f(l, r);
        overflowed.set(overflowed.get() | over);
        value
    });
    if overflowed.get() { Err(Refused) } else { Ok(results) }
}
