//! Intervals by templates: their months, days and hours as they are, however many there are.

use arrow_array::types::IntervalMonthDayNano;
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::to_char::{ROMAN_MONTHS, roman};

/// A field of an interval.
pub(crate) fn field(span: IntervalMonthDayNano, word: &str, plain: bool) -> SqlResult<String> {
    let (years, months) = (i64::from(span.months / 12), i64::from(span.months % 12));
    let days = i64::from(span.days);
    // As if each month had thirty days.
    let all_days = i64::from(span.months) * 30 + days;
    let micros = span.nanoseconds / 1_000;
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let hours = seconds / 3_600;
    let padded = |value: i64, width: usize| match plain {
        true => value.to_string(),
        // A sign has a place of its own.
        false => format!("{value:0width$}", width = width + usize::from(value < 0)),
    };
    Ok(match word {
        "HH24" => padded(hours, 2),
        "HH12" | "HH" if hours % 12 == 0 => "12".to_owned(),
        "HH12" | "HH" => padded(hours % 12, 2),
        "MI" => padded(seconds / 60 % 60, 2),
        "SS" => padded(seconds % 60, 2),
        "SSSSS" | "SSSS" => seconds.to_string(),
        "MS" | "FF3" => format!("{:03}", fraction / 1_000),
        "US" | "FF6" => format!("{fraction:06}"),
        "FF1" => (fraction / 100_000).to_string(),
        "FF2" => format!("{:02}", fraction / 10_000),
        "FF4" => format!("{:04}", fraction / 100),
        "FF5" => format!("{:05}", fraction / 10),
        "AM" | "PM" => (if hours % 24 < 12 { "AM" } else { "PM" }).to_owned(),
        "am" | "pm" => (if hours % 24 < 12 { "am" } else { "pm" }).to_owned(),
        "A.M." | "P.M." => (if hours % 24 < 12 { "A.M." } else { "P.M." }).to_owned(),
        "a.m." | "p.m." => (if hours % 24 < 12 { "a.m." } else { "p.m." }).to_owned(),
        "RM" => roman_month(span.months).map_or_else(String::new, |m| roman(m, plain)),
        "rm" => {
            let month = roman_month(span.months).map(str::to_lowercase);
            month.map_or_else(String::new, |m| roman(&m, plain))
        }
        "Y,YYY" => format!("{},{:03}", years / 1_000, years % 1_000),
        "YYYY" => padded(years, 4),
        "YYY" => padded(years % 1_000, 3),
        "YY" => padded(years % 100, 2),
        "Y" => padded(years % 10, 1),
        "CC" => padded(years / 100, 2),
        "Q" if months == 0 => String::new(),
        "Q" => ((months - 1) / 3 + 1).to_string(),
        "MM" => padded(months, 2),
        "DD" if plain => days.to_string(),
        "DD" => format!("{days:02}"),
        "DDD" if plain => all_days.to_string(),
        "DDD" => format!("{all_days:03}"),
        "WW" => padded((all_days - 1) / 7 + 1, 2),
        "W" => ((days - 1) / 7 + 1).to_string(),
        _ => return Err(no_date()),
    })
}

/// The month that is left of the years, counted from the end below zero; none of no months at all.
fn roman_month(months: i32) -> Option<&'static str> {
    let at = match months % 12 {
        0 if months == 0 => return None,
        0 if months > 0 => 11,
        0 => 0,
        rest if rest > 0 => rest - 1,
        rest => 12 + rest,
    };
    ROMAN_MONTHS.get(usize::try_from(at).ok()?).copied()
}

fn no_date() -> SqlError {
    let message = "invalid format specification for an interval value";
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
        .with_hint("Intervals are not tied to specific calendar dates.")
}
