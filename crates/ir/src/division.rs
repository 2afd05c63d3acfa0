//! Quotients and remainders of words, cut off towards zero.

use arrow_buffer::NullBuffer;

use crate::kernels;
use crate::refused::Refused;
use crate::side::Side;

/// The quotient of each pair. A quotient by zero is refused, and the one that has no word: that of
/// the least word by -1. In a null row it is 0.
pub(crate) fn quotients(
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Vec<i64>, Refused> {
    exact(left, right, rows, nulls, i64::checked_div)
}

/// The remainder of each pair. A remainder by zero is refused; in a null row it is 0.
pub(crate) fn remainders(
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Vec<i64>, Refused> {
    // By -1 it is 0, also that of the least word.
    let remainder = |l: i64, r: i64| (r != 0).then(|| l.wrapping_rem(r));
    exact(left, right, rows, nulls, remainder)
}

fn exact(
    left: Side<'_>,
    right: Side<'_>,
    rows: usize,
    nulls: Option<&NullBuffer>,
    divide: impl Fn(i64, i64) -> Option<i64>,
) -> Result<Vec<i64>, Refused> {
    let is_missing = std::cell::Cell::new(false);
    let results = kernels::each(left, right, rows, |l, r| {
        let result = divide(l, r);
        is_missing.set(is_missing.get() | result.is_none());
        result.unwrap_or(0)
    });
    // Nulls often have zeroes as their words, so it matters in which rows there is no result; an
    // operation on two constants is refused without rows, too.
    let is_refused = |row| divide(left.at(row), right.at(row)).is_none();
    match nulls {
        _ if !is_missing.get() => Ok(results),
        Some(nulls) if !nulls.valid_indices().any(is_refused) => Ok(results),
        _ => Err(Refused),
    }
}
