//! Floats of 64 bits, with PostgreSQL's arithmetic and order.

use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use stdx::Vectors;

use crate::kernels::floats as kernels;
use crate::program::{Comparison, FloatArithmetic};
use crate::refused::Refused;
use crate::side::Side;

/// The least magnitude that is not zero.
const LEAST: f64 = f64::from_bits(1);

/// Floats of 64 bits; the float of a null is arbitrary.
#[derive(Clone, Debug)]
pub struct Floats {
    /// One for each row.
    pub values: ScalarBuffer<f64>,
    /// Rows that have no value; `None` is no row.
    pub nulls: Option<NullBuffer>,
}

/// The operation on each pair of floats; a NaN that it makes is [`f64::NAN`]. It is refused where a
/// row that is not null divides by zero, or has a result that is infinite or zero only because a
/// float holds no more.
pub(crate) fn compute(
    vectors: Vectors,
    operation: FloatArithmetic,
    left: Side<'_, f64>,
    right: Side<'_, f64>,
    rows: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Vec<f64>, Refused> {
    let (results, least) = match operation {
        FloatArithmetic::Add => (kernels::sums(vectors, left, right, rows), 0.0),
        FloatArithmetic::Subtract => (kernels::differences(vectors, left, right, rows), 0.0),
        FloatArithmetic::Multiply => (kernels::products(vectors, left, right, rows), LEAST),
        FloatArithmetic::Divide => (kernels::quotients(vectors, left, right, rows), LEAST),
    };
    if !kernels::has_odd(vectors, &results, least) {
        return Ok(results);
    }
    let is_refused = |row: usize| is_refused(operation, left.at(row), right.at(row), results[row]);
    let mut valid = (0..rows).filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row)));
    if valid.any(is_refused) { Err(Refused) } else { Ok(results) }
}

/// True where PostgreSQL has an error in place of the result.
fn is_refused(operation: FloatArithmetic, left: f64, right: f64, result: f64) -> bool {
    let is_too_large = result.is_infinite() && left.is_finite() && right.is_finite();
    let is_lost = |is_zero_exact: bool| result == 0.0 && !is_zero_exact;
    match operation {
        FloatArithmetic::Add | FloatArithmetic::Subtract => is_too_large,
        FloatArithmetic::Multiply => is_too_large || is_lost(left == 0.0 || right == 0.0),
        FloatArithmetic::Divide => {
            let is_by_zero = right == 0.0 && !left.is_nan();
            is_by_zero || is_too_large || is_lost(left == 0.0 || right.is_infinite())
        }
    }
}

/// The comparison of each pair of floats.
pub(crate) fn compare(
    vectors: Vectors,
    comparison: Comparison,
    left: Side<'_, f64>,
    right: Side<'_, f64>,
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
