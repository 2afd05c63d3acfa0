//! Functions and operators of dates, times and intervals.

use std::sync::Arc;

use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, IntervalMonthDayNanoArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_schema::DataType;
use types::datetime::infinite::{is_finite, is_finite_date, midnight};
use types::datetime::{Civil, civil_of, days_of, shifted, shifted_instant};
use types::equality::{canonical, canonical_type, interval_length};
use types::moment::{DIGITS_MAX, rounded};
use types::zone::{self, Zone};
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::date_parts::{extract, extracted};
use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::{
    boolean, date, double, int, interval, time_of_day, timestamp, timestamptz,
};

pub(crate) const DAY: i64 = 86_400_000_000;
pub(crate) const SECOND: i64 = 1_000_000;

pub(crate) fn register(functions: &mut Functions) {
    days(functions);
    spans(functions);
    points(functions);
    fields(functions);
    bins(functions);
    rounds(functions);
    functions.strict("age", &[Ty::Ts, Ty::Ts], interval, |args| {
        spans_of(args, |row| {
            let (to, from) = (args.micros(0, row), args.micros(1, row));
            refuse_infinite(to, from)?;
            Ok(age(to, from))
        })
    });
    functions.strict("age", &[Ty::Tz, Ty::Tz], interval, |args| {
        spans_of(args, |row| {
            let (to, from) = (args.micros(0, row), args.micros(1, row));
            refuse_infinite(to, from)?;
            Ok(age(local(to), local(from)))
        })
    });
    functions.strict(
        "interval_length",
        &[Ty::Interval],
        |_, _| DataType::Decimal128(38, 0),
        |args| {
            let lengths = args.each::<_, Decimal128Array>(|row| {
                Ok(Some(interval_length(args.interval(0, row))))
            })?;
            Ok(Arc::new(lengths.with_data_type(DataType::Decimal128(38, 0))))
        },
    );
    functions.strict(
        "equality_form",
        &[Ty::Any],
        |args, _| canonical_type(&args[0]),
        |args| Ok(canonical(&args.arrays[0])),
    );
    functions.strict("isfinite", &[Ty::Date], boolean, |args| {
        truths(args, |row| is_finite_date(args.date(0, row)))
    });
    functions.strict("isfinite", &[Ty::Ts], boolean, |args| {
        truths(args, |row| is_finite(args.micros(0, row)))
    });
    functions.strict("isfinite", &[Ty::Tz], boolean, |args| {
        truths(args, |row| is_finite(args.micros(0, row)))
    });
    functions.strict("isfinite", &[Ty::Interval], boolean, |args| truths(args, |_| true));
}

fn truths(args: &Args<'_>, f: impl Fn(usize) -> bool) -> SqlResult<ArrayRef> {
    Ok(Arc::new(args.each::<_, BooleanArray>(|row| Ok(Some(f(row))))?))
}

fn days(functions: &mut Functions) {
    functions.strict("date_plus_days", &[Ty::Date, Ty::Int], date, |args| {
        dates_of(args, |row| days_later(args.date(0, row), args.int(1, row).into()))
    });
    functions.strict("days_plus_date", &[Ty::Int, Ty::Date], date, |args| {
        dates_of(args, |row| days_later(args.date(1, row), args.int(0, row).into()))
    });
    functions.strict("date_minus_days", &[Ty::Date, Ty::Int], date, |args| {
        dates_of(args, |row| days_later(args.date(0, row), -i64::from(args.int(1, row))))
    });
    functions.strict("date_minus_date", &[Ty::Date, Ty::Date], int, |args| {
        let between = |row| match (args.date(0, row), args.date(1, row)) {
            (a, b) if is_finite_date(a) && is_finite_date(b) => Ok(a.checked_sub(b)),
            _ => Err(out_of_range("cannot subtract infinite dates")),
        };
        Ok(Arc::new(args.each::<_, Int32Array>(between)?))
    });
    functions.strict("date_plus_time", &[Ty::Date, Ty::Time], timestamp, |args| {
        points_of(args, |row| match midnight(args.date(0, row)) {
            Some(midnight) if is_finite(midnight) => Ok(midnight.saturating_add(args.time(1, row))),
            Some(infinite) => Ok(infinite),
            None => Err(out_of_range("date out of range for timestamp")),
        })
    });
}

/// The first day that there is, 4714-11-24 BC, and the first beyond the last.
const DAYS: std::ops::Range<i64> = -2_440_588..2_145_042_906;

/// A date moved by days; an infinite one stays. `None` where there is no such day.
fn days_later(date: i32, days: i64) -> Option<i32> {
    if !is_finite_date(date) {
        return Some(date);
    }
    let moved = i64::from(date) + days;
    i32::try_from(moved).ok().filter(|_| DAYS.contains(&moved))
}

fn dates_of(args: &Args<'_>, f: impl Fn(usize) -> Option<i32>) -> SqlResult<ArrayRef> {
    let dates = args.each::<_, Date32Array>(|row| match f(row) {
        Some(day) => Ok(Some(day)),
        None => Err(out_of_range("date out of range")),
    });
    Ok(Arc::new(dates?))
}

pub(crate) fn out_of_range(message: &str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

pub(crate) fn spans_of(
    args: &Args<'_>,
    f: impl Fn(usize) -> SqlResult<IntervalMonthDayNano>,
) -> SqlResult<ArrayRef> {
    Ok(Arc::new(args.each::<_, IntervalMonthDayNanoArray>(|row| f(row).map(Some))?))
}

/// Instants of the call's type.
pub(crate) fn points_of(
    args: &Args<'_>,
    f: impl Fn(usize) -> SqlResult<i64>,
) -> SqlResult<ArrayRef> {
    let values = args.each::<_, TimestampMicrosecondArray>(|row| f(row).map(Some))?;
    Ok(Arc::new(values.with_data_type(args.ty.clone())))
}

pub(crate) fn span(months: i64, days: i64, micros: i128) -> SqlResult<IntervalMonthDayNano> {
    let nanos = micros.checked_mul(1_000).and_then(|n| i64::try_from(n).ok());
    match (i32::try_from(months), i32::try_from(days), nanos) {
        (Ok(months), Ok(days), Some(nanos)) => Ok(IntervalMonthDayNano::new(months, days, nanos)),
        _ => Err(out_of_range("interval out of range")),
    }
}

pub(crate) fn micros(span: IntervalMonthDayNano) -> i128 {
    i128::from(span.nanoseconds / 1_000)
}

fn spans(functions: &mut Functions) {
    functions.strict("span_plus_span", &[Ty::Interval, Ty::Interval], interval, |args| {
        spans_of(args, |row| added(args.interval(0, row), args.interval(1, row), 1))
    });
    functions.strict("span_minus_span", &[Ty::Interval, Ty::Interval], interval, |args| {
        spans_of(args, |row| added(args.interval(0, row), args.interval(1, row), -1))
    });
    functions.strict("span_times", &[Ty::Interval, Ty::Float], interval, |args| {
        spans_of(args, |row| multiplied(args.interval(0, row), args.float(1, row)))
    });
    functions.strict("times_span", &[Ty::Float, Ty::Interval], interval, |args| {
        spans_of(args, |row| multiplied(args.interval(1, row), args.float(0, row)))
    });
    functions.strict("span_divided", &[Ty::Interval, Ty::Float], interval, |args| {
        spans_of(args, |row| match args.float(1, row) {
            0.0 => Err(crate::error::division_by_zero()),
            divisor => scaled(args.interval(0, row), |part| part / divisor),
        })
    });
}

/// The sum of two intervals, or with the sign -1 their difference.
pub(crate) fn added(
    a: IntervalMonthDayNano,
    b: IntervalMonthDayNano,
    sign: i64,
) -> SqlResult<IntervalMonthDayNano> {
    span(
        i64::from(a.months) + sign * i64::from(b.months),
        i64::from(a.days) + sign * i64::from(b.days),
        micros(a) + i128::from(sign) * micros(b),
    )
}

/// An interval so many times.
pub(crate) fn multiplied(s: IntervalMonthDayNano, factor: f64) -> SqlResult<IntervalMonthDayNano> {
    scaled(s, |part| part * factor)
}

/// Fractions of months become days, fractions of days time.
fn scaled(s: IntervalMonthDayNano, scale: impl Fn(f64) -> f64) -> SqlResult<IntervalMonthDayNano> {
    const DAY_SECONDS: f64 = 86_400.0;
    let to_micros = |value: f64| (value * 1e6).round_ties_even() / 1e6;
    let (months, days) = (scale(f64::from(s.months)), scale(f64::from(s.days)));
    let month_days = to_micros(months.fract() * 30.0);
    let seconds = to_micros((days.fract() + month_days.fract()) * DAY_SECONDS);
    // Fractions of both may be a day together.
    let carried = (seconds / DAY_SECONDS).trunc();
    let seconds = seconds - carried * DAY_SECONDS;
    let clock = (scale(micros(s) as f64) + seconds * 1e6).round_ties_even();
    if !(months.is_finite() && days.is_finite() && clock.is_finite()) {
        return Err(out_of_range("interval out of range"));
    }
    span(months.trunc() as i64, (days.trunc() + month_days.trunc() + carried) as i64, clock as i128)
}

fn points(functions: &mut Functions) {
    functions.strict("time_plus_span", &[Ty::Ts, Ty::Interval], timestamp, |args| {
        points_of(args, |row| shifted(args.micros(0, row), args.interval(1, row), 1))
    });
    functions.strict("span_plus_time", &[Ty::Interval, Ty::Ts], timestamp, |args| {
        points_of(args, |row| shifted(args.micros(1, row), args.interval(0, row), 1))
    });
    functions.strict("time_minus_span", &[Ty::Ts, Ty::Interval], timestamp, |args| {
        points_of(args, |row| shifted(args.micros(0, row), args.interval(1, row), -1))
    });
    functions.strict("time_plus_span", &[Ty::Tz, Ty::Interval], timestamptz, |args| {
        points_of(args, |row| shifted_instant(args.micros(0, row), args.interval(1, row), 1))
    });
    functions.strict("span_plus_time", &[Ty::Interval, Ty::Tz], timestamptz, |args| {
        points_of(args, |row| shifted_instant(args.micros(1, row), args.interval(0, row), 1))
    });
    functions.strict("time_minus_span", &[Ty::Tz, Ty::Interval], timestamptz, |args| {
        points_of(args, |row| shifted_instant(args.micros(0, row), args.interval(1, row), -1))
    });
    functions.strict("time_plus_span", &[Ty::Time, Ty::Interval], time_of_day, |args| {
        clocks_of(args, |row| args.time(0, row) + micros(args.interval(1, row)) as i64)
    });
    functions.strict("span_plus_time", &[Ty::Interval, Ty::Time], time_of_day, |args| {
        clocks_of(args, |row| args.time(1, row) + micros(args.interval(0, row)) as i64)
    });
    functions.strict("time_minus_span", &[Ty::Time, Ty::Time], interval, |args| {
        spans_of(args, |row| span(0, 0, i128::from(args.time(0, row) - args.time(1, row))))
    });
    functions.strict("time_minus_span", &[Ty::Time, Ty::Interval], time_of_day, |args| {
        clocks_of(args, |row| args.time(0, row) - micros(args.interval(1, row)) as i64)
    });
    for params in [&[Ty::Ts, Ty::Ts] as &'static [Ty], &[Ty::Tz, Ty::Tz]] {
        functions.strict("time_minus_time", params, interval, |args| {
            spans_of(args, |row| {
                let (a, b) = (args.micros(0, row), args.micros(1, row));
                refuse_infinite(a, b)?;
                let (micros, day) = (i128::from(a) - i128::from(b), i128::from(DAY));
                span(0, (micros / day) as i64, micros % day)
            })
        });
    }
}

fn clocks_of(args: &Args<'_>, f: impl Fn(usize) -> i64) -> SqlResult<ArrayRef> {
    let clock = |row| Ok(Some(f(row).rem_euclid(DAY)));
    Ok(Arc::new(args.each::<_, Time64MicrosecondArray>(clock)?))
}

/// 22008: between moments of which one is infinite lies no interval.
fn refuse_infinite(a: i64, b: i64) -> SqlResult<()> {
    match is_finite(a) && is_finite(b) {
        true => Ok(()),
        false => Err(out_of_range("cannot subtract infinite timestamps")),
    }
}

/// Local time of an instant in the zone of the session.
fn local(instant: i64) -> i64 {
    zone::current().zone.local_of(instant)
}

/// The difference in years, months and days, as people count.
fn age(to: i64, from: i64) -> IntervalMonthDayNano {
    if to < from {
        let a = age(from, to);
        return IntervalMonthDayNano::new(-a.months, -a.days, -a.nanoseconds);
    }
    let (a, b) = (civil_of(to.div_euclid(DAY)), civil_of(from.div_euclid(DAY)));
    let mut clock = to.rem_euclid(DAY) - from.rem_euclid(DAY);
    let mut days = a.day - b.day;
    let mut months = (a.year - b.year) * 12 + i64::from(a.month - b.month);
    if clock < 0 {
        clock += DAY;
        days -= 1;
    }
    if days < 0 {
        // The month of the earlier date says how many days a month has.
        days += days_in_month(b.year, b.month);
        months -= 1;
    }
    IntervalMonthDayNano::new(months as i32, days, clock * 1_000)
}

fn days_in_month(year: i64, month: i32) -> i32 {
    (28..=31).rev().find(|d| days_of(year, month, *d).is_some()).unwrap_or(28)
}

/// `extract` gives numbers, `date_part` double precision.
fn fields(functions: &mut Functions) {
    for (kind, body) in [
        (&[Ty::Text, Ty::Ts] as &'static [Ty], extract as fn(&Args<'_>) -> SqlResult<ArrayRef>),
        (&[Ty::Text, Ty::Tz], extract),
        (&[Ty::Text, Ty::Time], extract),
        (&[Ty::Text, Ty::Interval], extract),
    ] {
        functions.strict("extract", kind, extracted, body);
        functions.strict("date_part", kind, double, body);
    }
    // What `AT TIME ZONE` is: local time of an instant, and the instant of a local time.
    functions.strict("timezone", &[Ty::Text, Ty::Tz], timestamp, |args| {
        points_of(args, |row| match args.micros(1, row) {
            infinite if !is_finite(infinite) => Ok(infinite),
            instant => Ok(Zone::parse(args.text(0).value(row))?.local_of(instant)),
        })
    });
    functions.strict("timezone", &[Ty::Text, Ty::Ts], timestamptz, |args| {
        points_of(args, |row| match args.micros(1, row) {
            infinite if !is_finite(infinite) => Ok(infinite),
            local => Ok(Zone::parse(args.text(0).value(row))?.instant_of(local)),
        })
    });
    functions.strict("timezone", &[Ty::Interval, Ty::Tz], timestamp, |args| {
        points_of(args, |row| Ok(at_distance(args.interval(0, row))?.local_of(args.micros(1, row))))
    });
    functions.strict("timezone", &[Ty::Interval, Ty::Ts], timestamptz, |args| {
        points_of(args, |row| {
            Ok(at_distance(args.interval(0, row))?.instant_of(args.micros(1, row)))
        })
    });
    functions.strict("date_trunc", &[Ty::Text, Ty::Ts], timestamp, |args| {
        points_of(args, |row| truncated(args.text(0).value(row), args.micros(1, row), LOCAL))
    });
    functions.strict("date_trunc", &[Ty::Text, Ty::Tz], timestamptz, |args| {
        let zone = zone::current().zone;
        points_of(args, |row| truncated_in(zone, args.text(0).value(row), args.micros(1, row)))
    });
    functions.strict("date_trunc", &[Ty::Text, Ty::Tz, Ty::Text], timestamptz, |args| {
        points_of(args, |row| match args.micros(1, row) {
            infinite if !is_finite(infinite) => Ok(infinite),
            instant => {
                let zone = Zone::parse(args.text(2).value(row))?;
                truncated_in(zone, args.text(0).value(row), instant)
            }
        })
    });
    functions.strict("date_trunc", &[Ty::Text, Ty::Date], timestamptz, |args| {
        let zone = zone::current().zone;
        points_of(args, |row| {
            let midnight = midnight(args.date(1, row));
            let midnight = midnight.ok_or_else(|| out_of_range("date out of range for timestamp"));
            Ok(zone.instant_of(truncated(args.text(0).value(row), midnight?, INSTANT)?))
        })
    });
    // A time of day is so long after midnight.
    functions.strict("date_trunc", &[Ty::Text, Ty::Time], interval, |args| {
        spans_of(args, |row| {
            truncated_span(args.text(0).value(row), span(0, 0, i128::from(args.time(1, row)))?)
        })
    });
    functions.strict("date_trunc", &[Ty::Text, Ty::Interval], interval, |args| {
        spans_of(args, |row| truncated_span(args.text(0).value(row), args.interval(1, row)))
    });
}

/// Casts to times with fewer digits than microseconds.
fn rounds(functions: &mut Functions) {
    let round: fn(&Args<'_>) -> SqlResult<ArrayRef> = |args| {
        // The digits are those of a type: the same in all rows.
        let digits = if args.rows > 0 { args.int(1, 0) } else { 0 };
        let digits = u8::try_from(digits).unwrap_or(DIGITS_MAX);
        Ok(rounded(&args.arrays[0], digits))
    };
    functions.strict("round_time", &[Ty::Ts, Ty::Int], timestamp, round);
    functions.strict("round_time", &[Ty::Tz, Ty::Int], timestamptz, round);
    functions.strict("round_time", &[Ty::Time, Ty::Int], time_of_day, round);
    functions.strict("round_time", &[Ty::Interval, Ty::Int], interval, round);
    functions.strict("round_time", &[Ty::List, Ty::Int], |args, _| args[0].clone(), round);
}

/// `date_bin`: the beginning of the span of a width in which a moment lies, counted from an origin.
fn bins(functions: &mut Functions) {
    functions.strict("date_bin", &[Ty::Interval, Ty::Ts, Ty::Ts], timestamp, |args| {
        points_of(args, |row| binned(args, row))
    });
    functions.strict("date_bin", &[Ty::Interval, Ty::Tz, Ty::Tz], timestamptz, |args| {
        points_of(args, |row| binned(args, row))
    });
}

fn binned(args: &Args<'_>, row: usize) -> SqlResult<i64> {
    let (width, point, origin) = (args.interval(0, row), args.micros(1, row), args.micros(2, row));
    match (is_finite(point), is_finite(origin)) {
        (false, _) => return Ok(point),
        (true, false) => return Err(out_of_range("origin out of range")),
        (true, true) => {}
    }
    if width.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let width = i128::from(width.days) * i128::from(DAY) + micros(width);
    if width <= 0 {
        return Err(out_of_range("stride must be greater than zero"));
    }
    let distance = i128::from(point) - i128::from(origin);
    let begin = i128::from(point) - distance.rem_euclid(width);
    i64::try_from(begin).map_err(|_| out_of_range("timestamp out of range"))
}

/// The zone that is so far east of UTC.
fn at_distance(s: IntervalMonthDayNano) -> SqlResult<Zone> {
    if s.months != 0 || s.days != 0 {
        return Err(invalid_parameter("interval time zone must not include months or days"));
    }
    let seconds = i32::try_from(s.nanoseconds / 1_000_000_000);
    seconds.map(Zone::Fixed).map_err(|_| out_of_range("interval time zone is out of range"))
}

fn truncated_in(zone: Zone, field: &str, instant: i64) -> SqlResult<i64> {
    let local = zone.local_of(instant);
    let cut = truncated(field, local, INSTANT)?;
    // Within a day the clock is the one before: an hour may come twice.
    match is_below_day(field) {
        true if is_finite(instant) => Ok(cut - (local - instant)),
        _ => Ok(zone.instant_of(cut)),
    }
}

/// True if a unit is smaller than a day.
fn is_below_day(field: &str) -> bool {
    let field = field.to_ascii_lowercase();
    let unit = field.strip_suffix('s').unwrap_or(&field);
    matches!(unit, "hour" | "minute" | "second" | "millisecond" | "microsecond")
}

/// The types of moments, as errors name them.
const LOCAL: &str = "timestamp without time zone";
const INSTANT: &str = "timestamp with time zone";

fn truncated(field: &str, point: i64, ty: &str) -> SqlResult<i64> {
    if !is_finite(point) {
        return Ok(point);
    }
    let days = point.div_euclid(DAY);
    let Civil { year, month, .. } = civil_of(days);
    let clock = |unit: i64| Ok(point.div_euclid(unit) * unit);
    let day = |year: i64, month: i32| {
        days_of(year, month, 1)
            .map(|d| d * DAY)
            .ok_or_else(|| out_of_range("timestamp out of range"))
    };
    match field.to_ascii_lowercase().as_str() {
        "microsecond" | "microseconds" => Ok(point),
        "millisecond" | "milliseconds" => clock(1_000),
        "second" | "seconds" => clock(SECOND),
        "minute" | "minutes" => clock(60 * SECOND),
        "hour" | "hours" => clock(3_600 * SECOND),
        "day" | "days" => clock(DAY),
        "week" | "weeks" => Ok((days - (days + 3).rem_euclid(7)) * DAY),
        "month" | "months" => day(year, month),
        "quarter" => day(year, (month - 1) / 3 * 3 + 1),
        "year" | "years" => day(year, 1),
        "decade" | "decades" => day(year.div_euclid(10) * 10, 1),
        "century" | "centuries" => day((year - 1).div_euclid(100) * 100 + 1, 1),
        "millennium" | "millenniums" => day((year - 1).div_euclid(1_000) * 1_000 + 1, 1),
        _ => Err(invalid_parameter(format!("unit \"{field}\" not recognized for type {ty}"))),
    }
}

fn truncated_span(field: &str, s: IntervalMonthDayNano) -> SqlResult<IntervalMonthDayNano> {
    let months = |unit: i32| Ok(IntervalMonthDayNano::new(s.months / unit * unit, 0, 0));
    let clock = |unit: i64| {
        let unit = unit * 1_000;
        Ok(IntervalMonthDayNano::new(s.months, s.days, s.nanoseconds / unit * unit))
    };
    match field.to_ascii_lowercase().as_str() {
        "year" | "years" => months(12),
        "quarter" => months(3),
        "month" | "months" => months(1),
        "decade" | "decades" => months(120),
        "day" | "days" => Ok(IntervalMonthDayNano::new(s.months, s.days, 0)),
        "hour" | "hours" => clock(3_600 * SECOND),
        "minute" | "minutes" => clock(60 * SECOND),
        "second" | "seconds" => clock(SECOND),
        "millisecond" | "milliseconds" => clock(1_000),
        "microsecond" | "microseconds" => clock(1),
        _ => Err(invalid_parameter(format!("unit \"{field}\" not recognized for type interval"))),
    }
}
