//! Timestamps moved by intervals.

use arrow_array::types::IntervalMonthDayNano;

use super::civil::{Civil, civil_of, days_of};
use super::infinite::is_finite;
use super::units::MICROS_PER_DAY;
use crate::error::{SqlError, SqlResult, SqlState};
use crate::zone;

/// Months first, then days, then time; a day that the month has not becomes its last. Infinity
/// stays what it is.
///
/// # Errors
/// 22008 beyond the last timestamp.
pub fn shifted(point: i64, s: IntervalMonthDayNano, sign: i64) -> SqlResult<i64> {
    if !is_finite(point) {
        return Ok(point);
    }
    let error = || SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range");
    let (days, clock) = (point.div_euclid(MICROS_PER_DAY), point.rem_euclid(MICROS_PER_DAY));
    let mut days = days;
    if s.months != 0 {
        let Civil { year, month, day } = civil_of(days);
        let months = year * 12 + i64::from(month) - 1 + sign * i64::from(s.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as i32 + 1);
        let fitting = (28..=day).rev().find_map(|d| days_of(year, month, d));
        days = fitting.or_else(|| days_of(year, month, day)).ok_or_else(error)?;
    }
    days.checked_add(sign * i64::from(s.days))
        .and_then(|d| d.checked_mul(MICROS_PER_DAY))
        .and_then(|p| p.checked_add(clock))
        .and_then(|p| p.checked_add(sign.checked_mul(s.nanoseconds / 1_000)?))
        .filter(|p| is_finite(*p))
        .ok_or_else(error)
}

/// Months and days by the calendar of the session's zone, time as it passes.
///
/// # Errors
/// 22008 beyond the last timestamp.
pub fn shifted_instant(point: i64, s: IntervalMonthDayNano, sign: i64) -> SqlResult<i64> {
    let zone = zone::current().zone;
    let calendar = IntervalMonthDayNano::new(s.months, s.days, 0);
    let clock = IntervalMonthDayNano::new(0, 0, s.nanoseconds);
    let point = match (s.months, s.days) {
        (0, 0) => point,
        _ => zone.instant_of(shifted(zone.local_of(point), calendar, sign)?),
    };
    shifted(point, clock, sign)
}

/// The timestamp, or the instant, an interval after another one.
///
/// # Errors
/// 22008 beyond the last timestamp.
pub fn after(at: i64, step: IntervalMonthDayNano, is_instant: bool) -> SqlResult<i64> {
    match is_instant {
        true => shifted_instant(at, step, 1),
        false => shifted(at, step, 1),
    }
}
