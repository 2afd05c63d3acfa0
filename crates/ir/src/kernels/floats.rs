//! The loops over floats.

use stdx::vectorised;

use super::{answers, each};
use crate::side::Side;

type Floats<'a> = Side<'a, f64>;

/// The one NaN that operations make, as the library's do: processors give it a sign of their own.
#[inline(always)]
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

vectorised! {
    /// `left + right`
    pub(crate) fn sums(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<f64> {
        each(left, right, rows, |l, r| canonical(l + r))
    }
}

vectorised! {
    /// `left - right`
    pub(crate) fn differences(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<f64> {
        each(left, right, rows, |l, r| canonical(l - r))
    }
}

vectorised! {
    /// `left * right`
    pub(crate) fn products(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<f64> {
        each(left, right, rows, |l, r| canonical(l * r))
    }
}

vectorised! {
    /// `left / right`
    pub(crate) fn quotients(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<f64> {
        each(left, right, rows, |l, r| canonical(l / r))
    }
}

vectorised! {
    /// True if a value is infinite, a NaN, or of a magnitude below `least`.
    pub(crate) fn has_odd(values: &[f64], least: f64) -> bool {
        let mut is_odd = false;
        for value in values {
            let magnitude = value.abs();
            let is_plain = (magnitude >= least) & (magnitude < f64::INFINITY);
            is_odd |= !is_plain;
        }
        is_odd
    }
}

vectorised! {
    /// The float next to each word.
    pub(crate) fn of_words(words: &[i64]) -> Vec<f64> {
        let mut floats = vec![0.0; words.len()];
        for (float, word) in floats.iter_mut().zip(words) {
            *float = *word as f64;
        }
        floats
    }
}

vectorised! {
    /// A bit for each row: `left = right`, or both are NaN.
    pub(crate) fn equal(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| (l == r) | (l.is_nan() & r.is_nan()))
    }
}

vectorised! {
    /// A bit for each row: neither `left = right`, nor are both NaN.
    pub(crate) fn not_equal(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| !((l == r) | (l.is_nan() & r.is_nan())))
    }
}

vectorised! {
    /// A bit for each row: `left < right`, or `right` alone is NaN.
    pub(crate) fn less(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| (l < r) | (!l.is_nan() & r.is_nan()))
    }
}

vectorised! {
    /// A bit for each row: `left <= right`, or `right` is NaN.
    pub(crate) fn less_or_equal(left: Floats<'_>, right: Floats<'_>, rows: usize) -> Vec<u64> {
        answers(left, right, rows, |l, r| (l <= r) | r.is_nan())
    }
}
