//! Dates, times and intervals made of their fields.

use std::sync::Arc;

use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{Date32Array, Time64MicrosecondArray};
use types::datetime::days_of;
use types::zone::{self, Zone};
use types::{SqlError, SqlResult};

use crate::functions::scalar::dates::{DAY, SECOND, out_of_range, points_of, span, spans_of};
use crate::functions::scalar::overload::{Args, Functions, Ty, invalid_parameter};
use crate::functions::scalar::returns::{date, interval, time_of_day, timestamp, timestamptz};

/// The first day: November 24 of the year 4714 before Christ, where the count of Julian days begins.
const FIRST_DAY: i64 = -2_440_588;

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("make_date", &[Ty::Int, Ty::Int, Ty::Int], date, |args| {
        let days = |row| i32::try_from(day(args, row)?).map_err(|_| no_date(args, row)).map(Some);
        Ok(Arc::new(args.each::<_, Date32Array>(days)?))
    });
    functions.strict("make_time", &[Ty::Int, Ty::Int, Ty::Float], time_of_day, |args| {
        let clock = |row| clock(args, row, 0).map(Some);
        Ok(Arc::new(args.each::<_, Time64MicrosecondArray>(clock)?))
    });
    const POINT: [Ty; 6] = [Ty::Int, Ty::Int, Ty::Int, Ty::Int, Ty::Int, Ty::Float];
    functions.strict("make_timestamp", &POINT, timestamp, |args| {
        points_of(args, |row| point(args, row))
    });
    functions.strict("make_timestamptz", &POINT, timestamptz, |args| {
        let zone = zone::current().zone;
        points_of(args, |row| Ok(zone.instant_of(point(args, row)?)))
    });
    const IN_ZONE: [Ty; 7] = [Ty::Int, Ty::Int, Ty::Int, Ty::Int, Ty::Int, Ty::Float, Ty::Text];
    functions.strict("make_timestamptz", &IN_ZONE, timestamptz, |args| {
        points_of(args, |row| Ok(zone_of(args.text(6).value(row))?.instant_of(point(args, row)?)))
    });
    intervals(functions);
}

/// Fields that are left out at the end are zero.
fn intervals(functions: &mut Functions) {
    const FIELDS: &[Ty] = &[Ty::Int, Ty::Int, Ty::Int, Ty::Int, Ty::Int, Ty::Int, Ty::Float];
    for count in 0..=FIELDS.len() {
        functions.strict("make_interval", &FIELDS[..count], interval, |args| {
            spans_of(args, |row| made(args, row))
        });
    }
}

fn made(args: &Args<'_>, row: usize) -> SqlResult<IntervalMonthDayNano> {
    let field = |i: usize| if i < args.arrays.len() { args.int(i, row).into() } else { 0i64 };
    let seconds = if args.arrays.len() > 6 { args.float(6, row) } else { 0.0 };
    if !seconds.is_finite() {
        return Err(out_of_range("interval out of range"));
    }
    let clock = i128::from((field(4) * 3_600 + field(5) * 60) * SECOND);
    let fraction = (seconds * SECOND as f64).round_ties_even() as i64;
    let (months, days) = (field(0) * 12 + field(1), field(2) * 7 + field(3));
    span(months, days, clock + i128::from(fraction))
}

/// Days since 1970 of a year, a month and a day; negative years are before Christ.
fn day(args: &Args<'_>, row: usize) -> SqlResult<i64> {
    let year = i64::from(args.int(0, row));
    let counted = if year < 0 { year + 1 } else { year };
    let day = days_of(counted, args.int(1, row), args.int(2, row)).filter(|_| year != 0);
    day.filter(|day| *day >= FIRST_DAY).ok_or_else(|| no_date(args, row))
}

fn no_date(args: &Args<'_>, row: usize) -> SqlError {
    out_of_range(&format!("date field value out of range: {}", shown_date(args, row)))
}

fn shown_date(args: &Args<'_>, row: usize) -> String {
    format!("{}-{:02}-{:02}", args.int(0, row), args.int(1, row), args.int(2, row))
}

/// Microseconds since midnight of hours, minutes and seconds, which begin at an argument.
fn clock(args: &Args<'_>, row: usize, first: usize) -> SqlResult<i64> {
    let (hour, minute) = (args.int(first, row), args.int(first + 1, row));
    let micros = (args.float(first + 2, row) * SECOND as f64).round_ties_even();
    let fields = (0..=24).contains(&hour) && (0..60).contains(&minute);
    let seconds = (0.0..=60.0 * SECOND as f64).contains(&micros);
    let error = || {
        let shown = shown_clock(args, row, first);
        out_of_range(&format!("time field value out of range: {shown}"))
    };
    if !fields || !seconds {
        return Err(error());
    }
    match i64::from(hour * 60 + minute) * 60 * SECOND + micros as i64 {
        clock if clock <= DAY => Ok(clock),
        _ => Err(error()),
    }
}

fn shown_clock(args: &Args<'_>, row: usize, first: usize) -> String {
    let (hour, minute) = (args.int(first, row), args.int(first + 1, row));
    format!("{hour}:{minute:02}:{:02}", args.float(first + 2, row))
}

/// Microseconds since 1970 of a date and a time.
fn point(args: &Args<'_>, row: usize) -> SqlResult<i64> {
    let (day, clock) = (day(args, row)?, clock(args, row, 3)?);
    let point = day.checked_mul(DAY).and_then(|point| point.checked_add(clock));
    point.ok_or_else(|| {
        let (date, clock) = (shown_date(args, row), shown_clock(args, row, 3));
        out_of_range(&format!("timestamp out of range: {date} {clock}"))
    })
}

/// The zone of a name or an abbreviation. A distance counts to the east here, unlike in `AT TIME ZONE`,
/// which has it as POSIX does.
fn zone_of(name: &str) -> SqlResult<Zone> {
    let west = match name.as_bytes().first() {
        Some(b'+') => format!("-{}", &name[1..]),
        Some(b'-') => format!("+{}", &name[1..]),
        Some(digit) if digit.is_ascii_digit() => {
            let message = format!("invalid input syntax for type numeric time zone: \"{name}\"");
            return Err(invalid_parameter(message)
                .with_hint("Numeric time zones must have \"-\" or \"+\" as first character."));
        }
        _ => return Zone::parse(name),
    };
    Zone::parse(&west)
        .map_err(|_| invalid_parameter(format!("numeric time zone \"{name}\" out of range")))
}
