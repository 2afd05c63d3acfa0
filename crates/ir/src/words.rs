//! Arithmetic on words of 64 bits: exact, or refused.
//!
//! How many bits the operands need is found first, in a loop that the compiler turns into vector
//! instructions; only where they could be too many is each result checked.

use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};

use crate::Refused;
use crate::program::{Arithmetic, Comparison};

/// Whole numbers, dates, or decimals without their points; the word of a null is arbitrary.
#[derive(Clone, Debug)]
pub struct Words {
    /// One for each row.
    pub values: ScalarBuffer<i64>,
    /// Rows that have no value; `None` is no row.
    pub nulls: Option<NullBuffer>,
}

/// One side of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Side<'a> {
    Vector(&'a [i64]),
    Constant(i64),
}

impl Side<'_> {
    /// Bits that the magnitudes need at most, the sign not counted.
    fn bits(self) -> u32 {
        let folded = match self {
            Side::Constant(value) => value ^ (value >> 63),
            Side::Vector(values) => values.iter().fold(0, |all, v| all | (v ^ (v >> 63))),
        };
        64 - folded.leading_zeros()
    }
}

/// The operation on each pair of words.
pub(crate) fn compute(
    operation: Arithmetic,
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
) -> Result<Vec<i64>, Refused> {
    // A sum needs one bit more than its terms, a product as many as its factors together; one more
    // for the word that is its own negative.
    let (l, r) = (left.bits(), right.bits());
    let fits = match operation {
        Arithmetic::Add | Arithmetic::Subtract => l.max(r) <= 62,
        Arithmetic::Multiply => l + r <= 62,
    };
    match (operation, fits) {
        (Arithmetic::Add, true) => Ok(each(left, right, rows, i64::wrapping_add)),
        (Arithmetic::Subtract, true) => Ok(each(left, right, rows, i64::wrapping_sub)),
        (Arithmetic::Multiply, true) => Ok(each(left, right, rows, i64::wrapping_mul)),
        (Arithmetic::Add, false) => checked(left, right, rows, i64::overflowing_add),
        (Arithmetic::Subtract, false) => checked(left, right, rows, i64::overflowing_sub),
        (Arithmetic::Multiply, false) => checked(left, right, rows, i64::overflowing_mul),
    }
}

/// Refuses words outside of `least..=greatest`, those of nulls included.
pub(crate) fn within(values: &[i64], least: i64, greatest: i64) -> Result<(), Refused> {
    let outside = values.iter().fold(false, |all, v| all | (*v < least) | (*v > greatest));
    if outside { Err(Refused) } else { Ok(()) }
}

/// The comparison of each pair of words.
pub(crate) fn compare(
    comparison: Comparison,
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
) -> BooleanBuffer {
    match comparison {
        Comparison::Equal => flags(left, right, rows, |l, r| l == r),
        Comparison::NotEqual => flags(left, right, rows, |l, r| l != r),
        Comparison::Less => flags(left, right, rows, |l, r| l < r),
        Comparison::LessOrEqual => flags(left, right, rows, |l, r| l <= r),
        Comparison::Greater => flags(left, right, rows, |l, r| l > r),
        Comparison::GreaterOrEqual => flags(left, right, rows, |l, r| l >= r),
    }
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

fn each(left: Side<'_>, right: Side<'_>, rows: usize, f: impl Fn(i64, i64) -> i64) -> Vec<i64> {
    match (left, right) {
        (Side::Vector(l), Side::Vector(r)) => l.iter().zip(r).map(|(l, r)| f(*l, *r)).collect(),
        (Side::Vector(l), Side::Constant(r)) => l.iter().map(|l| f(*l, r)).collect(),
        (Side::Constant(l), Side::Vector(r)) => r.iter().map(|r| f(l, *r)).collect(),
        (Side::Constant(l), Side::Constant(r)) => vec![f(l, r); rows],
    }
}

fn checked(
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
    f: impl Fn(i64, i64) -> (i64, bool),
) -> Result<Vec<i64>, Refused> {
    let overflowed = std::cell::Cell::new(false);
    let results = each(left, right, rows, |l, r| {
        let (value, over) = f(l, r);
        overflowed.set(overflowed.get() | over);
        value
    });
    if overflowed.get() { Err(Refused) } else { Ok(results) }
}

fn flags(
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
    test: impl Fn(i64, i64) -> bool,
) -> BooleanBuffer {
    match (left, right) {
        (Side::Vector(l), Side::Constant(r)) => bits_of(l, |l| test(l, r)),
        (Side::Constant(l), Side::Vector(r)) => bits_of(r, |r| test(l, r)),
        (Side::Vector(l), Side::Vector(r)) => {
            let mut words = Vec::with_capacity(rows.div_ceil(64));
            for (l, r) in l.chunks(64).zip(r.chunks(64)) {
                let pairs = l.iter().zip(r).rev();
                words.push(pairs.fold(0u64, |word, (l, r)| word << 1 | u64::from(test(*l, *r))));
            }
            BooleanBuffer::new(words.into(), 0, rows)
        }
        (Side::Constant(l), Side::Constant(r)) => match test(l, r) {
            true => BooleanBuffer::new_set(rows),
            false => BooleanBuffer::new_unset(rows),
        },
    }
}
