//! Intervals whose hours become days and whose days become months.

use arrow_array::types::IntervalMonthDayNano;
use types::SqlResult;

use crate::functions::scalar::dates::{DAY, micros, span, spans_of};
use crate::functions::scalar::overload::{Functions, Ty};
use crate::functions::scalar::returns::interval;

const MONTH_DAYS: i64 = 30;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("justify_days", &[Ty::Interval], interval, |args| {
        spans_of(args, |row| justified(args.interval(0, row), false, true))
    });
    functions.strict("justify_hours", &[Ty::Interval], interval, |args| {
        spans_of(args, |row| justified(args.interval(0, row), true, false))
    });
    functions.strict("justify_interval", &[Ty::Interval], interval, |args| {
        spans_of(args, |row| justified(args.interval(0, row), true, true))
    });
}

/// Whole days of hours, whole months of days; what is left gets the sign of what it was added to.
fn justified(s: IntervalMonthDayNano, hours: bool, days: bool) -> SqlResult<IntervalMonthDayNano> {
    let (mut month, mut day, mut clock) = (i64::from(s.months), i64::from(s.days), micros(s));
    let whole_day = i128::from(DAY);
    if hours {
        day += (clock / whole_day) as i64;
        clock %= whole_day;
    }
    if days {
        month += day / MONTH_DAYS;
        day %= MONTH_DAYS;
        // What is below the months: the hours only count where they are justified too.
        let rest = if day == 0 && hours { clock.signum() as i64 } else { day.signum() };
        let carried = carry(month, rest);
        month += carried;
        day -= carried * MONTH_DAYS;
    }
    if hours {
        let carried = carry(day, clock.signum() as i64);
        day += carried;
        clock -= i128::from(carried) * whole_day;
    }
    span(month, day, clock)
}

/// What a larger unit gives up so that a smaller one, whose sign is given, gets its sign.
fn carry(larger: i64, smaller: i64) -> i64 {
    if larger.signum() * smaller < 0 { -larger.signum() } else { 0 }
}
