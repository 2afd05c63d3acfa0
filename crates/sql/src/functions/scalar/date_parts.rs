//! What a field of a date or a moment is, also of one without end.

use std::sync::Arc;

use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{ArrayRef, Decimal128Array, Float64Array};
use arrow_schema::{DataType, IntervalUnit};
use datafusion_common::ScalarValue;
use types::datetime::infinite::is_finite;
use types::datetime::{Civil, civil_of, days_of};
use types::{SqlError, SqlResult, zone};

use crate::functions::scalar::dates::{DAY, SECOND, micros};
use crate::functions::scalar::overload::{Args, invalid_parameter};

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    /// In the unit of whoever asks.
    Number(i128),
    /// A field that comes again and again, as the month, has no value at infinity.
    None,
    /// One that grows for ever is infinite there.
    Infinite {
        /// Beyond all dates instead of before them.
        is_late: bool,
    },
}

impl Part {
    /// The field of `infinity` or `-infinity`; whether there is such a field is known.
    pub(crate) fn of_infinity(field: &str, is_late: bool) -> Part {
        match field {
            "year" | "years" | "decade" | "decades" | "century" | "centuries" | "millennium"
            | "millenniums" | "millennia" | "julian" | "isoyear" | "epoch" => {
                Part::Infinite { is_late }
            }
            _ => Part::None,
        }
    }

    /// As an exact number.
    ///
    /// # Errors
    /// 0A000 for infinity, which those have not.
    pub(crate) fn exact(self) -> SqlResult<Option<i128>> {
        match self {
            Part::Number(value) => Ok(Some(value)),
            Part::None => Ok(None),
            Part::Infinite { .. } => Err(SqlError::unsupported("infinity as numeric")
                .with_hint("date_part gives it as double precision.")),
        }
    }

    /// As a floating-point number of so many units.
    pub(crate) fn float(self, unit: f64) -> Option<f64> {
        match self {
            Part::Number(value) => Some(value as f64 / unit),
            Part::None => None,
            Part::Infinite { is_late: true } => Some(f64::INFINITY),
            Part::Infinite { is_late: false } => Some(f64::NEG_INFINITY),
        }
    }
}

/// Whole fields are whole numbers; those with a fraction have the digits of a microsecond.
pub(crate) fn extracted(_: &[DataType], values: &[Option<&ScalarValue>]) -> DataType {
    let field = match values.first() {
        Some(Some(ScalarValue::Utf8(Some(f)) | ScalarValue::Utf8View(Some(f)))) => f.as_str(),
        _ => "second",
    };
    match field.to_ascii_lowercase().as_str() {
        "second" | "seconds" | "epoch" => DataType::Decimal128(38, 6),
        "millisecond" | "milliseconds" => DataType::Decimal128(38, 3),
        "julian" => DataType::Decimal128(38, 20),
        _ => DataType::Decimal128(20, 0),
    }
}

pub(crate) fn extract(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let field = |row: usize| args.text(0).value(row).to_ascii_lowercase();
    let value = |row: usize| -> SqlResult<Part> {
        let field = field(row);
        let found = match args.arrays[1].data_type() {
            DataType::Timestamp(..) if !is_finite(args.micros(1, row)) => {
                let known = of_instant(&field, 0).is_some();
                let part = Part::of_infinity(&field, args.micros(1, row) > 0);
                return known.then_some(part).ok_or_else(|| unknown_unit(&field, args));
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                of_span(&field, args.interval(1, row))
            }
            DataType::Time64(_) => of_clock(&field, args.time(1, row)),
            DataType::Timestamp(_, Some(_)) => of_instant(&field, args.micros(1, row)),
            _ => of_point(&field, args.micros(1, row)),
        };
        found.map(Part::Number).ok_or_else(|| unknown_unit(&field, args))
    };
    // All fields are counted in millionths.
    match args.ty {
        DataType::Decimal128(_, scale) => {
            let unit = 10i128.pow(6 - (*scale).clamp(0, 6) as u32);
            let widen = 10i128.pow((*scale - 6).max(0) as u32);
            let exact = |row| Ok(value(row)?.exact()?.map(|v| v / unit * widen));
            let values = args.each::<_, Decimal128Array>(exact)?;
            Ok(Arc::new(values.with_data_type(args.ty.clone())))
        }
        _ => Ok(Arc::new(args.each::<_, Float64Array>(|row| Ok(value(row)?.float(1e6)))?)),
    }
}

fn unknown_unit(field: &str, args: &Args<'_>) -> SqlError {
    let ty = crate::render::type_name(args.arrays[1].data_type());
    invalid_parameter(format!("unit \"{field}\" not recognized for type {ty}"))
}

pub(crate) const MILLION: i128 = 1_000_000;

fn of_clock(field: &str, clock: i64) -> Option<i128> {
    let clock = i128::from(clock);
    Some(match field {
        "hour" | "hours" => clock / (3_600 * MILLION) * MILLION,
        "minute" | "minutes" => clock / (60 * MILLION) % 60 * MILLION,
        "second" | "seconds" => clock % (60 * MILLION),
        "millisecond" | "milliseconds" => clock % (60 * MILLION) * 1_000,
        "microsecond" | "microseconds" => clock % (60 * MILLION) * MILLION,
        "epoch" => clock,
        _ => return None,
    })
}

fn of_span(field: &str, s: IntervalMonthDayNano) -> Option<i128> {
    let months = i128::from(s.months);
    Some(match field {
        "millennium" | "millenniums" => months / 12_000 * MILLION,
        "century" | "centuries" => months / 1_200 * MILLION,
        "decade" | "decades" => months / 120 * MILLION,
        "year" | "years" => months / 12 * MILLION,
        "quarter" => (months % 12 / 3 + 1) * MILLION,
        "month" | "months" => months % 12 * MILLION,
        "day" | "days" => i128::from(s.days) * MILLION,
        "epoch" => {
            // A year has 365.25 days, a month 30.
            let years = months / 12 * 36_525 * i128::from(DAY) / 100;
            let days = (months % 12 * 30 + i128::from(s.days)) * i128::from(DAY);
            years + days + micros(s)
        }
        _ => return of_clock(field, micros(s) as i64),
    })
}

fn of_instant(field: &str, instant: i64) -> Option<i128> {
    let zone = zone::current().zone;
    let seconds = zone.offset_at(instant) / SECOND;
    let whole = match field {
        "epoch" => return Some(instant.into()),
        "timezone" => seconds,
        "timezone_hour" => seconds / 3_600,
        "timezone_minute" => seconds % 3_600 / 60,
        _ => return of_point(field, zone.local_of(instant)),
    };
    Some(i128::from(whole) * MILLION)
}

pub(crate) fn of_point(field: &str, point: i64) -> Option<i128> {
    let (days, clock) = (point.div_euclid(DAY), point.rem_euclid(DAY));
    let Civil { year, month, day } = civil_of(days);
    let weekday = (days + 4).rem_euclid(7);
    let whole = match field {
        "year" | "years" if year <= 0 => year - 1,
        "year" | "years" => year,
        "month" | "months" => month.into(),
        "day" | "days" => day.into(),
        "quarter" => i64::from(month - 1) / 3 + 1,
        "dow" => weekday,
        "isodow" => (weekday + 6) % 7 + 1,
        "doy" => days - days_of(year, 1, 1)? + 1,
        "week" => iso_week(days).1,
        "isoyear" => match iso_week(days).0 {
            year if year <= 0 => year - 1,
            year => year,
        },
        "decade" => year.div_euclid(10),
        "century" if year > 0 => (year + 99) / 100,
        "century" => -((99 - (year - 1)) / 100),
        "millennium" if year > 0 => (year + 999) / 1_000,
        "millennium" => -((999 - (year - 1)) / 1_000),
        "epoch" => return Some(point.into()),
        "julian" => {
            return Some(
                (i128::from(days) + 2_440_588) * MILLION
                    + i128::from(clock) * MILLION / i128::from(DAY),
            );
        }
        _ => return of_clock(field, clock),
    };
    Some(i128::from(whole) * MILLION)
}

/// ISO 8601: the year and number of the week, which begins on a Monday.
pub(crate) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - (days + 3).rem_euclid(7) + 3;
    let year = civil_of(thursday).year;
    let first = days_of(year, 1, 1).unwrap_or(thursday);
    (year, (thursday - first) / 7 + 1)
}
