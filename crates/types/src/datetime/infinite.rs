//! Dates and moments without end: the least and the greatest word stand for them, so they are ordered by it.

use crate::datetime::units::MICROS_PER_DAY;

/// Whether a date, in days, is neither `infinity` nor `-infinity`.
pub fn is_finite_date(days: i32) -> bool {
    !matches!(days, i32::MIN | i32::MAX)
}

/// Whether a moment, in microseconds, is neither `infinity` nor `-infinity`.
pub fn is_finite(micros: i64) -> bool {
    !matches!(micros, i64::MIN | i64::MAX)
}

/// Midnight of a day since 1970, in microseconds; the infinite dates are the infinite moments. `None` for a
/// day that is beyond all moments.
pub fn midnight(days: i32) -> Option<i64> {
    match days {
        i32::MIN => Some(i64::MIN),
        i32::MAX => Some(i64::MAX),
        days => i64::from(days).checked_mul(MICROS_PER_DAY),
    }
}

/// The day of a moment, since 1970.
pub fn day_of(micros: i64) -> i32 {
    match micros {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        // All moments lie within some hundred million days.
        micros => micros.div_euclid(MICROS_PER_DAY) as i32,
    }
}

/// How an infinite date or moment is written.
pub(crate) fn shown(is_late: bool) -> String {
    (if is_late { "infinity" } else { "-infinity" }).to_owned()
}
